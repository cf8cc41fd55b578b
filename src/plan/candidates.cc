// Candidates: executors x strategies x their keys' values x precisions, checked as jobs.
#include "plan/candidates.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "base/registry.h"
#include "kernels/threads.h"
#include "node/executor.h"
#include "strategy/strategy.h"
#include "train/job/devices.h"
#include "train/job/parts.h"

namespace yoke {
namespace {

/// The words for divisions of the cores.
const char* const kAsParts = "parts";
const char* const kAsReplicas = "replicas";

/// A part with keys of its own.
struct Variant {
  std::string part;
  std::string text;  // "groups=4"
  Overrides keys;
};

/// A part as it is, and with each combination of values that its keys say to try. `own`: its keys
/// in the job; those that are missing have their defaults.
std::vector<Variant> VariantsOf(const std::string& section, const std::string& part,
                                const std::vector<OptionSpec>& options, const Value& own) {
  std::vector<Variant> variants = {{.part = part, .text = "", .keys = {}}};
  for (const OptionSpec& option : options) {
    const std::vector<Variant> before = variants;
    const Value* given = own.Find(option.name);
    const Value& current = given ? *given : option.fallback;
    for (const Value& value : option.tries)
      if (value != current)
        for (Variant one : before) {
          const std::string text = FormatValue(value);
          one.text += fmt::format("{}{}={}", one.text.empty() ? "" : " ", option.name, text);
          one.keys.push_back(PlanKey(section + "." + option.name, text));
          variants.push_back(std::move(one));
        }
  }
  return variants;
}

/// The parts of a list that may be chosen: all if the key is open, otherwise the job's own.
template <typename Entry>
std::vector<Variant> PartsOf(const std::vector<Entry>& entries, const std::string& key,
                             const std::string& own, bool open) {
  const std::string section = key.substr(0, key.find('.'));
  std::vector<Variant> parts;
  for (const Entry& entry : entries) {
    if (entry.name != own && !open) continue;
    std::vector<Variant> variants =
        open ? VariantsOf(section, entry.name, entry.options, {})
             : std::vector<Variant>{{.part = own, .text = "", .keys = {}}};
    for (Variant& variant : variants) {
      if (entry.name != own)
        variant.keys.insert(variant.keys.begin(), PlanKey(key, entry.name, /*text=*/true));
      parts.push_back(std::move(variant));
    }
  }
  return parts;
}

/// The models that the job's model says to try.
std::vector<Variant> ModelsOf(const Job& job, bool vary) {
  const Value* name = job.model().Find("name");
  if (!name || !vary) return {{.part = "", .text = "", .keys = {}}};
  return VariantsOf("model", "", FindEntry(models(), "model", *name->AsString()).options,
                    job.model());
}

/// A strategy and an executor that may go together.
struct Combination {
  Variant strategy, executor;
  TeamShape shape = {};
};

/// The strategies and executors of the shapes. Replicas exchange by allreduce, or with
/// `only_shapes` by every strategy as it is.
std::vector<Combination> CombinationsOf(const Job& job, const Choices& choices) {
  const std::string own = job.cluster.String("strategy");
  std::vector<Combination> combinations;
  for (const TeamShape& shape : choices.shapes) {
    Combination one = {
        .strategy = {.part = own, .text = "", .keys = {}},
        .executor = {.part = shape.replicas ? "single" : "split", .text = "", .keys = {}},
        .shape = shape};
    if (!shape.replicas) one.executor.text = fmt::format("parts={}", shape.teams);
    if (one.executor.part != job.node.String("executor"))
      one.executor.keys = {PlanKey("node.executor", one.executor.part, /*text=*/true)};
    const Overrides keys = KeysOf(shape, job);
    one.executor.keys.insert(one.executor.keys.end(), keys.begin(), keys.end());
    if (!shape.replicas) {
      combinations.push_back(one);
      continue;
    }
    for (const StrategyEntry& entry : strategies()) {
      if (!choices.only_shapes && entry.name != "allreduce") continue;
      one.strategy = {.part = entry.name,
                      .text = "",
                      .keys = {PlanKey("cluster.strategy", entry.name, /*text=*/true)}};
      combinations.push_back(one);
    }
  }
  return combinations;
}

std::string NameOf(const Candidate& candidate, const std::vector<std::string>& texts,
                   bool replicas) {
  std::string name = candidate.executor;
  if (candidate.shape.replicas) name = fmt::format("{} replicas, {}", candidate.shape.teams, name);
  if (replicas || candidate.shape.replicas) name += ", " + candidate.strategy;
  for (const std::string& text : texts)
    if (!text.empty()) name += " " + text;
  return name + ", " + candidate.precision;
}

/// Why a job cannot be trained so; "" if it can.
std::string Refusal(const Job& job, const Candidate& candidate) {
  try {
    const Job its = JobOf(job, candidate);
    const ExecutorEntry& executor = FindEntry(executors(), "executor", candidate.executor);
    if (const std::string reason = executor.supports(DevicesOf(its).all()); !reason.empty())
      return fmt::format("executor {} {}", executor.name, reason);
    const StrategyEntry& strategy = StrategyOf(its);
    if (executor.in_place && !strategy.in_place)
      return fmt::format("strategy {} needs each step's gradient, and executor {} updates in place",
                         strategy.name, executor.name);
    RolesOf(its);
    RequireDevicesOfHead(its);
    return "";
  } catch (const UserError& refused) {
    return refused.what();
  }
}

void RequireKnown(const std::vector<std::string>& names) {
  std::vector<std::string> known = {"f32", "bf16", kAsParts, kAsReplicas};
  for (const ExecutorEntry& entry : executors()) known.push_back(entry.name);
  for (const StrategyEntry& entry : strategies()) known.push_back(entry.name);
  for (const std::string& name : names)
    if (!Contains(known, name))
      throw UserError(UnknownName("executor, strategy, precision or division", name, known));
}

/// Why its shape has no price; "" if nothing speaks against one.
std::string Unmeasured(const Candidate& candidate, const Choices& choices) {
  const auto found = choices.unmeasured.find(MachineKey(candidate.precision, candidate.shape));
  return found == choices.unmeasured.end() ? "" : "no price: " + found->second;
}

/// Why the choices leave it out; "" if they do not. An `only` list restricts those of its kinds.
std::string Excluded(const Candidate& candidate, const Choices& choices) {
  const TeamShape& shape = candidate.shape;
  const std::string division = shape.IsOwn() ? "" : shape.replicas ? kAsReplicas : kAsParts;
  const std::string parts[] = {candidate.executor, candidate.strategy, candidate.precision,
                               division};
  for (const std::string& part : parts)
    if (Contains(choices.without, part))
      return fmt::format("{} {} left out by the caller", part, part == division ? "are" : "is");
  const auto restricts = [&](const auto& is_one, const std::string& part) {
    return std::ranges::any_of(choices.only, is_one) && !Contains(choices.only, part);
  };
  const auto in = [](const auto& entries) {
    return [&entries](const std::string& name) {
      return std::ranges::any_of(entries, [&](const auto& entry) { return entry.name == name; });
    };
  };
  const auto precision = [](const std::string& name) { return name == "f32" || name == "bf16"; };
  const auto divides = [](const std::string& name) {
    return name == kAsParts || name == kAsReplicas;
  };
  if (restricts(divides, division) || restricts(in(executors()), candidate.executor) ||
      restricts(in(strategies()), candidate.strategy) || restricts(precision, candidate.precision))
    return fmt::format("the caller wants only {}", fmt::join(choices.only, ", "));
  return "";
}

}  // namespace

Job JobOf(const Job& job, const Candidate& candidate) { return WithKeys(job, candidate.keys); }

bool IsFastHere(const std::string& precision) {
  return precision == "f32" || DescribeKernelLibrary().fast_bf16;
}

std::vector<Candidate> MakeCandidates(const Job& job, const Choices& choices) {
  RequireKnown(choices.only);
  RequireKnown(choices.without);
  const auto open = [&](const char* key) { return Contains(choices.open, key); };
  const bool replicas = job.cluster.Int("replicas") > 1;
  const std::string own_precision = job.node.String("precision");
  std::vector<std::string> precisions = {own_precision};
  if (open("node.precision")) precisions.emplace_back(own_precision == "f32" ? "bf16" : "f32");
  const auto of_strategy = PartsOf(strategies(), "cluster.strategy", job.cluster.String("strategy"),
                                   replicas && open("cluster.strategy"));
  const auto of_executor =
      PartsOf(executors(), "node.executor", job.node.String("executor"), open("node.executor"));
  std::vector<Combination> combinations;
  if (!choices.only_shapes)
    for (const Variant& strategy : of_strategy)
      for (const Variant& executor : of_executor)
        combinations.push_back({.strategy = strategy, .executor = executor});
  std::ranges::copy(CombinationsOf(job, choices), std::back_inserter(combinations));
  std::vector<Candidate> all;
  for (const Variant& model : ModelsOf(job, choices.models))
    for (const std::string& precision : precisions)
      for (const auto& [strategy, executor, shape] : combinations) {
        Candidate one = {.keys = executor.keys,
                         .executor = executor.part,
                         .strategy = strategy.part,
                         .precision = precision,
                         .shape = shape};
        one.keys.insert(one.keys.end(), strategy.keys.begin(), strategy.keys.end());
        one.keys.insert(one.keys.end(), model.keys.begin(), model.keys.end());
        if (precision != own_precision)
          one.keys.push_back(PlanKey("node.precision", precision, /*text=*/true));
        one.is_default = one.keys.empty();
        if (const auto more = choices.of_precision.find(precision);
            more != choices.of_precision.end())
          one.keys.insert(one.keys.end(), more->second.begin(), more->second.end());
        one.name = NameOf(one, {strategy.text, executor.text, model.text}, replicas);
        one.dropped = shape.dropped.empty() ? Refusal(job, one) : shape.dropped;
        if (one.IsLeft()) one.dropped = Excluded(one, choices);
        if (one.IsLeft()) one.dropped = Unmeasured(one, choices);
        all.push_back(std::move(one));
      }
  std::stable_partition(all.begin(), all.end(),
                        [](const Candidate& one) { return one.is_default; });
  Require(std::ranges::any_of(all, &Candidate::IsLeft), "no candidate is left: {}", all[0].dropped);
  return all;
}

}  // namespace yoke
