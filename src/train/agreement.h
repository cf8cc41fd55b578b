// Agreement: what must be the same on all ranks of a run, compared before they train.
#pragma once

#include <string>
#include <vector>

#include "comm/communicator.h"
#include "data/reader.h"
#include "train/job/job.h"

namespace yoke {

/// A named value that must be the same on all ranks.
struct Fact {
  std::string name;
  std::string value;
};
using Facts = std::vector<Fact>;

/// The program's version and commit, and the keys of the job. Keys that may differ between machines
/// are left out: paths of data (the data are compared instead), threads and pinning, the memory
/// limit for data, and convolution algorithms. Open keys are "auto". A model's file is compared by
/// its content.
Facts JobFacts(const Job& job);

/// The advice where these differ.
inline constexpr const char* kSameJobs = "all ranks need the same program, job file and options";

/// Another rank's resolved job, as this machine's: keys that may differ between machines, which
/// JobFacts leaves out, are those of `mine`.
Job OnThisMachine(Value theirs, const Job& mine);

/// Sizes, shapes, classes, normalization and checksums of the data.
Facts DataFacts(const DataSets& data);

/// The texts of all ranks, by rank. All call it.
std::vector<std::string> GatherTexts(const Communicator& world, const std::string& mine);

/// All ranks call it. If their facts differ, all throw the same UserError, which names a rank, what
/// differs, both values, and ends with `advice`. Costs an all-gather of 16 bytes, and a second one
/// if facts differ.
void CheckAgreement(const Communicator& world, const Facts& facts, const std::string& advice);

}  // namespace yoke
