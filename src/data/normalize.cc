// Chooses or measures mean and standard deviation per channel.
#include "data/preprocess.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"
#include "base/thread.h"

namespace yoke {
namespace {

void CheckLength(const Options& options, const char* key, size_t length, const DataInfo& info) {
  const auto channels = static_cast<size_t>(info.input[0]);
  Require(length == 1 || length == channels, "{}: {} numbers; expected 1 or {}, one a channel",
          options.Where(key), length, channels);
}

// Factor and offset of the values are f32.
void CheckRange(const Options& options, const Normalization& chosen) {
  const auto fits = [](double x) { return std::isfinite(static_cast<float>(x)); };
  const bool shifts = !chosen.mean.empty();
  const size_t channels = std::max({size_t{1}, chosen.mean.size(), chosen.deviation.size()});
  for (size_t c = 0; c < channels; ++c) {
    const double deviation = ByChannel(chosen.deviation, c, 1), mean = ByChannel(chosen.mean, c, 0);
    Require(fits(chosen.scale / deviation) && fits(mean / deviation),
            "{}: a mean of {} and a deviation of {} do not fit f32: expected a larger "
            "deviation{}",
            options.Where(options.Has("deviation") ? "deviation" : "mean"), mean, deviation,
            shifts ? " or a smaller mean" : "");
  }
}

// Sums per channel over examples, of `count` elements each.
struct Sums {
  std::vector<double> first, second;
  double count = 0;

  void Add(const float* values, int64_t examples, int64_t area) {
    for (int64_t i = 0; i < examples; ++i)
      for (size_t c = 0; c < first.size(); ++c, values += area)
        for (int64_t k = 0; k < area; ++k) {
          first[c] += values[k];
          second[c] += double{values[k]} * values[k];
        }
  }
};

// Denormals count here, although training takes them for 0.
class KeepDenormals {
 public:
  KeepDenormals() : before_(FlushDenormals()) { ComputeAs(0); }
  ~KeepDenormals() { ComputeAs(before_); }
  KeepDenormals(const KeepDenormals&) = delete;
  KeepDenormals& operator=(const KeepDenormals&) = delete;

 private:
  uint32_t before_;
};

Sums SumsOf(const Reader& reader) {
  const KeepDenormals keep;
  constexpr int64_t kBlock = 256;
  const DataInfo& info = reader.Info();
  const int64_t channels = info.input[0], area = info.input.Count() / channels;
  Sums sums{std::vector<double>(channels), std::vector<double>(channels),
            static_cast<double>(reader.Size() * area)};
  Batch batch;
  std::vector<int64_t> examples;
  for (int64_t begin = 0; begin < reader.Size(); begin += kBlock) {
    examples.resize(static_cast<size_t>(std::min(kBlock, reader.Size() - begin)));
    std::iota(examples.begin(), examples.end(), begin);
    reader.Read({.examples = examples}, batch);
    sums.Add(batch.dense.As<float>(), batch.size, area);
  }
  return sums;
}

// Whether numbers differ so little against their mean that f32 rounds the difference. A small whole
// number is constant: it is no rounded one.
bool IsFlat(double mean, double variance) {
  constexpr double kRatio = 1e-4, kWholeFloats = 1 << 24;
  const bool constant = variance == 0 && mean == std::floor(mean) && std::abs(mean) < kWholeFloats;
  return !constant && variance < kRatio * kRatio * mean * mean;
}

}  // namespace

bool IsMeasured(const Options& options) { return options.String("normalize") == "standard"; }

Normalization ChosenNormalization(const Options& options, const DataInfo& loaded) {
  Normalization chosen = loaded.normalization;
  if (options.String("normalize") == "none") chosen = {};
  for (const char* key : {"mean", "deviation"}) {
    if (!options.Has(key)) continue;
    Require(!loaded.sparse, "{}: sparse data cannot be shifted; expected dense data",
            options.Where(key));
    Require(!IsMeasured(options),
            "{}: normalize = \"standard\" measures it; expected only one of them",
            options.Where(key));
    CheckLength(options, key, options.Floats(key).size(), loaded);
    (key[0] == 'm' ? chosen.mean : chosen.deviation) = options.Floats(key);
  }
  if (!IsMeasured(options)) CheckRange(options, chosen);
  return chosen;
}

MeasuredChannels MeasureChannels(const Reader& reader) {
  const Normalization& given = reader.Info().normalization;
  const Sums sums = SumsOf(reader);
  MeasuredChannels measured{{.scale = given.scale, .rescaling = given.rescaling}, {}};
  bool needed = false;
  for (size_t c = 0; c < sums.first.size(); ++c) {
    const double mean = sums.first[c] / sums.count;
    const double variance = std::max(0.0, sums.second[c] / sums.count - mean * mean);
    const double deviation = variance > 1e-12 * mean * mean ? std::sqrt(variance) : 1;
    const double unit = ByChannel(given.deviation, c, 1);
    measured.normalization.mean.push_back(ByChannel(given.mean, c, 0) + mean * unit);
    measured.normalization.deviation.push_back(deviation * unit);
    const bool is_far = !std::isnormal(static_cast<float>(given.scale / std::sqrt(variance)));
    const bool rescales = IsFlat(mean, variance) || (variance > 0 && is_far);
    measured.needed.origin.push_back(rescales ? mean : 0);
    measured.needed.unit.push_back(rescales && variance > 0 && is_far ? std::sqrt(variance) : 1);
    needed = needed || rescales;
  }
  if (!needed) measured.needed = {};
  return measured;
}

}  // namespace yoke
