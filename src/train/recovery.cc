// SurvivorState: what each rank has is gathered, so that all draw the same conclusion.
#include "train/recovery.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <tuple>

#include "base/check.h"

namespace yoke {
namespace {

/// What is told of remains; the ranges that were consumed follow it.
struct Told {
  int64_t rank, world, epoch, met_step, met_count, step_examples, examples;
  double loss_sum, met_loss_sum;
  int64_t loss_examples, met_loss_examples;
  double seconds, untrained_loss, best;
  int64_t has_best, worlds, model, version;
};
struct Span {
  int64_t begin, end;
};

struct Known {
  int from = 0;
  Told told = {};
  std::vector<Span> consumed = {};

  auto Age() const { return std::tuple(told.epoch, told.met_step); }
};

std::vector<std::byte> Encode(const SurvivorState& r) {
  const Position& p = r.position;
  const Told told = {.rank = r.rank,
                     .world = r.world,
                     .epoch = p.epoch,
                     .met_step = p.step,
                     .met_count = p.consumed.Count(),
                     .step_examples = r.step_examples,
                     .examples = p.examples,
                     .loss_sum = r.loss_sum,
                     .met_loss_sum = p.loss_sum,
                     .loss_examples = r.loss_examples,
                     .met_loss_examples = p.loss_examples,
                     .seconds = p.seconds,
                     .untrained_loss = p.untrained_loss,
                     .best = p.best,
                     .has_best = p.has_best ? 1 : 0,
                     .worlds = r.worlds,
                     .model = r.model ? 1 : 0,
                     .version = r.version};
  std::vector<Span> ranges;
  for (const auto& [begin, end] : r.consumed.list()) ranges.push_back({begin, end});
  std::vector<std::byte> bytes(sizeof told + ranges.size() * sizeof(Span));
  std::memcpy(bytes.data(), &told, sizeof told);
  const auto list = std::as_bytes(std::span(ranges));
  std::copy(list.begin(), list.end(), bytes.begin() + sizeof told);
  return bytes;
}

Known Decode(int from, const std::vector<std::byte>& bytes) {
  Check(bytes.size() >= sizeof(Told), "the ranks run different programs");
  Known known = {.from = from};
  std::memcpy(&known.told, bytes.data(), sizeof(Told));
  known.consumed.resize((bytes.size() - sizeof(Told)) / sizeof(Span));
  std::copy(bytes.begin() + sizeof(Told), bytes.end(),
            std::as_writable_bytes(std::span(known.consumed)).begin());
  return known;
}

int64_t CountOf(const std::vector<Span>& ranges) {
  int64_t count = 0;
  for (const auto& [begin, end] : ranges) count += end - begin;
  return count;
}

/// Later is better; of equal ones the lowest rank's.
const Known& Newest(const std::vector<Known>& all) {
  const auto place = [](const Known& k) {
    return std::tuple(k.told.worlds, k.told.model, k.told.version, k.told.epoch, k.told.met_step,
                      CountOf(k.consumed), -k.from);
  };
  return *std::max_element(all.begin(), all.end(),
                           [&](const auto& a, const auto& b) { return place(a) < place(b); });
}

/// Where training stands: of the epoch that the furthest is in, what anybody has done.
Position Merge(const std::vector<Known>& all) {
  const Known& furthest = *std::max_element(
      all.begin(), all.end(), [](const auto& a, const auto& b) { return a.Age() < b.Age(); });
  const Told& base = furthest.told;
  Position position = {.epoch = base.epoch, .examples = base.examples};
  position.loss_sum = base.met_loss_sum;
  position.loss_examples = base.met_loss_examples;
  for (const Known& known : all) {
    position.seconds = std::max(position.seconds, known.told.seconds);
    position.untrained_loss = std::max(position.untrained_loss, known.told.untrained_loss);
    // Only who leads knows it.
    if (known.told.rank == 0 && known.told.has_best)
      position.best = known.told.best, position.has_best = true;
    if (known.told.epoch != base.epoch) continue;
    for (const auto& [begin, end] : known.consumed) position.consumed.Add(begin, end);
    if (known.told.met_step != base.met_step) continue;  // that is in the sums already
    position.loss_sum += known.told.loss_sum;
    position.loss_examples += known.told.loss_examples;
  }
  const int64_t since = position.consumed.Count() - base.met_count;
  position.step = base.met_step + (since + base.step_examples - 1) / base.step_examples;
  return position;
}

}  // namespace

std::optional<RecoveryPlan> PlanRecovery(const Communicator& world, const SurvivorState* mine) {
  const auto gathered = world.AllGather(mine ? Encode(*mine) : std::vector<std::byte>());
  std::vector<Known> all;
  for (int rank = 0; rank < world.size(); ++rank)
    if (!gathered[rank].empty()) all.push_back(Decode(rank, gathered[rank]));
  RecoveryPlan recovery;
  for (const Known& known : all) recovery.world = static_cast<int>(known.told.world);
  for (int rank = 0; !all.empty() && rank < recovery.world; ++rank)
    if (std::none_of(all.begin(), all.end(), [rank](const auto& k) { return k.told.rank == rank; }))
      recovery.lost.push_back(rank);
  std::erase_if(all, [](const Known& known) { return known.told.worlds == 0; });
  if (all.empty()) return recovery.lost.empty() ? std::nullopt : std::optional(recovery);
  const Known& newest = Newest(all);
  recovery.source = newest.from;
  recovery.mean = newest.told.model == 0;
  recovery.position = Merge(all);
  return recovery;
}

}  // namespace yoke
