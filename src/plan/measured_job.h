// MeasuredJob: a job's parts as measurements of a machine take them.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "measure/machine_profile.h"
#include "train/job/job.h"

namespace yoke {

/// The job trained by one replica alone: without its strategy, with the rule and the velocity that
/// this gives it, and the cluster's other keys.
Job OneReplicaOf(const Job& job);

/// OneReplicaOf a job. The arguments must outlive it.
class MeasuredJob {
 public:
  /// `stop`: as in ProfileRequest.
  MeasuredJob(const Job& job, const Graph& graph, const Reader& data, std::vector<Device*> devices,
              const std::atomic<int>* stop);
  /// To be measured with these threads, for about so many seconds.
  ProfileRequest By(const ThreadPlan& threads, double seconds) const;

 private:
  Job job_;
  std::unique_ptr<UpdateRule> rule_;
  const Graph& graph_;
  const Reader& data_;
  std::vector<Device*> devices_;
  const std::atomic<int>* stop_;
};

}  // namespace yoke
