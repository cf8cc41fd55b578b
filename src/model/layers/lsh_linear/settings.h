// Settings of lsh_linear: from the options, with defaults that follow from the layer's size.
#pragma once

#include <string>
#include <vector>

#include "base/options.h"
#include "lsh/tables.h"

namespace yoke::layer {

struct LshSettings {
  int64_t inputs = 0;
  int64_t outputs = 0;
  std::string sampler;
  std::string family;
  int hashes = 0;     ///< K; 0 if the sampler does not hash.
  int tables = 0;     ///< L
  int slot_bits = 0;  ///< A table has 2^slot_bits buckets, or one for each key if these are fewer.
  int bucket = 0;     ///< Capacity of a bucket in ids.
  BucketPolicy policy = BucketPolicy::kFifo;
  int64_t group = 0;       ///< Examples that share an active set.
  int64_t hard = 0;        ///< S: maximum number of ids found by a group's queries.
  int64_t random = 0;      ///< R: additional ids drawn at random.
  bool fill = true;        ///< Draw as many more as the tables found fewer than S.
  bool lock_free = false;  ///< Threads add to a row's gradient without locks; needs groups of 1.
  int threshold = 0;
  bool correct = false;         ///< Add log((outputs - hard) / random) to the scores of random ids,
  int64_t correct_from = 1;     ///< from this epoch on (the first is 1).
  std::string rehash;           ///< fixed, growing, changed
  int64_t rehash_every = 0;     ///< N0, in steps.
  double rehash_growth = 0;     ///< lambda of the growing intervals.
  double rehash_share = 0;      ///< `changed`: fraction of changed codes that triggers a rebuild.
  bool rehash_touched = false;  ///< Rehash only rows that were updated.
  int64_t redraw_every = 0;  ///< Rebuilds between new draws of the hash functions; 0: never redraw.

  bool hashed() const { return tables > 0; }
  /// Active ids of a group besides its labels; without `fill`, at most.
  int64_t wanted() const { return hard + random; }
};

/// Of the tables. Packed where full buckets would have far more places than there are ids, unless
/// rows move between them.
TableShape ShapeOf(const LshSettings& settings);

std::vector<OptionSpec> LshOptions();

/// Throws UserError with the option that does not fit. Missing options follow from `share` and the
/// layer's size: see docs/layers/lsh_linear.md.
LshSettings SettingsOf(const Options& options, int64_t inputs);

/// Ids that the tables find for a set, about, and at most S: what its buckets hold. Full buckets
/// are met more often, by one id on average.
double FoundOf(const LshSettings& settings);

/// One line for `info` on how the settings were chosen.
std::string Explain(const LshSettings& settings);
/// A sentence if the tables find less than a tenth of S, else "".
std::string AdviceOn(const LshSettings& settings);

}  // namespace yoke::layer
