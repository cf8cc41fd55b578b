// Peers: holds a pidfd of each process on this machine, which becomes readable when it ends.
#include "train/recovery/peers.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>

#include "base/log.h"
#include "base/thread.h"
#include "comm/gather.h"
#include "train/record/machine.h"

namespace yoke {
namespace {

constexpr std::chrono::milliseconds kPeersLook(250);

struct PeerPlace {
  int64_t process = 0;
  char host[256] = {};
};

PeerPlace PlaceHere() {
  PeerPlace place = {.process = getpid()};
  HostName().copy(place.host, sizeof place.host - 1);
  return place;
}

int HandleOf(int64_t process) {
  return static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(process), 0));
}

bool Ended(int handle) {
  pollfd look = {.fd = handle, .events = POLLIN, .revents = 0};
  return handle >= 0 && poll(&look, 1, 0) == 1;
}

}  // namespace

Peers::Peers(const Communicator& world, const std::atomic<bool>& guard_lost)
    : guard_lost_(guard_lost) {
  const PeerPlace mine = PlaceHere();
  for (const PeerPlace& place : GatherOne(world, mine)) {
    const bool near = std::strcmp(place.host, mine.host) == 0 && place.process != mine.process;
    places_.push_back(
        fmt::format("rank {}: process {} on {}", places_.size(), place.process, place.host));
    handles_.push_back(near ? HandleOf(place.process) : -1);
  }
  thread_ = StartThread([this] { Watch(); });
}

Peers::~Peers() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  thread_.join();
  for (const int handle : handles_)
    if (handle >= 0) close(handle);
}

void Peers::Watch() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kPeersLook, [this] { return over_; }))
    for (size_t rank = 0; guard_lost_ && rank < handles_.size(); ++rank)
      if (Ended(handles_[rank])) EndAfter(static_cast<int>(rank));
}

void Peers::EndAfter(int rank) const {
  LogWarning(fmt::format("rank {} is gone: this one ends without a checkpoint ({})", rank,
                         places_[static_cast<size_t>(rank)]));
  std::_Exit(1);
}

}  // namespace yoke
