// Hogbatch: the coordinator.
#include "node/hogbatch.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "comm/threads.h"
#include "comm/virtual_time.h"
#include "kernels/threads.h"

namespace yoke {
namespace {

/// A plan for each CPU thread (in virtual time: all of the machine's), free to move within its
/// memory node: a round waits for its last batch, and a thread bound to one core would wait as long
/// as another program holds that core.
std::vector<ThreadPlan> PlansOfThreads(const ThreadPlan& plan, int threads) {
  if (threads != plan.threads) return std::vector<ThreadPlan>(threads, plan);  // one at a time
  std::vector<ThreadPlan> members = Divide(plan, threads);
  for (ThreadPlan& member : members) {
    const std::vector<Place> own = std::exchange(member.places, {});
    for (const Place& place : plan.places)
      if (!own.empty() && place.node == own[0].node) member.places.push_back(place);
  }
  return members;
}

bool UsesCpu(const ExecutorContext& context) {
  return std::ranges::any_of(context.devices, &Device::IsHost);
}

}  // namespace

/// A worker as the coordinator sees it.
struct Hogbatch::Member {
  int index = 0;
  size_t device = 0;  ///< In ExecutorContext::devices.
  bool on_cpu = true;
  bool works = true;                ///< False: it has failed.
  std::deque<Examples> given = {};  ///< Work in hand, the one it computes first.
  double seconds_a_batch = 0;       ///< Of a CPU thread's last batches.
  std::unique_ptr<HogbatchWorker> worker = nullptr;
  std::exception_ptr failure = nullptr;  ///< Of its start.
  std::shared_ptr<void> thread = nullptr;
};

Hogbatch::Hogbatch(const HogbatchSettings& settings, const ExecutorContext& context)
    : context_(context),
      settings_(settings),
      cpu_threads_(UsesCpu(context) ? context.Workers() : 0),
      racing_(context.graph.layout(), *context.rule, *context.state, nullptr, settings.locked),
      shared_{.context = context_,
              .scale_rate = settings.scale_rate,
              .overwrite = settings.overwrite,
              .racing = racing_},
      channel_(context.node ? *context.node : LocalWorld()),
      sizes_(settings.sizes),
      usage_(context.devices) {
  for (const Device* device : context.devices)
    measured_.push_back(!settings.measure_least || device->IsHost());
  shared_.immediate = context.rule->IsPlainDescent() && context.state->UpdatesAlike() &&
                      context.clip_norm <= 0 && !settings.locked && !InVirtualTime(channel_);
  try {
    for (size_t d = 0; d < context_.devices.size(); ++d)
      if (context_.devices[d]->IsHost())
        for (ThreadPlan& plan : PlansOfThreads(context_.threads, cpu_threads_)) Start(d, plan);
    for (size_t d = 0; d < context_.devices.size(); ++d)
      if (!context_.devices[d]->IsHost()) Start(d, {});
    for (size_t ready = 0; ready < members_.size(); ++ready) (void)Report();
    for (const auto& member : members_)
      if (member->failure) std::rethrow_exception(member->failure);
  } catch (...) {
    End();
    throw;
  }
}

Hogbatch::~Hogbatch() { End(); }

/// Starts a worker; it reports when it is ready, or has failed.
void Hogbatch::Start(size_t device, const ThreadPlan& plan) {
  auto owned = std::make_unique<Member>(Member{.index = static_cast<int>(members_.size()),
                                               .device = device,
                                               .on_cpu = context_.devices[device]->IsHost()});
  Member& member = *owned;
  members_.push_back(std::move(owned));
  member.thread = channel_.Spawn([this, &member, plan](const Communicator& spawned) {
    const Communicator own = channel_.For(spawned);
    const Binding binding(plan);
    SetKernelThreads(plan.threads);
    try {
      member.worker = std::make_unique<HogbatchWorker>(shared_, member.index, member.device,
                                                       sizes_.of(member.device));
    } catch (...) {
      member.failure = std::current_exception();
    }
    const ScheduleWork ready = {.worker = member.index};
    own.Send(std::as_bytes(std::span(&ready, 1)), own.rank(), HogbatchWorker::kToCoordinator);
    if (member.worker) member.worker->Serve(own);
  });
}

void Hogbatch::End() {
  for (const auto& member : members_)
    if (member->thread) Send(*member, {.kind = ExecuteWork::kEnd}, {});
  for (const auto& member : members_) {
    member->thread.reset();
    member->works = false;
    member->given.clear();
  }
}

StepResult Hogbatch::Step(const Batch& batch, const ParamView& params, const ExecutorStep& step) {
  BatchSource source(batch, step.learning_rate);
  return RunRound(source, params);
}

StepResult Hogbatch::RunRound(WorkSource& source, const ParamView& params) {
  shared_.round = {.source = &source, .params = params, .first_step = context_.state->steps};
  shared_.updates = 0;
  source_ = &source;
  drained_ = broken_off_ = false;
  loss_ = 0;
  dealt_ = done_ = 0;
  bad_ = -1;
  returned_.clear();
  const double began = channel_.Now();
  try {
    for (AssignToAll(); AnyAtWork(); AssignToAll()) Answer(Report());
  } catch (...) {  // the source's, or of a lost world
    failure_ = std::current_exception();
    End();  // the workers read the source
  }
  usage_.Passed(channel_.Now() - began);
  context_.state->steps += shared_.updates;
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  Check(bad_ >= 0 || (drained_ && returned_.empty() && dealt_ == done_),
        "every example is dealt and done once");
  return {.loss = done_ > 0 ? loss_ / static_cast<double>(done_) : 0, .examples = done_};
}

/// However long a worker takes: a device that stalls is left to DeviceReplica.
ScheduleWork Hogbatch::Report() const {
  const Message message =
      channel_.ReceiveWithoutTimeout(channel_.rank(), HogbatchWorker::kToCoordinator);
  ScheduleWork report;
  std::memcpy(&report, message.bytes.data(), sizeof report);
  return report;
}

void Hogbatch::Answer(const ScheduleWork& report) {
  Member& member = *members_[report.worker];
  if (report.kind == ScheduleWork::kReady) return Assign(member, true);
  if (report.kind != ScheduleWork::kMeasured) Count(member, report);
  if (report.kind == ScheduleWork::kFailed) return Fail(member);
  Examples given = std::move(member.given.front());
  member.given.pop_front();
  if (report.kind == ScheduleWork::kDone) return;
  measured_[member.device] = true;
  sizes_.SetLeast(member.device, report.least);
  Return(std::move(given));
}

/// Devices first: fast CPU threads could end the round before they have any. Before those come the
/// ones that measure: a batch of another may be all that is left.
void Hogbatch::AssignToAll() {
  const auto turn = [this](const Member& member) {
    return member.on_cpu ? 2 : measured_[member.device] ? 1 : 0;
  };
  for (int now = 0; now < 3; ++now)
    for (const auto& member : members_)
      if (turn(*member) == now && member->works && member->given.empty()) Assign(*member, false);
}

/// Gives a worker its next examples, if there are any: to a device also `beside` those that it
/// computes.
void Hogbatch::Assign(Member& member, bool beside) {
  ExecuteWork work = {.kind = ExecuteWork::kNothing};
  Examples examples;
  const bool measures = !measured_[member.device];
  const bool any = !broken_off_ && (!drained_ || !returned_.empty());
  const bool wants = !beside || (!settings_.paper_form && member.given.size() == 1);
  if (any && wants) {
    work.batch = measures ? sizes_.most(member.device) : sizes_.Next(member.device);
    Deal(member, SizeFor(member, work.batch), examples);
    work.learning_rate = rate_.learning_rate;
    const int64_t size = std::min<int64_t>(work.batch, std::ssize(examples));
    work.rate_examples = RateExamples(member, size);
    if (!examples.empty()) work.kind = measures ? ExecuteWork::kMeasure : ExecuteWork::kTrain;
  }
  if (examples.empty() && !beside) return;
  if (!examples.empty()) {
    if (!measures) sizes_.Take(member.device, work.batch);
    dealt_ += std::ssize(examples);
    member.given.push_back(examples);
  }
  work.cpu_threads = CpuThreadsAtWork();
  Send(member, work, examples);
}

/// At most so many: of those that were returned, or new ones.
void Hogbatch::Deal(const Member& member, int64_t most, Examples& examples) {
  if (!returned_.empty()) {
    // A contiguous part of what one call of Take has added.
    Examples& rest = returned_.back();
    if (member.given.empty()) most = std::max<int64_t>(most, 1);
    const auto end = rest.begin() + std::min<int64_t>(most, std::ssize(rest));
    examples.assign(rest.begin(), end);
    rest.erase(rest.begin(), end);
    if (rest.empty()) returned_.pop_back();
  } else if (most > 0) {
    const WorkRate rate = source_->Take(most, examples);
    drained_ = examples.empty();
    if (!drained_) rate_ = rate;
  }
}

/// Examples for which the rate of an update of `batch` is meant: those of a step. Batches that grow
/// by themselves take the rate at most once on all threads together, however short the step: their
/// gradients are late by one another.
int64_t Hogbatch::RateExamples(const Member& member, int64_t batch) const {
  const bool grows = settings_.sizes.adaptive && member.on_cpu && !settings_.paper_form;
  const int64_t of_step = std::min(settings_.rate_examples, rate_.examples);
  return grows ? std::max(of_step, cpu_threads_ * batch) : of_step;
}

/// Examples of a worker's next piece of work, of which one update takes `batch`. Near the end of a
/// round a device takes no more than it computes while the others do the rest.
int64_t Hogbatch::SizeFor(const Member& member, int64_t batch) const {
  if (settings_.paper_form) return batch;
  if (member.on_cpu) return batch * BatchesPerRequest(member.seconds_a_batch);
  int64_t left = source_->Left();
  if (left < 0) return batch;
  for (const Examples& examples : returned_) left += std::ssize(examples);
  const double own = usage_.Speed(member.device);
  double others = 0;
  for (size_t d = 0; d < context_.devices.size(); ++d)
    if (d != member.device) others += usage_.Speed(d);
  if (own == 0 || others == 0) {
    const auto workers = static_cast<int64_t>(members_.size());
    return std::min(batch, std::max<int64_t>(1, left / workers));
  }
  const double in_hand = member.given.empty() ? 0 : double(member.given.front().size());
  const double fair = (double(left) * own - in_hand * others) / (own + others);
  const int64_t least = member.given.empty() ? 1 : 0;
  const auto most = std::max<int64_t>(std::llround(fair), least);
  int64_t size = batch;
  while (size > most) size /= 2;  // few sizes: each needs a plan
  return size;
}

void Hogbatch::Send(const Member& member, const ExecuteWork& work, const Examples& examples) const {
  channel_.Send(Encode(work, examples), channel_.rank(), 1 + member.index);
}

/// What a worker has done, maybe before it failed.
void Hogbatch::Count(Member& member, const ScheduleWork& report) {
  loss_ += report.loss;
  done_ += report.examples;
  source_->Done(report.loss, report.examples);
  if (!std::isfinite(report.loss)) {
    bad_ = member.index;
    broken_off_ = true;
  }
  const double threads = member.on_cpu ? cpu_threads_ : 1;
  usage_.Count(member.device, {.examples = report.examples,
                               .updates = report.updates,
                               .busy_seconds = report.seconds / threads,
                               .missed = report.missed,
                               .most_missed = report.most_missed});
  sizes_.Updated(member.device, report.updates);
  if (report.updates > 0) member.seconds_a_batch = report.seconds / double(report.updates);
}

/// A device has failed: the others take its examples and go on, if there are any. A CPU thread does
/// not fail without a reason that ends the round, and a user's mistake is one, too.
void Hogbatch::Fail(Member& member) {
  const std::exception_ptr why = member.worker->failure();
  std::deque<Examples> given = std::exchange(member.given, {});
  member.works = member.on_cpu;
  const bool others = std::ranges::any_of(members_, [](const auto& each) { return each->works; });
  bool ends = member.on_cpu || !others;
  try {
    std::rethrow_exception(why);
  } catch (const UserError&) {  // no fault of the device
    ends = true;
  } catch (const std::exception& error) {
    if (!ends) LogGoingOnWithout(*context_.devices[member.device], error.what());
  }
  if (!ends) {
    for (Examples& examples : given) Return(std::move(examples));
    return;
  }
  broken_off_ = true;
  if (!failure_) failure_ = why;
}

/// Examples that are dealt but not done are dealt again.
void Hogbatch::Return(Examples examples) {
  dealt_ -= std::ssize(examples);
  returned_.push_back(std::move(examples));
}

int Hogbatch::CpuThreadsAtWork() const {
  return static_cast<int>(std::ranges::count_if(
      members_, [](const auto& each) { return each->on_cpu && !each->given.empty(); }));
}

bool Hogbatch::AnyAtWork() const {
  return std::ranges::any_of(members_, [](const auto& each) { return !each->given.empty(); });
}

/// Rounds have a number of steps that is not known before, so a rest is a multiple of the divisor.
int64_t Hogbatch::SmallestBatch(int64_t step, int64_t rest) const {
  if (settings_.sizes.adaptive || cpu_threads_ == 0 || context_.devices.size() > 1) return 1;
  const int64_t size = sizes_.of(0), last = rest % size;
  return std::min(std::gcd(step, size), last > 0 ? last : size);
}

std::string Hogbatch::FirstNonFinite() const {
  return bad_ < 0 ? "" : members_[bad_]->worker->FirstNonFinite();
}

Value Hogbatch::State() const {
  if (context_.devices.size() < 2) return Value(Table{});
  Table batches;
  for (size_t d = 0; d < context_.devices.size(); ++d)
    batches.push_back({context_.devices[d]->name(), sizes_.State(d, measured_[d])});
  return Table{{"devices", usage_.State()}, {"batches", batches}};
}

void Hogbatch::Restore(const Value& state) {
  if (const Value* devices = state.Find("devices")) usage_.Restore(*devices);
  const Value* batches = state.Find("batches");
  if (!batches) return;
  for (size_t d = 0; d < context_.devices.size(); ++d)
    if (const Value* saved = batches->Find(context_.devices[d]->name())) {
      sizes_.Restore(d, *saved);
      if (saved->Find("least")) measured_[d] = true;
    }
}

}  // namespace yoke
