// Rates apart: the learning rate of several replicas, by trials in which each trains alone.
#pragma once

#include "plan/tuning.h"

namespace yoke {

/// The learning rate with which the loss of a replica that trains alone falls fastest. Trials run
/// side by side, a rate on each replica: those of a launcher, or of a simulated cluster (there on
/// the nodes that are about as fast as the fastest, none of which dies). A trial takes 40 steps, in
/// virtual time down to 20 if four rounds of more do not fit. The first of at most four rounds
/// tests the middle ones of the rule's rates; others test the best one's neighbours where these are
/// missing, and repeat all three with other examples, as `trials` allows by steps and seconds (0:
/// any). A rate that has failed is not tested again.
///
/// It finds RateOfReplicas. No run can go on from it: replicas have learned little alone.
Tuned FindRateApart(const Job& job, const Trials& trials);

/// What the trials of one replica say for the replicas of a job with the same rule: 0.7 of the best
/// rate, by a parabola over the logarithm, less in proportion after trials of fewer than 40 batches
/// (down to half), times the root of the replicas whose mean gradient makes an update; or the job's
/// own rate (at most the middle one of the rule's: the default is too high for some), if that is
/// higher and its loss below 1.5 times the lowest. 0: no trial has trained.
double RateOfReplicas(const Job& job, const std::vector<TriedSetting>& tried);

}  // namespace yoke
