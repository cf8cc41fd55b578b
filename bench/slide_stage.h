// SlideStage: one stage of a hashed layer's step, and what stages are made of.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "base/random.h"
#include "model/layers/lsh_linear/settings.h"
#include "tensor/device.h"

namespace yoke::bench {

inline constexpr int64_t kHidden = 128, kBatches = 16;

/// One stage of a step: what it costs on one batch, and two ways to run it.
struct Stage {
  std::string name;
  double bytes = 0, operations = 0;  // from and to memory; 0: all in the cache
  std::function<void(int64_t batch, bool plain)> run;
};

inline Buffer RandomValues(int64_t count, double scale, uint64_t seed) {
  Buffer values(Cpu(), count * 4);
#pragma omp parallel for schedule(static)
  for (int64_t block = 0; block < (count + 4095) / 4096; ++block) {
    Random random{seed, static_cast<uint64_t>(block)};
    for (int64_t i = block * 4096; i < std::min(count, block * 4096 + 4096); ++i)
      values.As<float>()[i] = static_cast<float>(scale * (random.Uniform() - 0.5));
  }
  return values;
}

inline std::vector<OptionSpec> AllOptions() {
  std::vector<OptionSpec> options = layer::LshOptions();
  options.push_back({.name = "outputs", .type = OptionType::kInt});
  return options;
}

}  // namespace yoke::bench
