// Choice: gains, sentences, and the order of the table.
#include "plan/choice.h"

#include <fmt/core.h>

#include <algorithm>

namespace yoke {
namespace {

constexpr double kLeastGain = 0.05;  // on the default

/// A sentence on the choice between the best and the default, which may be null.
std::string Reason(const Candidate& best, const Candidate* standard, double gain,
                   const Evidence& evidence) {
  if (!standard) return fmt::format("{} {}", best.name, evidence.is_best);
  if (&best == standard) return fmt::format("{} is the default, and nothing is faster", best.name);
  return fmt::format("{} {} {:.0f} % of the time of the default, {}", best.name, evidence.takes,
                     100 * (1 - gain), standard->name);
}

}  // namespace

void Choose(Candidate* best, Candidate* standard, double gain, const Evidence& evidence,
            Plan& plan) {
  if (standard && best != standard && gain < kLeastGain) {
    best->dropped = fmt::format("{} it gains {:.1f} % on the default, less than {:.0f} %",
                                evidence.how, 100 * std::max(0.0, gain), 100 * kLeastGain);
    best = standard;
  }
  for (Candidate& one : plan.candidates)
    if (&one != best && one.dropped.empty())
      one.dropped = fmt::format("{} is faster {}", best->name, evidence.how);
  plan.chosen = static_cast<int>(best - plan.candidates.data());
  plan.keys = best->keys;
  plan.notes.push_back(Reason(*best, standard, gain, evidence));
}

void ShowFirst(Plan& plan) {
  auto& all = plan.candidates;
  std::rotate(all.begin(), all.begin() + plan.chosen, all.begin() + plan.chosen + 1);
  std::stable_partition(all.begin() + 1, all.end(),
                        [](const Candidate& one) { return one.trained > 0; });
  plan.chosen = 0;
}

}  // namespace yoke
