// Draws examples block by block on all cores. Prototypes are not stored: each feature is a hash of
// (seed, label, place), so a million labels take no memory.
#include "data/xmc.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/random.h"
#include "base/resources.h"
#include "base/thread.h"

namespace yoke {
namespace {

constexpr int kPrototype = 16;         // features per label
constexpr double kSignal = 2.0 / 3;    // fraction of features that come from prototypes
constexpr int64_t kDrawnAtOnce = 512;  // examples per draw of a thread
constexpr int64_t kBlocksAtOnce = 64;  // blocks held besides the result

// Purposes of random streams.
enum Purpose : uint64_t { kTrain = 3, kTest, kPlanted };

/// A fixed one-to-one map of ranks (most frequent first) to ids, so that frequent ids are spread.
class Scatter {
 public:
  explicit Scatter(int64_t n)
      : n_(n), stride_(std::max<int64_t>(1, static_cast<int64_t>(0.618 * n))) {
    while (std::gcd(stride_, n_) != 1) ++stride_;
  }
  int32_t Id(int64_t rank) const { return static_cast<int32_t>(rank * stride_ % n_); }

 private:
  int64_t n_;
  int64_t stride_;
};

/// A rank in [0, n): rank r has probability log((r + 2) / (r + 1)) / log(n + 1), close to Zipf's
/// law with exponent 1.
int64_t ZipfRank(int64_t n, Random& random) {
  const double power = std::exp(random.Uniform() * std::log1p(static_cast<double>(n)));
  return std::clamp<int64_t>(static_cast<int64_t>(power) - 1, 0, n - 1);
}

/// Poisson by multiplying uniforms (Knuth), with `mean` halved until it is small.
int64_t Poisson(double mean, Random& random) {
  if (mean > 30) return Poisson(mean / 2, random) + Poisson(mean / 2, random);
  const double limit = std::exp(-mean);
  int64_t count = 0;
  for (double product = random.Uniform(); product > limit; product *= random.Uniform()) ++count;
  return count;
}

class Generator {
 public:
  Generator(const XmcShape& shape, bool test)
      : shape_(shape),
        purpose_(test ? kTest : kTrain),
        features_(shape.features),
        labels_(shape.labels) {}

  void Draw(int64_t index, SparseStorage& rows, SparseStorage& labels) {
    Random random(
        {shape_.seed, Word(yoke::Draw::kSynthetic), purpose_, static_cast<uint64_t>(index)});
    DrawLabels(random);
    DrawFeatures(random);
    labels.ids.insert(labels.ids.end(), chosen_.begin(), chosen_.end());
    labels.offsets.push_back(static_cast<int64_t>(labels.ids.size()));
    AddRow(rows);
  }

 private:
  void DrawLabels(Random& random) {
    const int64_t wanted =
        std::min(1 + Poisson(shape_.labels_per_example - 1, random), shape_.labels);
    chosen_.clear();
    for (int64_t i = 0; i < wanted; ++i)
      chosen_.push_back(labels_.Id(ZipfRank(shape_.labels, random)));
    std::sort(chosen_.begin(), chosen_.end());
    chosen_.erase(std::unique(chosen_.begin(), chosen_.end()), chosen_.end());
  }

  void DrawFeatures(Random& random) {
    const int64_t wanted = std::max<int64_t>(1, Poisson(shape_.nonzeros, random));
    ranks_.clear();
    for (int64_t i = 0; i < wanted; ++i)
      ranks_.push_back(random.Uniform() < kSignal ? PlantedRank(random)
                                                  : ZipfRank(shape_.features, random));
    std::sort(ranks_.begin(), ranks_.end());
  }

  /// The rank of a feature from the prototype of one of the example's labels; rarer than noise
  /// (density rank^(-1/2)).
  int64_t PlantedRank(Random& random) const {
    const auto label = static_cast<uint64_t>(chosen_[random.Below(chosen_.size())]);
    const double u = Random({shape_.seed, Word(yoke::Draw::kSynthetic), kPlanted, label,
                             random.Below(kPrototype)})
                         .Uniform();
    return static_cast<int64_t>(u * u * static_cast<double>(shape_.features));
  }

  /// Merges equal features, weighs them, scales the row to length 1 and appends it, ids ascending.
  void AddRow(SparseStorage& rows) {
    row_.clear();
    double squares = 0;
    for (size_t begin = 0, end = 0; begin < ranks_.size(); begin = end) {
      while (end < ranks_.size() && ranks_[end] == ranks_[begin]) ++end;
      const double frequency = 1 + std::log(static_cast<double>(end - begin));
      const double rarity = 1 + std::log(1 + static_cast<double>(ranks_[begin]));
      row_.emplace_back(features_.Id(ranks_[begin]), static_cast<float>(frequency * rarity));
      squares += frequency * rarity * frequency * rarity;
    }
    std::sort(row_.begin(), row_.end());
    const auto scale = static_cast<float>(1 / std::sqrt(squares));
    for (const auto& [id, value] : row_)
      rows.ids.push_back(id), rows.values.push_back(value * scale);
    rows.offsets.push_back(static_cast<int64_t>(rows.ids.size()));
  }

  XmcShape shape_;
  uint64_t purpose_;
  Scatter features_, labels_;
  std::vector<int32_t> chosen_;                 // labels of the example, ascending
  std::vector<int64_t> ranks_;                  // ranks of drawn features, ascending, with repeats
  std::vector<std::pair<int32_t, float>> row_;  // id and weight
};

struct Block {
  SparseStorage rows, labels;
};

void Append(const SparseStorage& from, SparseArrays& to) {
  const int64_t base = to.ids.size();
  to.ids.Append(from.ids);
  to.values.Append(from.values);
  for (size_t i = 1; i < from.offsets.size(); ++i) to.offsets.push_back(base + from.offsets[i]);
}

}  // namespace

void GenerateXmc(const XmcShape& shape, bool test, int64_t size, MemoryData& data) {
  std::vector<Block> blocks(kBlocksAtOnce);
  for (int64_t first = 0; first < size; first += kDrawnAtOnce * kBlocksAtOnce) {
    const int64_t count = std::min(kDrawnAtOnce * kBlocksAtOnce, size - first);
    const int64_t used = (count + kDrawnAtOnce - 1) / kDrawnAtOnce;
    ParallelFor(used, UsableCores(), [&](int64_t begin, int64_t end) {
      Generator generator(shape, test);
      for (int64_t b = begin; b < end; ++b) {
        blocks[b].rows.Clear(), blocks[b].labels.Clear();
        const int64_t last = std::min((b + 1) * kDrawnAtOnce, count);
        for (int64_t i = b * kDrawnAtOnce; i < last; ++i)
          generator.Draw(first + i, blocks[b].rows, blocks[b].labels);
      }
    });
    for (int64_t b = 0; b < used; ++b) {
      Append(blocks[b].rows, data.sparse);
      Append(blocks[b].labels, data.labels);
    }
  }
  data.size += size;
}

}  // namespace yoke
