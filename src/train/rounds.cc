// Rounds: a thread beside rank 0 answers requests for steps, and sends signs of life to ranks that
// wait for rank 0.
#include "train/rounds.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/check.h"
#include "base/countdown.h"
#include "comm/gather.h"
#include "comm/virtual_time.h"

namespace yoke {
namespace {

// Message tags: receiver and content.
enum Tag : int {
  kRequest = 1,     // to the service: a StepRequest
  kForService = 2,  // to the service, from rank 0: an order
  kAnswer = 3,      // to a rank: a range of steps
  kOrder = 4,       // to a rank: an order, or a sign of life
  kStatus = 5,      // to a rank that has arrived: a RoundStatus
};

enum RequestKind : int64_t {
  kNext,     ///< The next range of steps.
  kMeet,     ///< An early end of the round.
  kArrived,  ///< Nothing: this rank has done its steps.
};
struct StepRequest {
  int64_t kind = kNext;
  double loss_sum = 0;  ///< Of this rank so far; unused for kMeet.
  int64_t examples = 0;
};
/// Progress of the round.
struct RoundStatus {
  int64_t over = 0;
  int64_t dealt = 0;
  double loss_sum = 0;  ///< Of all ranks.
  int64_t examples = 0;
};

/// A sign of life: rank 0 is busy with an evaluation or a checkpoint.
constexpr int64_t kAlive = -1;

/// Seconds that a range should last, so that requests are rare and stops quick.
constexpr double kShortRange = 0.05, kLongRange = 0.2;
/// Seconds between two status messages to ranks that only serve.
constexpr double kSecondsBetweenStatus = 0.1;
constexpr int64_t kMostSteps = 1024;
/// A rank that waits so many seconds for steps that it has asked for before its last step asks
/// for twice as many ahead: on a slow link requests and answers queue behind the model's messages.
/// Those it has left when others are done took no longer to come.
constexpr double kLate = 1e-3;
constexpr int kMostAhead = 64;

template <typename T>
std::span<const std::byte> BytesOf(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}
template <typename T>
T ValueIn(const Message& message) {
  T value;
  Check(message.bytes.size() == sizeof value, "the ranks run different programs");
  std::memcpy(&value, message.bytes.data(), sizeof value);
  return value;
}

}  // namespace

class Rounds::Service {
 public:
  Service(const Communicator& channel, const Settings& settings)
      : channel_(channel), settings_(settings), ran_(channel.timeout() / 4, channel.Now()) {}

  void Run() {
    Order order;
    do {
      order = AwaitOrder();
      for (int rank = 1; rank < channel_.size(); ++rank)
        channel_.Send(BytesOf(order), rank, kOrder);
      if (order.kind == Order::kTrain) Deal(order);
    } while (order.kind != Order::kEnd);
  }

 private:
  Order AwaitOrder() {
    Message message;
    while (!channel_.TryReceive(0, kForService, message, channel_.timeout() / 4))
      for (int rank = 1; rank < channel_.size(); ++rank)
        channel_.Send(BytesOf(Order{.kind = static_cast<Order::Kind>(kAlive)}), rank, kOrder);
    return ValueIn<Order>(message);
  }

  void Deal(const Order& order) {
    next_ = order.first;
    last_ = order.last;
    over_ = false;
    ranges_.assign(Workers() / settings_.team, {});
    asked_.assign(channel_.size(), 0);
    sums_.assign(channel_.size(), {});
    arrived_.assign(channel_.size(), false);
    heard_.assign(channel_.size(), ran_.Look(channel_.Now()));
    missed_.assign(channel_.size(), std::nullopt);
    decided_at_ = told_at_ = told_all_at_ = channel_.Now();
    // Rank 0's team works in every round, which wakes the server beside it.
    ranges_[0].push_back(Decide());
    while (std::find(arrived_.begin(), arrived_.end(), false) != arrived_.end()) {
      Message message;
      const bool asked = channel_.TryReceive(kAnySource, kRequest, message, ran_.slice());
      ran_.Look(channel_.Now());
      if (asked) Answer(message.source, ValueIn<StepRequest>(message));
      if (channel_.Now() - told_all_at_ >= channel_.timeout() / 4)
        Tell(channel_.size(), false);  // the wait of ranks that have arrived has a timeout
      else if (channel_.Now() - told_at_ >= kSecondsBetweenStatus)
        Tell(settings_.servers, false);
      MissTheSilent();
    }
    Tell(channel_.size(), true);
  }

  int Workers() const { return channel_.size() - settings_.servers; }

  void Answer(int rank, const StepRequest& request) {
    heard_[rank] = ran_.seconds();
    missed_[rank].reset();
    if (request.kind == kMeet) {
      over_ = true;
      return;
    }
    sums_[rank] = {.loss_sum = request.loss_sum, .examples = request.examples};
    if (request.kind == kArrived)
      arrived_[rank] = true;
    else
      channel_.Send(BytesOf(StepsFor(rank)), rank, kAnswer);
  }

  StepRange StepsFor(int rank) {
    if (rank < settings_.servers) return {};
    std::vector<StepRange>& given = ranges_[(rank - settings_.servers) / settings_.team];
    const size_t which = asked_[rank]++;
    if (which == given.size()) given.push_back(Decide());
    return given[which];
  }

  /// Sends the status to those of the first `ranks` ranks that have arrived.
  void Tell(int ranks, bool over) {
    RoundStatus status = {.over = over ? 1 : 0, .dealt = next_};
    for (const StepTotals& sum : sums_)
      status.loss_sum += sum.loss_sum, status.examples += sum.examples;
    for (int rank = 0; rank < ranks; ++rank)
      if (arrived_[rank]) channel_.Send(BytesOf(status), rank, kStatus);
    told_at_ = channel_.Now();
    if (ranks == channel_.size()) told_all_at_ = told_at_;
  }

  /// Throws if a rank has been silent for a timeout while another was heard, and is for half a
  /// timeout more: all may take long for their steps, and end them a little apart, but not one
  /// alone. (A rank that only serves always waits, so beside it no step may take longer.)
  void MissTheSilent() {
    const double newest = *std::max_element(heard_.begin(), heard_.end());
    const bool waited_for = std::find(arrived_.begin(), arrived_.end(), true) != arrived_.end();
    const double now = ran_.seconds(), since = waited_for ? now : newest;
    for (int rank = 0; rank < channel_.size(); ++rank) {
      if (arrived_[rank] || since - heard_[rank] <= channel_.timeout()) continue;
      if (!missed_[rank]) missed_[rank] = now;
      if (now - *missed_[rank] >= channel_.timeout() / 2)
        throw Error(
            fmt::format("rank 0 waited {:.3g} s for rank {} to end its steps: it has "
                        "stopped or is much slower; look at its machine, or raise "
                        "cluster.timeout",
                        now - heard_[rank], rank));
    }
  }

  StepRange Decide() {
    over_ = over_ || settings_.due();
    if (over_ || next_ >= last_) return {};
    const double now = channel_.Now(), lasted = now - decided_at_;
    decided_at_ = now;
    if (lasted < kShortRange) length_ = std::min(2 * length_, kMostSteps);
    if (lasted > kLongRange) length_ = std::max<int64_t>(length_ / 2, 1);
    // Teams take single steps, so that none has many left when the others are done.
    const int64_t length = settings_.team == Workers() ? length_ : 1;
    const StepRange range = {.begin = next_, .end = std::min(next_ + length, last_)};
    next_ = range.end;
    return range;
  }

  Communicator channel_;
  const Settings& settings_;
  std::vector<std::vector<StepRange>> ranges_;  // by team, in the order given
  std::vector<size_t> asked_;                   // requests for steps, by rank
  std::vector<bool> arrived_;                   // at the meeting, by rank
  RunningTime ran_;                             // that of this thread
  std::vector<double> heard_;                   // when, by ran_, the last request came, by rank
  std::vector<std::optional<double>> missed_;   // when, by ran_, it had been silent too long
  std::vector<StepTotals> sums_;                // of losses, by rank
  int64_t next_ = 0, last_ = 0;
  bool over_ = false;
  int64_t length_ = 1;
  double decided_at_ = 0, told_at_ = 0, told_all_at_ = 0;
};

Rounds::Rounds(const Communicator& world, Settings settings)
    : channel_(world.Duplicate()), settings_(std::move(settings)) {
  if (world.size() == 1) return;
  service_ = world.Spawn([this](const Communicator& own) {
    if (own.rank() == 0) Service(channel_.For(own), settings_).Run();
  });
}

Rounds::~Rounds() = default;

void Rounds::Give(const Order& order) {
  if (order.kind == Order::kTrain) Begin(order);
  if (channel_.size() > 1) channel_.Send(BytesOf(order), 0, kForService);
}

Order Rounds::Await() {
  Order order;
  do order = ValueIn<Order>(channel_.Receive(0, kOrder));
  while (static_cast<int64_t>(order.kind) == kAlive);
  if (order.kind == Order::kTrain) Begin(order);
  return order;
}

void Rounds::Begin(const Order& order) {
  order_ = order;
  dealt_ = order.first;
  asked_ = 0;
  wants_end_ = false;
}

void Rounds::Ask(int64_t kind, const StepTotals& mine) {
  const StepRequest request = {.kind = kind, .loss_sum = mine.loss_sum, .examples = mine.examples};
  channel_.Send(BytesOf(request), 0, kRequest);
}

StepRange Rounds::Next(const StepTotals& mine) {
  if (channel_.size() == 1) {
    if (dealt_ >= order_.last || wants_end_ || (dealt_ > order_.first && settings_.due()))
      return {};
    return {.begin = dealt_, .end = ++dealt_};
  }
  const bool early = asked_ > 0;
  if (!early) AskForSteps(mine);
  const double began = channel_.Now();
  const auto answer = [this] {
    --asked_;
    return ValueIn<StepRange>(channel_.Receive(0, kAnswer));
  };
  const StepRange range = answer();
  if (early && channel_.Now() - began > kLate) ahead_ = std::min(2 * ahead_, kMostAhead);
  if (!range.empty()) AskForSteps(mine);         // early, so that the answers are there in time
  while (range.empty() && asked_ > 0) answer();  // empty, too
  return range;
}

void Rounds::AskForSteps(const StepTotals& mine) {
  // Many at once, as after a pause, would look like short ranges, and the next be too long. (In
  // virtual time nothing pauses.)
  const int most = InVirtualTime(channel_) ? ahead_ : std::min(ahead_, asked_ + 2);
  for (; asked_ < most; ++asked_) Ask(kNext, mine);
}

void Rounds::AskToMeet() {
  if (!wants_end_ && channel_.size() > 1) Ask(kMeet);
  wants_end_ = true;
}

void Rounds::AwaitTheOthers() {
  RoundStatus status;
  do {
    status = ValueIn<RoundStatus>(channel_.Receive(0, kStatus));
    if (channel_.rank() < settings_.servers)
      settings_.told(status.dealt, {.loss_sum = status.loss_sum, .examples = status.examples});
  } while (status.over == 0);
  dealt_ = status.dealt;
}

std::vector<StepTotals> Rounds::Meet(StepTotals mine) {
  if (channel_.size() > 1) {
    Ask(kArrived, mine);
    AwaitTheOthers();
  }
  met_at_ = channel_.Now();
  mine.dealt = dealt_;
  return GatherOne(channel_, mine);
}

}  // namespace yoke
