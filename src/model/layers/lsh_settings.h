// Settings of lsh_linear: as the options say, and for the rest what follows from the layer's size.
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
  int hashes = 0;  ///< K; 0 when the sampler does not hash.
  int tables = 0;  ///< L
  int bucket = 0;  ///< Most ids a bucket holds.
  BucketPolicy policy = BucketPolicy::kFifo;
  int64_t group = 0;   ///< Examples that share an active set.
  int64_t hard = 0;    ///< S: most ids a group's queries find.
  int64_t random = 0;  ///< R: ids drawn at random besides.
  int threshold = 0;
  bool correct = false;      ///< The random part's scores get log((outputs - hard) / random) added,
  int64_t correct_from = 1;  ///< from this epoch on, counted from 1.
  std::string rehash;        ///< fixed, growing, changed
  int64_t rehash_every = 0;  ///< N0, in steps.
  double rehash_growth = 0;  ///< lambda of the growing intervals.
  double rehash_share = 0;   ///< `changed`: share of moved codes from which tables are built anew.
  bool rehash_touched = false;  ///< Only rows that were updated since are hashed again.
  int64_t redraw_every = 0;     ///< New hash functions at every so many rebuilds; 0: never.

  bool hashed() const { return tables > 0; }
  /// Active ids that a group has besides its labels.
  int64_t wanted() const { return hard + random; }
};

std::vector<OptionSpec> LshOptions();

/// Throws UserError naming the option that does not fit. What is not given follows from `share` and
/// the layer's size: see docs/layers/lsh_linear.md.
LshSettings SettingsOf(const Options& options, int64_t inputs);

/// One line for `info` on how they came about.
std::string Explain(const LshSettings& settings);

}  // namespace yoke::layer
