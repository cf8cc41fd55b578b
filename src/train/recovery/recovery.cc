// Recovery: all ranks gather the survivors' states and compute the same plan from them.
#include "train/recovery/recovery.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "train/job/parts.h"

namespace yoke {
namespace {

/// A SurvivorState on the wire; its consumed ranges follow.
struct StateRecord {
  int64_t rank, world, epoch, met_step, met_count, step_examples, examples;
  double loss_sum, met_loss_sum;
  int64_t loss_examples, met_loss_examples;
  double seconds, pauses, untrained_loss, best;
  int64_t has_best, stale, plateaus, worlds, model, version;
  BestEvaluation best_evaluation;
};
struct Span {
  int64_t begin, end;
};

struct Known {
  int from = 0;
  StateRecord record = {};
  std::vector<Span> consumed = {};

  auto Age() const { return std::tuple(record.epoch, record.met_step); }
};

std::vector<std::byte> Encode(const SurvivorState& r) {
  const Position& p = r.position;
  const StateRecord record = {.rank = r.rank,
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
                              .pauses = p.pauses,
                              .untrained_loss = p.untrained_loss,
                              .best = p.best,
                              .has_best = p.has_best ? 1 : 0,
                              .stale = p.stale,
                              .plateaus = p.plateaus,
                              .worlds = r.worlds,
                              .model = r.model ? 1 : 0,
                              .version = r.version,
                              .best_evaluation = p.best_evaluation};
  std::vector<Span> ranges;
  for (const auto& [begin, end] : r.consumed.list()) ranges.push_back({begin, end});
  std::vector<std::byte> bytes(sizeof record + ranges.size() * sizeof(Span));
  std::memcpy(bytes.data(), &record, sizeof record);
  const auto list = std::as_bytes(std::span(ranges));
  std::copy(list.begin(), list.end(), bytes.begin() + sizeof record);
  return bytes;
}

Known Decode(int from, const std::vector<std::byte>& bytes) {
  Check(bytes.size() >= sizeof(StateRecord), "the ranks run different programs");
  Known known = {.from = from};
  std::memcpy(&known.record, bytes.data(), sizeof(StateRecord));
  known.consumed.resize((bytes.size() - sizeof(StateRecord)) / sizeof(Span));
  std::copy(bytes.begin() + sizeof(StateRecord), bytes.end(),
            std::as_writable_bytes(std::span(known.consumed)).begin());
  return known;
}

int64_t CountOf(const std::vector<Span>& ranges) {
  int64_t count = 0;
  for (const auto& [begin, end] : ranges) count += end - begin;
  return count;
}

/// The newest state; ties go to the lowest rank.
const Known& Newest(const std::vector<Known>& all) {
  const auto place = [](const Known& k) {
    return std::tuple(k.record.worlds, k.record.model, k.record.version, k.record.epoch,
                      k.record.met_step, CountOf(k.consumed), -k.from);
  };
  return *std::max_element(all.begin(), all.end(),
                           [&](const auto& a, const auto& b) { return place(a) < place(b); });
}

/// The progress of training: of the furthest rank's epoch, every example that any rank has done.
Position Merge(const std::vector<Known>& all) {
  const Known& furthest = *std::max_element(
      all.begin(), all.end(), [](const auto& a, const auto& b) { return a.Age() < b.Age(); });
  const StateRecord& base = furthest.record;
  Position position = {.epoch = base.epoch, .examples = base.examples};
  position.loss_sum = base.met_loss_sum;
  position.loss_examples = base.met_loss_examples;
  for (const Known& known : all) {
    position.seconds = std::max(position.seconds, known.record.seconds);
    position.pauses = std::max(position.pauses, known.record.pauses);
    position.untrained_loss = std::max(position.untrained_loss, known.record.untrained_loss);
    // Only the leader knows it.
    if (known.record.rank == 0 && known.record.has_best) {
      position.best = known.record.best;
      position.has_best = true;
      position.stale = known.record.stale;
    }
    position.plateaus = std::max(position.plateaus, known.record.plateaus);
    if (known.record.best_evaluation.epoch > position.best_evaluation.epoch)
      position.best_evaluation = known.record.best_evaluation;
    if (known.record.epoch != base.epoch) continue;
    for (const auto& [begin, end] : known.consumed) position.consumed.Add(begin, end);
    if (known.record.met_step != base.met_step) continue;  // already in the sums
    position.loss_sum += known.record.loss_sum;
    position.loss_examples += known.record.loss_examples;
  }
  const int64_t since = position.consumed.Count() - base.met_count;
  position.step = base.met_step + (since + base.step_examples - 1) / base.step_examples;
  return position;
}

/// The reason why the job's strategy cannot run with its replicas, or "".
std::string Misfit(const Job& job) try {
  RolesOf(job);
  BatchOf(job);
  return "";
} catch (const UserError& problem) {
  return problem.what();
}

/// The largest batch up to the job's that the replicas of a group can share equally.
Job WithSharedBatch(const Job& job) try {
  if (!StrategyOf(job).divides_batch(job.cluster)) return job;
  const int64_t team = RolesOf(job).team, batch = job.train.Int("batch");
  const int64_t shared = std::max(team, batch - batch % team);
  return WithKeys(job, {{.key = "train.batch", .value = std::to_string(shared)}});
} catch (const UserError&) {  // the groups do not fit
  return job;
}

}  // namespace

std::optional<RecoveryPlan> PlanRecovery(const Communicator& world, const SurvivorState* mine) {
  const auto gathered = world.AllGather(mine ? Encode(*mine) : std::vector<std::byte>());
  std::vector<Known> all;
  for (int rank = 0; rank < world.size(); ++rank)
    if (!gathered[rank].empty()) all.push_back(Decode(rank, gathered[rank]));
  RecoveryPlan recovery;
  for (const Known& known : all) recovery.world = static_cast<int>(known.record.world);
  for (int rank = 0; !all.empty() && rank < recovery.world; ++rank)
    if (std::none_of(all.begin(), all.end(),
                     [rank](const auto& k) { return k.record.rank == rank; }))
      recovery.lost.push_back(rank);
  std::erase_if(all, [](const Known& known) { return known.record.worlds == 0; });
  if (all.empty()) return recovery.lost.empty() ? std::nullopt : std::optional(recovery);
  const Known& newest = Newest(all);
  recovery.source = newest.from;
  recovery.mean = newest.record.model == 0;
  recovery.position = Merge(all);
  return recovery;
}

Job SmallerJob(const Job& job, int ranks, std::vector<std::string>& messages) {
  Value root = job.resolved;
  Value* cluster = root.Find("cluster");
  cluster->Set("replicas", ranks);
  Job smaller = MakeJob(root, job.name, "");
  const std::string misfit = Misfit(smaller);
  if (misfit.empty()) return smaller;
  Job shared = WithSharedBatch(smaller);
  if (Misfit(shared).empty()) {
    messages.push_back(fmt::format("{}; it is {}", misfit, shared.train.Int("batch")));
    return shared;
  }
  for (const OptionSpec& option : StrategyOf(job).options) {  // one option, if that is enough
    Value without = root;
    without.Find("cluster")->Erase(option.name);
    Job fitting = MakeJob(std::move(without), job.name, "");
    if (!Misfit(fitting).empty()) continue;
    messages.push_back(fmt::format("{}; {} is reset to its default", misfit, option.name));
    return fitting;
  }
  for (const OptionSpec& option : StrategyOf(job).options) cluster->Erase(option.name);
  Job fitting = MakeJob(std::move(root), job.name, "");
  if (const std::string still = Misfit(fitting); !still.empty()) throw UserError(still);
  messages.push_back(fmt::format("{}; all options of {} are reset to their defaults", misfit,
                                 StrategyOf(job).name));
  return fitting;
}

}  // namespace yoke
