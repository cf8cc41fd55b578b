// Rounds: a thread beside rank 0 answers those who ask for work, and lets those who wait for rank 0
// know that it lives.
#include "train/rounds.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace yoke {
namespace {

// Tags: who receives, and what.
enum Tag : int {
  kQuestion = 1,  // the service: a Question
  kGiven = 2,     // the service, from rank 0: an order
  kAnswer = 3,    // a rank: a lease
  kOrder = 4,     // a rank: an order, or a sign of life
  kNews = 5,      // a rank that has arrived: News
};

enum Wish : int64_t {
  kNext,     ///< The next lease.
  kMeet,     ///< An early end of the round.
  kArrived,  ///< Nothing: this rank has done its leases.
};
struct Question {
  int64_t wish = kNext;
  double loss_sum = 0;  ///< Of this rank, so far (but for kMeet),
  int64_t examples = 0;
};
/// How far the round is.
struct News {
  int64_t over = 0;
  int64_t dealt = 0;
  double loss_sum = 0;  ///< Of all ranks.
  int64_t examples = 0;
};

/// A sign of life: rank 0 is busy with an evaluation or a checkpoint.
constexpr int64_t kAlive = -1;

/// A lease should last between these, so that neither questions nor stops take long.
constexpr double kShortLease = 0.05, kLongLease = 0.2;
/// Between two news for those that only serve.
constexpr double kSecondsOfNews = 0.1;
constexpr int64_t kMostSteps = 1024;

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
      : channel_(channel), settings_(settings) {}

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
    while (!channel_.TryReceive(0, kGiven, message, channel_.timeout() / 4))
      for (int rank = 1; rank < channel_.size(); ++rank)
        channel_.Send(BytesOf(Order{.kind = static_cast<Order::Kind>(kAlive)}), rank, kOrder);
    return ValueIn<Order>(message);
  }

  void Deal(const Order& order) {
    next_ = order.first;
    last_ = order.last;
    over_ = false;
    leases_.assign(Workers() / settings_.team, {});
    asked_.assign(channel_.size(), 0);
    sums_.assign(channel_.size(), {});
    arrived_.assign(channel_.size(), false);
    heard_.assign(channel_.size(), channel_.Now());
    decided_at_ = told_at_ = told_all_at_ = channel_.Now();
    // Rank 0's team has work in every round: a server beside it wakes by that.
    leases_[0].push_back(Decide());
    while (std::find(arrived_.begin(), arrived_.end(), false) != arrived_.end()) {
      Message message;
      if (channel_.TryReceive(kAnySource, kQuestion, message, channel_.timeout() / 4))
        Answer(message.source, ValueIn<Question>(message));
      if (channel_.Now() - told_all_at_ >= channel_.timeout() / 4)
        Tell(channel_.size(), false);  // those that have arrived wait with a limit
      else if (channel_.Now() - told_at_ >= kSecondsOfNews)
        Tell(settings_.servers, false);
      MissTheSilent();
    }
    Tell(channel_.size(), true);
  }

  int Workers() const { return channel_.size() - settings_.servers; }

  void Answer(int rank, const Question& question) {
    heard_[rank] = channel_.Now();
    if (question.wish == kMeet) {
      over_ = true;
      return;
    }
    sums_[rank] = {.loss_sum = question.loss_sum, .examples = question.examples};
    if (question.wish == kArrived)
      arrived_[rank] = true;
    else
      channel_.Send(BytesOf(LeaseFor(rank)), rank, kAnswer);
  }

  Lease LeaseFor(int rank) {
    if (rank < settings_.servers) return {};
    std::vector<Lease>& given = leases_[(rank - settings_.servers) / settings_.team];
    const size_t which = asked_[rank]++;
    if (which == given.size()) given.push_back(Decide());
    return given[which];
  }

  /// Those of the first `ranks` that have arrived.
  void Tell(int ranks, bool over) {
    News news = {.over = over ? 1 : 0, .dealt = next_};
    for (const StepTotals& sum : sums_)
      news.loss_sum += sum.loss_sum, news.examples += sum.examples;
    for (int rank = 0; rank < ranks; ++rank)
      if (arrived_[rank]) channel_.Send(BytesOf(news), rank, kNews);
    told_at_ = channel_.Now();
    if (ranks == channel_.size()) told_all_at_ = told_at_;
  }

  /// A rank that has not been heard of for the length of a timeout, although another has since: all
  /// may be at a long step, but not one alone. (A rank that only serves always waits: beside it no
  /// step may last longer.)
  void MissTheSilent() const {
    const double newest = *std::max_element(heard_.begin(), heard_.end()), now = channel_.Now();
    const bool waited_for = std::find(arrived_.begin(), arrived_.end(), true) != arrived_.end();
    for (int rank = 0; rank < channel_.size(); ++rank) {
      const double since = waited_for ? now : newest;
      if (!arrived_[rank] && since - heard_[rank] > channel_.timeout())
        throw Error(
            fmt::format("rank 0 waited {:.3g} s for rank {} to end its steps: it has "
                        "stopped or is much slower; look at its machine, or raise "
                        "cluster.timeout",
                        since - heard_[rank], rank));
    }
  }

  Lease Decide() {
    over_ = over_ || settings_.due();
    if (over_ || next_ >= last_) return {};
    const double now = channel_.Now(), lasted = now - decided_at_;
    decided_at_ = now;
    if (lasted < kShortLease) length_ = std::min(2 * length_, kMostSteps);
    if (lasted > kLongLease) length_ = std::max<int64_t>(length_ / 2, 1);
    // Teams take single steps, so that none has many left when the others are done.
    const int64_t length = settings_.team == Workers() ? length_ : 1;
    const Lease lease = {.begin = next_, .end = std::min(next_ + length, last_)};
    next_ = lease.end;
    return lease;
  }

  Communicator channel_;
  const Settings& settings_;
  std::vector<std::vector<Lease>> leases_;  // by team, in the order given
  std::vector<size_t> asked_;               // questions for a lease, by rank
  std::vector<bool> arrived_;               // at the meeting, by rank
  std::vector<double> heard_;               // when last, by rank
  std::vector<StepTotals> sums_;            // of losses, by rank
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
  if (channel_.size() > 1) channel_.Send(BytesOf(order), 0, kGiven);
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
  asked_ = wants_end_ = false;
}

void Rounds::Ask(int64_t wish, const StepTotals& mine) {
  const Question question = {.wish = wish, .loss_sum = mine.loss_sum, .examples = mine.examples};
  channel_.Send(BytesOf(question), 0, kQuestion);
}

Lease Rounds::Next(const StepTotals& mine) {
  if (channel_.size() == 1) {
    if (dealt_ >= order_.last || wants_end_ || (dealt_ > order_.first && settings_.due()))
      return {};
    return {.begin = dealt_, .end = ++dealt_};
  }
  if (!asked_) Ask(kNext, mine);
  const auto lease = ValueIn<Lease>(channel_.Receive(0, kAnswer));
  asked_ = !lease.empty();
  if (asked_) Ask(kNext, mine);  // for the one after it: the answer is there in time
  return lease;
}

void Rounds::AskToMeet() {
  if (!wants_end_ && channel_.size() > 1) Ask(kMeet);
  wants_end_ = true;
}

void Rounds::AwaitTheOthers() {
  News news;
  do {
    news = ValueIn<News>(channel_.Receive(0, kNews));
    if (channel_.rank() < settings_.servers)
      settings_.told(news.dealt, {.loss_sum = news.loss_sum, .examples = news.examples});
  } while (news.over == 0);
  dealt_ = news.dealt;
}

std::vector<StepTotals> Rounds::Meet(StepTotals mine) {
  if (channel_.size() > 1) {
    Ask(kArrived, mine);
    AwaitTheOthers();
  }
  mine.dealt = dealt_;
  std::vector<StepTotals> all_totals;
  for (const auto& bytes : channel_.AllGather(BytesOf(mine)))
    all_totals.push_back(ValueIn<StepTotals>({.bytes = bytes}));
  return all_totals;
}

}  // namespace yoke
