// RankLog: one line at the start, one per round, one at the end.
#include "train/record/rank_log.h"

#include <fmt/core.h>
#include <unistd.h>

#include <filesystem>
#include <utility>

#include "train/number_format.h"
#include "train/record/machine.h"

namespace yoke {
namespace {

namespace fs = std::filesystem;

std::string TextOf(const StepTotals& totals) {
  if (totals.examples == 0) return "no examples";
  return fmt::format("{} examples with mean loss {}", Count(totals.examples),
                     Metric(totals.loss_sum / static_cast<double>(totals.examples)));
}

}  // namespace

RankLog::RankLog(const Communicator& world, const std::string& run, int threads) {
  std::error_code unknown;
  if (fs::is_directory(run, unknown))
    file_ = LogFile(run + fmt::format("/log-{}.txt", world.rank()));
  file_.Info(fmt::format("rank {} of {} on {}, process {}, {} thread{}", world.rank(), world.size(),
                         HostName(), getpid(), threads, threads == 1 ? "" : "s"));
}

void RankLog::Round(const RankRound& round) {
  const double waited = round.waited - std::exchange(waited_, round.waited);
  std::string text = fmt::format("epoch {}, step {}: {} in {}, {} of these waiting", round.epoch,
                                 Count(round.step), TextOf(round.totals), Duration(round.seconds),
                                 Duration(waited));
  if (round.totals.bad_step > 0)
    text += fmt::format("; at step {} the loss became {}", round.totals.bad_step,
                        round.totals.bad_loss);
  if (round.totals.signal > 0) text += fmt::format("; received signal {}", round.totals.signal);
  file_.Info(text);
}

void RankLog::End(int exit_status) {
  file_.Info(fmt::format("ended normally, status {}", exit_status));
}

void RankLog::End(const std::exception& problem) {
  file_.Info(fmt::format("ended by an error: {}", problem.what()));
}

}  // namespace yoke
