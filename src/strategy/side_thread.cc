// SideThread: a queue of jobs, and empty messages of a rank to itself that announce them.
// ServingThread: receives without a timeout, because clients may be silent for long.
#include "strategy/side_thread.h"

#include <utility>

#include "comm/virtual_time.h"
#include "kernels/threads.h"
#include "tensor/array.h"
#include "tensor/counting.h"

namespace yoke {
namespace {

enum SideTag : int { kInbox, kAllDone };

}  // namespace

SideThread::Endpoint::Endpoint(SideThread& owner, const Communicator& own)
    : owner_(owner), own_(own), inbox_(owner.inbox_.For(own)) {}

void SideThread::Endpoint::Offer(std::span<const std::byte> bytes, int to, size_t plain) {
  inbox_.Send(bytes, to, kInbox, plain);
  ++offers_.messages_sent;
  offers_.bytes_sent += VirtualTime(inbox_).Billed(bytes.size(), plain);
}

void SideThread::Endpoint::HandleOffersUntil(const std::function<bool()>& done) {
  while (!done()) {
    Message message = inbox_.Receive(kAnySource, kInbox);
    if (message.source == own_.rank())
      ++announced_;
    else
      owner_.Handle(*this, std::move(message));
  }
}

SideThread::SideThread(const Communicator& world, Handler handler, Device& device)
    : inbox_(world.Duplicate()), handler_(std::move(handler)), device_(device) {}

void SideThread::Begin() {
  if (!device_.IsHost()) stream_ = device_.NewStream();
  thread_ = inbox_.Spawn([this](const Communicator& own) { Run(own); });
}

/// The job in the order of a stream of its own.
SideThread::Job SideThread::OnDevice(Job job) {
  std::shared_ptr<Event> before = TakeEvent();
  device_.stream().Record(before);
  return [this, job = std::move(job), before = std::move(before)](Endpoint& endpoint) {
    const CountedAs scope("exchange");
    const Beside beside(device_, *stream_);
    stream_->Await(before);
    KeepEvent(before);
    job(endpoint);
    stream_->Record(end_);
  };
}

std::shared_ptr<Event> SideThread::TakeEvent() {
  const std::lock_guard lock(mutex_);
  if (events_.empty()) return nullptr;
  std::shared_ptr<Event> event = std::move(events_.back());
  events_.pop_back();
  return event;
}

void SideThread::KeepEvent(std::shared_ptr<Event> event) {
  const std::lock_guard lock(mutex_);
  events_.push_back(std::move(event));
}

void SideThread::Do(Job job) {
  if (job && stream_) {
    job = OnDevice(std::move(job));
    joins_ = true;
  }
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  inbox_.Send({}, inbox_.rank(), kInbox);
}

void SideThread::Wait() {
  AwaitJobs();
  if (std::exchange(joins_, false)) device_.stream().Await(end_);
}

void SideThread::AwaitJobs() {
  {
    const std::lock_guard lock(mutex_);
    if (jobs_.empty() && !running_) return;
    awaited_ = true;
  }
  const double began = inbox_.Now();
  inbox_.ReceiveWithoutTimeout(inbox_.rank(), kAllDone);
  seconds_waited_ += inbox_.Now() - began;
}

void SideThread::Settle() {
  Do([](Endpoint&) {});
  Wait();
}

void SideThread::Finish() {
  if (thread_) Do(nullptr);
  thread_.reset();
}

Traffic SideThread::traffic() const {
  const std::lock_guard lock(mutex_);
  return traffic_;
}

void SideThread::Run(const Communicator& own) {
  const CountedAs scope("update");
  Endpoint endpoint(*this, own);
  for (;;) {
    if (endpoint.announced_ > 0) {
      --endpoint.announced_;
      if (!RunNext(endpoint)) return;
      continue;
    }
    Message message = endpoint.inbox_.ReceiveWithoutTimeout(kAnySource, kInbox);
    if (message.source == own.rank())
      ++endpoint.announced_;
    else
      Handle(endpoint, std::move(message));
  }
}

void SideThread::Handle(Endpoint& endpoint, Message offer) {
  ++endpoint.offers_.messages_received;
  endpoint.offers_.bytes_received += offer.Billed();
  handler_(endpoint, std::move(offer));
  Show(endpoint);
}

/// False at the end.
bool SideThread::RunNext(Endpoint& endpoint) {
  Job job;
  {
    const std::lock_guard lock(mutex_);
    job = std::move(jobs_.front());
    jobs_.pop_front();
    running_ = static_cast<bool>(job);
  }
  if (!job) return false;
  job(endpoint);
  Show(endpoint);
  bool tell = false;
  {
    const std::lock_guard lock(mutex_);
    running_ = false;
    tell = awaited_ && jobs_.empty();
    if (tell) awaited_ = false;
  }
  if (tell) endpoint.inbox_.Send({}, endpoint.own_.rank(), kAllDone);
  return true;
}

void SideThread::Show(const Endpoint& endpoint) {
  const std::lock_guard lock(mutex_);
  traffic_ = endpoint.own_.traffic();
  traffic_ += endpoint.offers_;
}

ServingThread::ServingThread(const Communicator& world, const ServingSettings& settings,
                             Handler handler)
    : handler_(std::move(handler)) {
  thread_ = world.Spawn([this, settings, world](const Communicator& own) {
    if (!handler_) return;
    SetKernelThreads(settings.kernel_threads);
    const Communicator channel = world.For(own);
    for (bool serving = true; serving; traffic_.Show(channel.traffic()))
      serving = handler_(channel, channel.ReceiveWithoutTimeout(settings.from, settings.tag));
  });
}

}  // namespace yoke
