// RealTransport: common base of transports in real time: clock and background threads.
#pragma once

#include <chrono>
#include <exception>
#include <memory>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/thread.h"
#include "comm/nccl.h"
#include "comm/transport.h"

namespace yoke {

/// Waits for the thread's end when destroyed. If it is destroyed by an exception, it first ends the
/// thread's waits (`owner->GiveUp()`).
template <typename Owner>
class Spawned {
 public:
  Spawned(std::shared_ptr<Owner> owner, std::thread thread)
      : owner_(std::move(owner)), thread_(std::move(thread)) {}
  ~Spawned() {
    if (std::uncaught_exceptions() > exceptions_) owner_->GiveUp();
    thread_.join();
  }
  Spawned(const Spawned&) = delete;
  Spawned& operator=(const Spawned&) = delete;

 private:
  std::shared_ptr<Owner> owner_;
  int exceptions_ = std::uncaught_exceptions();
  std::thread thread_;
};

/// The derived class has Guard(work), which runs work and informs all ranks if it throws, and
/// GiveUp().
template <typename Derived>
class RealTransport : public Transport, public std::enable_shared_from_this<Derived> {
 public:
  std::unique_ptr<DeviceAllReduce> MakeDeviceAllReduce(const Communicator& world,
                                                       Device& device) override {
    return MakeNcclAllReduce(world, device, LinkedNccl());
  }
  double Now() override { return yoke::Now(); }
  void Sleep(double seconds) override { std::this_thread::sleep_for(WaitTime(seconds)); }
  std::shared_ptr<void> Spawn(Body body) override {
    std::thread thread = StartThread([self = this->shared_from_this(), body = std::move(body)] {
      self->Guard([&] { body(self); });
    });
    return std::make_shared<Spawned<Derived>>(this->shared_from_this(), std::move(thread));
  }
};

}  // namespace yoke
