// Settings of lsh_linear: the options, and defaults that follow from the layer's size.
#include "model/layers/lsh_linear/settings.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/check.h"
#include "base/options.h"
#include "base/registry.h"
#include "lsh/family.h"
#include "lsh/sampler.h"

namespace yoke::layer {
namespace {

constexpr double kFourthRoots = 64;  // active ids without `share`: 64 times the fourth root of N
constexpr int64_t kLoad = 32;        // mean number of ids per bucket
constexpr int64_t kRoom = 2;         // capacity of a bucket: times the load
constexpr int kTables = 24;
constexpr int64_t kLeastInterval = 50;  // minimum steps between rebuilds
constexpr int64_t kRowsAStep = 8192;    // rows hashed per step of a rebuild: a fifth of its time

std::vector<std::string> NamesOf(const auto& entries) {
  std::vector<std::string> names;
  names.reserve(entries.size());
  for (const auto& entry : entries) names.push_back(entry.name);
  return names;
}

OptionSpec Count(const std::string& name, const std::string& help, double minimum = 1,
                 double maximum = 1e9) {
  return {
      .name = name, .type = OptionType::kInt, .help = help, .minimum = minimum, .maximum = maximum};
}

int64_t IntOr(const Options& options, const char* name, int64_t otherwise) {
  return options.Has(name) ? options.Int(name) : otherwise;
}

/// Ids wanted in addition to labels.
int64_t WantedOf(const Options& options, int64_t outputs) {
  const double wanted = options.Has("share") ? options.Float("share") * double(outputs)
                                             : kFourthRoots * std::pow(double(outputs), 0.25);
  return std::clamp<int64_t>(std::llround(wanted), 1, outputs);
}

void ChooseCounts(const Options& options, bool hashes, LshSettings& s) {
  const int64_t wanted = WantedOf(options, s.outputs);
  s.hard = hashes ? IntOr(options, "hard", std::max<int64_t>(1, wanted / 3)) : 0;
  s.random = IntOr(options, "random", std::max<int64_t>(0, wanted - s.hard));
  s.hard = std::min(s.hard, s.outputs);
  s.random = std::min(s.random, s.outputs - s.hard);
  Require(s.wanted() > 0, "{}: hard and random are both 0: nothing but labels would be active",
          options.section());
}

void ChooseTables(const Options& options, LshSettings& s) {
  const int bits = FindEntry(hash_families(), "hash family", s.family).bits;
  const auto wanted_bits = std::bit_width(static_cast<uint64_t>(s.outputs / kLoad));
  const int hashes = std::clamp(int(wanted_bits) / bits, 1, kMaxKeyBits / bits);
  s.hashes = int(IntOr(options, "hashes", hashes));
  Require(s.hashes * bits <= kMaxKeyBits,
          "{}: {} hashes of {} bits give 2^{} buckets a table; expected at most {} bits in all",
          options.Where("hashes"), s.hashes, bits, s.hashes * bits, kMaxKeyBits);
  s.tables = int(IntOr(options, "tables", kTables));
  const int64_t load = std::max<int64_t>(1, s.outputs >> (s.hashes * bits));
  s.bucket = int(IntOr(options, "bucket", std::min<int64_t>(1 << 16, kRoom * load)));
  s.policy =
      options.String("bucket_policy") == "fifo" ? BucketPolicy::kFifo : BucketPolicy::kReservoir;
}

/// Refuses options that would have no effect.
void CheckEffects(const Options& options, bool hashes, const LshSettings& s) {
  for (const char* name : {"hard", "hashes", "tables", "bucket", "rehash_every"})
    Require(
        hashes || !options.Has(name),
        "{} is of hash tables, and sampler \"{}\" has none: leave it out or name another sampler",
        options.Where(name), s.sampler);
  Require(!options.Has("threshold") || FindEntry(samplers(), "sampler", s.sampler).takes_threshold,
          "{} is of sampler \"threshold\", and the sampler is \"{}\": leave it out",
          options.Where("threshold"), s.sampler);
  Require(!options.Has("correct_from") || s.correct,
          "{} says when the correction begins, and there is none: set correct = true too",
          options.Where("correct_from"));
  Require(!options.Has("hard") || options.Int("hard") > 0 || !hashes,
          "{}: 0 leaves nothing to the tables: expected at least 1, or sampler = \"uniform\"",
          options.Where("hard"));
}

OptionSpec Choice(const std::string& name, const std::string& fallback,
                  std::vector<std::string> choices, const std::string& help) {
  return {.name = name,
          .type = OptionType::kString,
          .fallback = fallback,
          .help = help,
          .choices = std::move(choices)};
}

OptionSpec Number(const std::string& name, double fallback, const std::string& help,
                  double maximum = 1e12) {
  return {.name = name,
          .type = OptionType::kFloat,
          .fallback = fallback,
          .help = help,
          .minimum = 0,
          .maximum = maximum};
}

OptionSpec Flag(const std::string& name, const std::string& help) {
  return {.name = name, .type = OptionType::kBool, .fallback = false, .help = help};
}

}  // namespace

std::vector<OptionSpec> LshOptions() {
  return {
      {.name = "share",
       .type = OptionType::kFloat,
       .help = "Fraction of outputs that are active besides labels; by default 64 times the fourth "
               "root of the number of outputs are active.",
       .minimum = 0,
       .maximum = 1,
       .exclusive_minimum = true},
      Choice("sampler", "top_k", NamesOf(samplers()),
             "How the ids that tables find become active; uniform uses no tables."),
      Choice("family", "simhash", NamesOf(hash_families()), "The hash functions."),
      Count("hashes", "K: hashes that make a table's key (default: from outputs).", 1, kMaxKeyBits),
      Count("tables", "L: hash tables (default: 24).", 1, 4096),
      Count("bucket", "Capacity of a bucket in ids (default: twice the mean load).", 1, 1 << 16),
      Choice("bucket_policy", "fifo", {"fifo", "reservoir"}, "How a full bucket takes another id."),
      Count("group", "Examples that share an active set; 1 is the paper's form (default: 64)."),
      Count("hard", "S: maximum number of ids that a group finds in the tables (default: a third).",
            0),
      Count("random", "R: additional ids drawn at random (default: the rest).", 0),
      Count("threshold", "For sampler threshold: how often an id must be found (default: 2).", 1,
            65535),
      Flag("correct", "Add log((outputs - hard) / random) to the scores of the random part."),
      Count("correct_from", "Epoch, from 1, from which scores are corrected (default: 1)."),
      Choice("rehash", "growing", {"fixed", "growing", "changed"},
             "When tables are rebuilt: every N0 steps, at growing intervals, or when codes have "
             "changed."),
      Count("rehash_every",
            "N0: steps to the first rebuild (default: one per 8,192 outputs, at least 50)."),
      Number("rehash_growth", 0.1, "Interval t is N0 times e to the power of this times t.", 10),
      Number("rehash_share", 0.1, "For rehash changed: fraction of codes that must have changed.",
             1),
      Flag("rehash_touched", "Rehash only rows that were updated."),
      {.name = "redraw_every",
       .type = OptionType::kInt,
       .fallback = 0,
       .help = "Rebuilds between new draws of the hash functions; 0: never.",
       .minimum = 0,
       .maximum = kMostCount},
  };
}

LshSettings SettingsOf(const Options& options, int64_t inputs) {
  const int64_t outputs = options.Int("outputs");
  LshSettings s{.inputs = inputs,
                .outputs = outputs,
                .sampler = options.String("sampler"),
                .family = options.String("family"),
                .group = IntOr(options, "group", 64),
                .threshold = int(IntOr(options, "threshold", 2)),
                .correct = options.Bool("correct"),
                .correct_from = IntOr(options, "correct_from", 1),
                .rehash = options.String("rehash"),
                .rehash_every =
                    IntOr(options, "rehash_every", std::max(kLeastInterval, outputs / kRowsAStep)),
                .rehash_growth = options.Float("rehash_growth"),
                .rehash_share = options.Float("rehash_share"),
                .rehash_touched = options.Bool("rehash_touched"),
                .redraw_every = options.Int("redraw_every")};
  const bool hashes = FindEntry(samplers(), "sampler", s.sampler).hashes;
  CheckEffects(options, hashes, s);
  ChooseCounts(options, hashes, s);
  if (hashes && s.hard > 0) ChooseTables(options, s);
  return s;
}

std::string Explain(const LshSettings& s) {
  const double share = 100 * double(s.wanted()) / double(s.outputs);
  std::string text = fmt::format("{} of {} active besides labels ({:.3g} %), groups of {}",
                                 s.wanted(), s.outputs, share, s.group);
  if (!s.hashed()) return text + ", all drawn at random";
  return text + fmt::format(
                    ": {} found by {} in {} tables of {} (K {}, buckets of {}), {} at random; "
                    "rehash {} from {} steps",
                    s.hard, s.sampler, s.tables, s.family, s.hashes, s.bucket, s.random, s.rehash,
                    s.rehash_every);
}

}  // namespace yoke::layer
