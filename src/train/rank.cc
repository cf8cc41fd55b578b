// Rank: one rank's part in a run, and what is left of it when another is lost.
#include "train/rank.h"

#include <memory>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "comm/communicator.h"
#include "train/events.h"
#include "train/leader.h"

namespace yoke {

EndEvent TrainRank(const Job& job, const RunRequest& request, RunContext& context,
                   const Communicator& world, const LocalRank& inside,
                   std::optional<SurvivorState>& survivor) {
  const bool leads = world.rank() == 0;
  try {
    std::unique_ptr<Member> rank;
    Leader* leader = nullptr;
    if (leads) {
      auto made = MakeLeader(job, request, context, world, inside);
      leader = made.get();
      rank = std::move(made);
    } else {
      rank = std::make_unique<Member>(job, request, context, world, inside);
    }
    try {
      rank->Begin(survivor ? &*survivor : nullptr);
      const bool again = request.resume || survivor;
      survivor.reset();
      if (!leads) return rank->Follow();
      if (again && !leader->IsOver())  // only now: a refused resume must not change the run
        context.run->WriteJob(job);
      return leader->Lead();
    } catch (const RankLost& lost) {
      rank->Note(lost);
      try {
        if (std::optional<SurvivorState> left = rank->Rescue()) survivor = std::move(left);
      } catch (const Error& gone) {  // with its device: the last checkpoint is left
        LogWarning(gone.what());
      }
      throw;
    } catch (const std::exception& problem) {
      rank->Note(problem);
      throw;
    }
  } catch (const RankLost&) {
    throw;
  } catch (const RankDied&) {  // others may continue the run
    throw;
  } catch (...) {
    if (leads && !context.began) context.run->Abandon();
    throw;
  }
}

}  // namespace yoke
