// ParamStore: the packed parameters of one replica, and their initial values: each element is drawn
// from (seed, slice, position).
#include "params/store.h"

#include <cmath>
#include <span>

#include "base/random.h"
#include "base/registry.h"
#include "base/thread.h"

namespace yoke {
namespace {

/// Below this many elements, starting a thread takes longer than drawing.
constexpr int64_t kWorthThreads = 1 << 16;

enum class Law : uint8_t { kConstant, kUniform, kNormal };

/// A distribution: every element `size`, uniform within +-size, or normal with standard deviation
/// `size`.
struct Initializer {
  std::string name;
  std::string summary;
  Law law;
  double (*size)(const Slice&);
};

double FanIn(const Slice& s) { return static_cast<double>(s.fan_in); }
double FanSum(const Slice& s) { return static_cast<double>(s.fan_in + s.fan_out); }

const std::vector<Initializer>& AllInitializers() {
  static const std::vector<Initializer> table = {
      {"zeros", "all zero", Law::kConstant, [](const Slice&) { return 0.0; }},
      {"ones", "all one", Law::kConstant, [](const Slice&) { return 1.0; }},
      {"fan_in_uniform", "uniform within 1/sqrt(fan in), the usual choice of PyTorch's layers",
       Law::kUniform, [](const Slice& s) { return 1 / std::sqrt(FanIn(s)); }},
      {"table_uniform", "as fan_in_uniform, but a first row of zeros: that of what is unknown",
       Law::kUniform, [](const Slice& s) { return 1 / std::sqrt(FanIn(s)); }},
      {"xavier_uniform", "uniform within sqrt(6 / (fan in + fan out)) (Glorot and Bengio 2010)",
       Law::kUniform, [](const Slice& s) { return std::sqrt(6 / FanSum(s)); }},
      {"xavier_sigmoid",
       "uniform within 4 sqrt(6 / (fan in + fan out)), for the sigmoid, whose slope is 1/4 (Glorot "
       "and Bengio 2010)",
       Law::kUniform, [](const Slice& s) { return 4 * std::sqrt(6 / FanSum(s)); }},
      {"xavier_normal", "normal, variance 2 / (fan in + fan out) (Glorot and Bengio 2010)",
       Law::kNormal, [](const Slice& s) { return std::sqrt(2 / FanSum(s)); }},
      {"he_uniform", "uniform within sqrt(6 / fan in), for ReLU (He et al. 2015)", Law::kUniform,
       [](const Slice& s) { return std::sqrt(6 / FanIn(s)); }},
      {"he_normal", "normal, variance 2 / fan in, for ReLU (He et al. 2015)", Law::kNormal,
       [](const Slice& s) { return std::sqrt(2 / FanIn(s)); }},
      {"normal_0.01", "normal, standard deviation 0.01 (Krizhevsky et al. 2012)", Law::kNormal,
       [](const Slice&) { return 0.01; }},
  };
  return table;
}

uint64_t DrawsPerNumber(Law law) { return law == Law::kNormal ? 2 : law == Law::kUniform ? 1 : 0; }

double DrawnBy(Law law, double size, Random& random) {
  if (law == Law::kConstant) return size;
  return law == Law::kNormal ? random.Normal() * size : random.Uniform(-size, size);
}

template <typename T>
void Fill(Law law, double size, Random random, std::span<T> values) {
  for (T& value : values) value = T(static_cast<float>(DrawnBy(law, size, random)));
}

/// Draws a slice whose elements are T.
template <typename T>
void FillSlice(const Initializer& initializer, const Slice& slice, const Random& random,
               int threads, float* places) {
  T* const values = reinterpret_cast<T*>(places);
  const double size = initializer.size(slice);
  const int64_t count = slice.Count();
  const auto fill = [&](int64_t begin, int64_t end) {
    Random part = random;
    part.Skip(DrawsPerNumber(initializer.law) * static_cast<uint64_t>(begin));
    Fill(initializer.law, size, part, std::span(values + begin, values + end));
  };
  ParallelFor(count, count < kWorthThreads ? 1 : threads, fill);
  if (slice.initializer == "table_uniform" && slice.shape.rank() > 1)
    std::fill_n(values, slice.shape[1], T(0.0F));
}

uint64_t HashOf(const std::string& name) {
  uint64_t hash = 1469598103934665603ULL;  // FNV-1a
  for (unsigned char c : name) hash = (hash ^ c) * 1099511628211ULL;
  return hash;
}

}  // namespace

Gradients::Gradients(const ParamLayout& layout, Device& device)
    : dense_(device, layout.dense_size() * SizeOf(DType::kF32)), rows_(layout.slices().size()) {}

int64_t Gradients::bytes() const {
  int64_t bytes = dense_.bytes();
  for (const RowGradient& rows : rows_)
    bytes += static_cast<int64_t>(rows.ids.capacity() * sizeof(int32_t) +
                                  rows.values.capacity() * sizeof(float));
  return bytes;
}

ParamStore::ParamStore(ParamLayout layout, Device& device)
    : layout_(std::move(layout)), values_(device, layout_.size() * SizeOf(DType::kF32)) {}

void Initialize(ParamStore& store, uint64_t seed, int threads) {
  const auto& slices = store.layout().slices();
  for (size_t i = 0; i < slices.size(); ++i) {
    const Initializer& initializer =
        FindEntry(AllInitializers(), "initializer", slices[i].initializer);
    const Random random{seed, Word(Draw::kInitialize), HashOf(slices[i].name)};
    HostCopy copy;
    const Array<float> values = store.values(static_cast<int>(i));
    const auto fill = slices[i].type == DType::kBf16 ? FillSlice<Bf16> : FillSlice<float>;
    fill(initializer, slices[i], random, threads, copy.Of(values).data());
    copy.Write(values);
  }
  store.Publish();
}

const std::vector<InitializerEntry>& initializers() {
  static const std::vector<InitializerEntry> entries = [] {
    std::vector<InitializerEntry> list;
    for (const Initializer& i : AllInitializers()) list.push_back({i.name, i.summary});
    return list;
  }();
  return entries;
}

}  // namespace yoke
