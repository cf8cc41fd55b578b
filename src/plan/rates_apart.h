// Rates apart: the learning rate of several replicas, by trials in which each trains alone.
#pragma once

#include "plan/tuning.h"

namespace yoke {

/// The learning rate with which the loss of a replica that trains alone falls fastest. Trials run
/// side by side, a rate on each replica: those of a launcher, or of a simulated cluster (there on
/// the nodes that are about as fast as the fastest). A trial takes at most 40 steps. The first
/// round spreads over the rates that the rule names; the others test the neighbours of the best
/// one and repeat it and them with other examples, as `trials` allows by steps and seconds (0:
/// any). It finds 0.7 of the best rate, by a parabola over the logarithm, and no run to go on from:
/// replicas have learned little alone.
Tuned FindRateApart(const Job& job, const Trials& trials);

}  // namespace yoke
