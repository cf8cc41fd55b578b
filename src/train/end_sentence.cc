// EndSentence: where the weights are, how to continue, and whether the model has collapsed.
#include "train/end_sentence.h"

#include <fmt/core.h>

namespace yoke {
namespace {

std::string CollapseSentence(const EndEvent& end) {
  if (!end.collapse) return "";
  return fmt::format(
      "; the model has collapsed: {}; {}", end.collapse->Text(),
      end.good.empty() ? "no checkpoint is good" : "the last good one is " + end.good);
}

std::string WhereWeightsAre(const EndEvent& end) {
  if (end.best.empty()) return fmt::format("the weights are in {}/last", end.run);
  return fmt::format("the weights are in {}/last{}, the best ones ({}) in {}", end.run,
                     end.test.empty() ? "" : " (the test metrics are theirs)", end.best_text,
                     end.best);
}

std::string HowToContinue(const EndEvent& end, bool simulated) {
  if (end.reason == "finished" || end.reason == "target" || end.reason == "early_stopping")
    return WhereWeightsAre(end);
  if (end.reason == "replan") return "what the job leaves open is chosen again";
  if (simulated)
    return fmt::format("stopped at step {}; the weights are in {}/last", end.step, end.run);
  return fmt::format("stopped at step {}; continue with: yoke train --resume {}", end.step,
                     end.run);
}

}  // namespace

std::string EndSentence(const EndEvent& end, bool simulated) {
  return HowToContinue(end, simulated) + CollapseSentence(end);
}

}  // namespace yoke
