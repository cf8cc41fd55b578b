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
constexpr int kSlotBits = 18;  // of folded keys, more only for layers whose own K gives more
constexpr double kUnfolded = 16.0 * (1 << 30);  // most bytes of two sets with a bucket for each key
constexpr int64_t kSparse = 4;  // places for each id, or bucket, from which tables are packed
constexpr double kMostHashes = 256;
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

/// A key's own value, or that of the form.
std::string SamplerOf(const Options& options) {
  if (options.Has("sampler")) return options.String("sampler");
  return IsPaperForm(options) ? "vanilla" : "top_k";
}

bool FillsOf(const Options& options) {
  return options.Has("fill") ? options.Bool("fill") : !IsPaperForm(options);
}

int64_t GroupOf(const Options& options) {
  return IntOr(options, "group", IsPaperForm(options) ? 1 : 64);
}

/// The form's only where each example has a set, because groups are merged.
bool IsLockFree(const Options& options) {
  if (options.Has("updates")) return options.String("updates") == "lock_free";
  return IsPaperForm(options) && GroupOf(options) == 1;
}

/// Ids wanted in addition to labels.
int64_t WantedOf(const Options& options, int64_t outputs) {
  const double wanted = options.Has("share") ? options.Float("share") * double(outputs)
                                             : kFourthRoots * std::pow(double(outputs), 0.25);
  return std::clamp<int64_t>(std::llround(wanted), 1, outputs);
}

void ChooseCounts(const Options& options, bool hashes, LshSettings& s) {
  const int64_t wanted = WantedOf(options, s.outputs);
  const bool pure = hashes && !s.fill;
  s.hard = hashes ? IntOr(options, "hard", pure ? wanted : std::max<int64_t>(1, wanted / 3)) : 0;
  s.random = IntOr(options, "random", pure ? 0 : std::max<int64_t>(0, wanted - s.hard));
  s.hard = std::min(s.hard, s.outputs);
  s.random = std::min(s.random, s.outputs - s.hard);
  Require(s.wanted() > 0, "{}: hard and random are both 0: nothing but labels would be active",
          options.section());
  Require(!s.correct || s.fill || s.random > 0,
          "{} is of ids drawn at random, and there are none: leave it out or set random",
          options.Where("correct"));
}

/// Capacity of the buckets of tables that have 2^bits.
int BucketOf(const Options& options, int64_t outputs, int64_t bits) {
  const int64_t load = std::max<int64_t>(1, outputs >> bits);
  return int(IntOr(options, "bucket", std::min<int64_t>(1 << 16, kRoom * load)));
}

/// Whether tables can have a bucket for each key.
bool FitUnfolded(const Options& options, const LshSettings& s, int64_t key_bits) {
  if (key_bits > kMaxKeyBits) return false;
  const double entries = 2.0 * s.tables * (BucketOf(options, s.outputs, key_bits) + 1.0);
  return std::ldexp(entries * sizeof(int32_t), int(key_bits)) <= kUnfolded;
}

/// Bits of the slots of a table; more than those of the keys are refused.
int SlotBits(const Options& options, const LshSettings& s, int default_key_bits, int64_t key_bits) {
  if (!options.Has("slots"))
    return FitUnfolded(options, s, key_bits) ? int(key_bits)
                                             : std::clamp(default_key_bits, kSlotBits, kMaxKeyBits);
  const auto slots = static_cast<uint64_t>(options.Int("slots"));
  Require(std::has_single_bit(slots), "{}: expected a power of two, got {}", options.Where("slots"),
          slots);
  const int bits = std::bit_width(slots) - 1;
  Require(bits <= key_bits,
          "{}: {} are more than the 2^{} keys that so few hashes make: leave it out or raise "
          "hashes",
          options.Where("slots"), slots, key_bits);
  return bits;
}

void ChooseTables(const Options& options, LshSettings& s) {
  const int bits = FindEntry(hash_families(), "hash family", s.family).bits;
  const auto wanted_bits = std::bit_width(static_cast<uint64_t>(s.outputs / kLoad));
  const int hashes = std::clamp(int(wanted_bits) / bits, 1, kMaxKeyBits / bits);
  s.hashes = int(IntOr(options, "hashes", hashes));
  s.tables = int(IntOr(options, "tables", kTables));
  s.slot_bits = SlotBits(options, s, hashes * bits, int64_t{s.hashes} * bits);
  s.bucket = BucketOf(options, s.outputs, std::min(s.hashes * bits, s.slot_bits));
  s.policy =
      options.String("bucket_policy") == "fifo" ? BucketPolicy::kFifo : BucketPolicy::kReservoir;
}

/// Whether the options leave hard or random open.
bool UsesShare(const Options& options, bool hashes, const LshSettings& s) {
  return (hashes && !options.Has("hard")) || ((!hashes || s.fill) && !options.Has("random"));
}

/// Refuses options that would have no effect.
void CheckEffects(const Options& options, bool hashes, const LshSettings& s) {
  for (const char* name : {"hard", "hashes", "slots", "tables", "bucket", "rehash_every", "fill"})
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
  Require(!options.Has("share") || UsesShare(options, hashes, s),
          "{} gives defaults of hard and random, and none is used here: leave it out",
          options.Where("share"));
  Require(!s.lock_free || s.group == 1,
          "{}: \"lock_free\" is of sets of one example: leave it out or set group = 1",
          options.Where("updates"));
  Require(
      !IsPaperForm(options) || !options.Has("sampler") || !options.Has("group") ||
          (hashes && !options.Has("fill")) || (s.group == 1 && !options.Has("updates")),
      "{}: \"paper\" gives defaults of sampler, group, fill and updates, and none is used here: "
      "leave it out",
      options.Where("form"));
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

TableShape ShapeOf(const LshSettings& s) {
  const int bits = FindEntry(hash_families(), "hash family", s.family).bits;
  TableShape shape{.tables = s.tables,
                   .key_bits = std::min(s.hashes * bits, s.slot_bits),
                   .bucket = s.bucket,
                   .policy = s.policy};
  const int64_t buckets = int64_t{1} << shape.key_bits;
  const bool sparse = buckets * s.bucket > kSparse * std::max(s.outputs, buckets);
  if (sparse && !s.rehash_touched) shape.rows = s.outputs;
  return shape;
}

std::vector<OptionSpec> LshOptions() {
  return {
      FormOption("yoke", /*paper_by_default=*/false,
                 "Paper: sets of one example, sampler vanilla, no ids drawn at random, and updates "
                 "without locks. Yoke: a group shares its set, which random ids fill."),
      {.name = "share",
       .type = OptionType::kFloat,
       .help = "Fraction of outputs that are active besides labels; by default 64 times the fourth "
               "root of the number of outputs are active.",
       .minimum = 0,
       .maximum = 1,
       .exclusive_minimum = true},
      {.name = "sampler",
       .type = OptionType::kString,
       .help = "How the ids that tables find become active; uniform uses no tables (default: "
               "top_k; vanilla in the paper's form).",
       .choices = NamesOf(samplers())},
      Choice("family", "simhash", NamesOf(hash_families()), "The hash functions."),
      Count("hashes", "K: hashes that make a table's key (default: from outputs).", 1, kMostHashes),
      Count("slots",
            "Buckets of a table, a power of two: keys of more bits are mixed into so many "
            "(default: one for each key of up to 24 bits if that takes at most 16 GiB; else "
            "262,144, or as many as the default of hashes gives).",
            2, 1 << kMaxKeyBits),
      Count("tables", "L: hash tables (default: 24).", 1, 4096),
      Count("bucket", "Capacity of a bucket in ids (default: twice the mean load).", 1, 1 << 16),
      Choice("bucket_policy", "fifo", {"fifo", "reservoir"}, "How a full bucket takes another id."),
      Count("group", "Examples that share an active set (default: 64; 1 in the paper's form)."),
      Count("hard",
            "S: maximum number of ids that a group finds in the tables (default: a third; all "
            "without fill).",
            0),
      Count("random", "R: additional ids drawn at random (default: the rest; 0 without fill).", 0),
      {.name = "fill",
       .type = OptionType::kBool,
       .help = "Draw ids at random in place of those of S that tables do not find (default: true; "
               "false in the paper's form)."},
      {.name = "updates",
       .type = OptionType::kString,
       .help = "How the examples' gradients of a row are added up: merged in their order, or "
               "without locks by threads that may lose some, for groups of 1 over dense input "
               "(default: merged; lock_free in the paper's form).",
       .choices = {"merged", "lock_free"}},
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
                .sampler = SamplerOf(options),
                .family = options.String("family"),
                .group = GroupOf(options),
                .fill = FillsOf(options),
                .lock_free = IsLockFree(options),
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

double FoundOf(const LshSettings& s) {
  const double load = 1 + std::ldexp(double(s.outputs), -ShapeOf(s).key_bits);
  return std::min(double(s.hard), double(s.group) * s.tables * std::min(load, double(s.bucket)));
}

std::string Explain(const LshSettings& s) {
  const double share = 100 * double(s.wanted()) / double(s.outputs);
  std::string text =
      fmt::format("{}{} of {} active besides labels ({:.3g} %), groups of {}{}",
                  s.hashed() && !s.fill ? "up to " : "", s.wanted(), s.outputs, share, s.group,
                  s.group > 1   ? ""
                  : s.lock_free ? ", lock-free updates"
                                : ", merged updates");
  if (!s.hashed()) return text + ", all drawn at random";
  const TableShape shape = ShapeOf(s);
  const double found = FoundOf(s);
  return text + fmt::format(
                    ": {}up to {} found by {} in {} tables of {} (K {}, 2^{} buckets of {}), {} at "
                    "random{}; rehash {} from {} steps",
                    found < double(s.hard) ? fmt::format("about {:.0f} of ", found) : "", s.hard,
                    s.sampler, s.tables, s.family, s.hashes, shape.key_bits, s.bucket, s.random,
                    s.fill ? ", and one for each that is not found" : "", s.rehash, s.rehash_every);
}

std::string AdviceOn(const LshSettings& s) {
  if (!s.hashed()) return "";
  const double found = FoundOf(s), ids = double(s.hard) / (double(s.group) * s.tables);
  if (10 * found >= double(s.hard)) return "";
  const int bits = std::max(1, int(std::log2(double(s.outputs) / ids)));
  return fmt::format(
      "the hash tables find about {:.0f} of the {} outputs asked for, because their buckets hold "
      "too few: set slots = {}{}",
      found, s.hard, 1 << bits,
      s.bucket < ids ? fmt::format(", and buckets of {:.0f} or more", std::ceil(ids)) : "");
}

}  // namespace yoke::layer
