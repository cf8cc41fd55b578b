// StartRun: opens the folder of a run and its data, and removes a new run that could not start.
#pragma once

#include "comm/communicator.h"
#include "comm/threads.h"
#include "train/rank.h"

namespace yoke {

/// The leader opens the run: a new one, the one to resume, or that of a lost leader.
void Lead(const Job& job, const RunRequest& request, RunContext& context);
/// The same where the lost leader was of this process, or the run goes back to a checkpoint.
void LeadAgain(RunContext& context);

/// A new run takes over the checkpoints of another, to continue them.
void TakeOver(const std::string& progress, RunContext& context);

/// [cluster] all_reduce.
AllReduceAlgorithm AllReduceOf(const Job& job);

/// The job's replicas as threads of this process. MPI's all-reduce needs processes: auto takes its
/// place.
ThreadRanks ThreadRanksOf(const Job& job);

/// Opens the data that the ranks of this process share.
void ReadData(const Job& job, const RunRequest& request, RunContext& context);

/// Runs work() before the first step. If it fails, removes the files of a new run.
template <typename Work>
void OrAbandon(RunContext& context, const Work& work) {
  try {
    work();
  } catch (const RankLost&) {  // the survivors continue the run
    throw;
  } catch (const RankDied&) {  // likewise
    throw;
  } catch (...) {
    if (context.run && !context.began) context.run->Abandon();
    throw;
  }
}

}  // namespace yoke
