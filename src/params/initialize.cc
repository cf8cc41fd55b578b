// Initializers: first values of parameters, each number drawn from (seed, slice, position).
#include <cmath>
#include <functional>

#include "base/random.h"
#include "base/registry.h"
#include "params/store.h"

namespace yoke {
namespace {

using Fill = std::function<double(Random&, const Slice&)>;

struct Initializer {
  std::string name;
  std::string summary;
  Fill draw;
};

double Uniform(Random& random, double bound) { return random.Uniform(-bound, bound); }

double FanSum(const Slice& s) { return static_cast<double>(s.fan_in + s.fan_out); }

const std::vector<Initializer>& AllInitializers() {
  static const std::vector<Initializer> table = {
      {"zeros", "all zero", [](Random&, const Slice&) { return 0.0; }},
      {"ones", "all one", [](Random&, const Slice&) { return 1.0; }},
      {"fan_in_uniform", "uniform within 1/sqrt(fan in), the usual choice of PyTorch's layers",
       [](Random& r, const Slice& s) { return Uniform(r, 1 / std::sqrt(double(s.fan_in))); }},
      {"xavier_uniform", "uniform within sqrt(6 / (fan in + fan out)) (Glorot and Bengio 2010)",
       [](Random& r, const Slice& s) { return Uniform(r, std::sqrt(6 / FanSum(s))); }},
      {"xavier_normal", "normal, variance 2 / (fan in + fan out) (Glorot and Bengio 2010)",
       [](Random& r, const Slice& s) { return r.Normal() * std::sqrt(2 / FanSum(s)); }},
      {"he_uniform", "uniform within sqrt(6 / fan in), for ReLU (He et al. 2015)",
       [](Random& r, const Slice& s) { return Uniform(r, std::sqrt(6.0 / double(s.fan_in))); }},
      {"he_normal", "normal, variance 2 / fan in, for ReLU (He et al. 2015)",
       [](Random& r, const Slice& s) { return r.Normal() * std::sqrt(2.0 / double(s.fan_in)); }},
      {"normal_0.01", "normal, standard deviation 0.01 (Krizhevsky et al. 2012)",
       [](Random& r, const Slice&) { return r.Normal() * 0.01; }},
  };
  return table;
}

uint64_t HashOf(const std::string& name) {
  uint64_t hash = 1469598103934665603ULL;  // FNV-1a
  for (unsigned char c : name) hash = (hash ^ c) * 1099511628211ULL;
  return hash;
}

}  // namespace

void Initialize(ParamStore& store, uint64_t seed) {
  const auto& slices = store.layout().slices();
  for (size_t i = 0; i < slices.size(); ++i) {
    const Initializer& initializer =
        FindEntry(AllInitializers(), "initializer", slices[i].initializer);
    Random random{seed, Word(Draw::kInitialize), HashOf(slices[i].name)};
    float* values = store.values(static_cast<int>(i));
    for (int64_t j = 0; j < slices[i].Count(); ++j)
      values[j] = static_cast<float>(initializer.draw(random, slices[i]));
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
