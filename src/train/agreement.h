// Agreement: what must be the same on all ranks of a run, compared before they train.
#pragma once

#include <string>
#include <vector>

#include "comm/communicator.h"
#include "data/reader.h"
#include "train/job.h"

namespace yoke {

/// Something that must be the same on all ranks, in words for a sentence.
struct Fact {
  std::string name;
  std::string value;
};
using Facts = std::vector<Fact>;

/// The program's version and commit, and the keys of the job. Left out is what may differ from
/// machine to machine: paths of data (the data themselves are compared), threads and their places,
/// the memory that data may take, and how convolutions are computed. Of a model's file the content
/// counts.
Facts JobFacts(const Job& job);

/// Sizes, shapes, classes, normalization and checksums of the data.
Facts DataFacts(const DataSets& data);

/// All ranks call it. Where their facts differ, it throws the same UserError on all of them, which
/// names a rank, what differs and both values, and ends in `advice`. Costs an all-gather of 16
/// bytes; a second one only where they differ.
void CheckAgreement(const Communicator& world, const Facts& facts, const std::string& advice);

}  // namespace yoke
