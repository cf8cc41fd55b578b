// LAMB and Muon by Apply, beside plain restatements of their equations in double: layers of several
// shapes, parameters with rates of their own, and a team of threads.
#include "optim/layerwise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>

#include "base/random.h"
#include "base/registry.h"
#include "tensor/emulated.h"
#include "tensor/support/arrays.h"

namespace yoke::layerwise_test {

using Numbers = std::vector<double>;

constexpr double kRate = 0.02, kDecay = 0.1, kScale = 0.5;

std::unique_ptr<UpdateRule> Make(const std::string& name) {
  const RuleEntry& entry = FindEntry(rules(), "rule", name);
  return entry.make(Options("train", Table{{"weight_decay", kDecay}}, entry.options));
}

ParamLayout LayoutOf(int64_t large) {
  ParamLayout layout;
  layout.Add({.name = "wide.weight", .shape = {6, large}, .initializer = "ones"});
  layout.Add({.name = "wide.bias", .shape = {6}, .initializer = "zeros"});
  layout.Add({.name = "kernels.weight", .shape = {3, 2, 2, 2}, .initializer = "ones"});
  layout.Add({.name = "narrow.weight", .shape = {9, 4}, .initializer = "ones"});
  layout.Add({.name = "narrow.bias", .shape = {9}, .initializer = "ones"});
  layout.Add({.name = "output.weight", .shape = {2, 9}, .initializer = "ones"});
  layout.Add({.name = "output.bias", .shape = {2}, .initializer = "zeros"});
  layout.Pack();
  return layout;
}

/// A parameter in double, with what the rules keep of it.
struct Layer {
  Numbers w, m, v;
  int64_t rows = 1;
  bool hidden_matrix = false;
  SliceSettings settings;
};

double Length(const Numbers& x) {
  double sum = 0;
  for (const double one : x) sum += one * one;
  return std::sqrt(sum);
}

/// Adam's direction: algorithm 2's r.
Numbers AdamDirection(Layer& layer, const Numbers& g, int t, double beta2, double epsilon) {
  Numbers direction(g.size());
  for (size_t i = 0; i < g.size(); ++i) {
    layer.m[i] = 0.9 * layer.m[i] + 0.1 * g[i];
    layer.v[i] = beta2 * layer.v[i] + (1 - beta2) * g[i] * g[i];
    direction[i] = layer.m[i] / (1 - std::pow(0.9, t)) /
                   (std::sqrt(layer.v[i] / (1 - std::pow(beta2, t))) + epsilon);
  }
  return direction;
}

void LambStep(Layer& layer, const Numbers& g, int t) {
  Numbers u = AdamDirection(layer, g, t, 0.999, 1e-6);
  for (size_t i = 0; i < u.size(); ++i) u[i] += kDecay * layer.settings.decay * layer.w[i];
  const double w = Length(layer.w), r = Length(u), ratio = w > 0 && r > 0 ? w / r : 1;
  for (size_t i = 0; i < u.size(); ++i) layer.w[i] -= kRate * layer.settings.rate * ratio * u[i];
}

using Rows = std::vector<Numbers>;

Rows Times(const Rows& a, const Rows& b) {
  Rows c(a.size(), Numbers(b[0].size()));
  for (size_t i = 0; i < a.size(); ++i)
    for (size_t k = 0; k < b.size(); ++k)
      for (size_t j = 0; j < b[0].size(); ++j) c[i][j] += a[i][k] * b[k][j];
  return c;
}

Rows Transposed(const Rows& a) {
  Rows b(a[0].size(), Numbers(a.size()));
  for (size_t i = 0; i < a.size(); ++i)
    for (size_t j = 0; j < a[0].size(); ++j) b[j][i] = a[i][j];
  return b;
}

/// The iteration on a matrix of any shape: on its smaller side or not, the result is the same.
Rows NewtonSchulz(Rows x) {
  Numbers all;
  for (const Numbers& row : x) all.insert(all.end(), row.begin(), row.end());
  const double length = Length(all);
  for (Numbers& row : x)
    for (double& one : row) one /= length;
  for (int step = 0; step < 5; ++step) {
    const Rows a = Times(x, Transposed(x)), ax = Times(a, x), aax = Times(a, ax);
    for (size_t i = 0; i < x.size(); ++i)
      for (size_t j = 0; j < x[0].size(); ++j)
        x[i][j] = 3.4445 * x[i][j] - 4.7750 * ax[i][j] + 2.0315 * aax[i][j];
  }
  return x;
}

void MuonStep(Layer& layer, const Numbers& g, int t) {
  const double rate = kRate * layer.settings.rate * (layer.hidden_matrix ? 1 : 0.015);
  for (double& w : layer.w) w -= rate * kDecay * layer.settings.decay * w;
  if (!layer.hidden_matrix) {
    const Numbers u = AdamDirection(layer, g, t, 0.95, 1e-10);
    for (size_t i = 0; i < u.size(); ++i) layer.w[i] -= rate * u[i];
    return;
  }
  const auto columns = static_cast<int64_t>(g.size()) / layer.rows;
  Rows u(static_cast<size_t>(layer.rows), Numbers(static_cast<size_t>(columns)));
  for (size_t i = 0; i < g.size(); ++i) {
    layer.m[i] = 0.95 * layer.m[i] + g[i];
    u[i / columns][i % columns] = g[i] + 0.95 * layer.m[i];
  }
  const double longer = static_cast<double>(layer.rows) / static_cast<double>(columns);
  u = NewtonSchulz(u);
  for (size_t i = 0; i < g.size(); ++i)
    layer.w[i] -= rate * std::sqrt(std::max(1.0, longer)) * u[i / columns][i % columns];
}

using Step = void (*)(Layer&, const Numbers&, int);

/// Values after three updates by Apply, which stay near those of `step`.
std::vector<float> Train(const std::string& name, Step step, int64_t large) {
  const auto rule = Make(name);
  const ParamLayout layout = LayoutOf(large);
  ParamStore params(layout, Cpu());
  Initialize(params, 1);
  Gradients gradients(layout, Cpu());
  RuleState state(layout, *rule, Cpu());
  state.SetSlices(layout, {{}, {.decay = 0}, {.rate = 3}, {}, {.rate = 0}, {}, {}});
  const auto values = params.values().Host(), gradient = gradients.dense().Host();
  std::vector<Layer> layers(layout.slices().size());
  for (size_t i = 0; i < layers.size(); ++i) {
    const Slice& slice = layout.slices()[i];
    const auto begin = values.begin() + slice.offset;
    layers[i] = {.w = Numbers(begin, begin + slice.Count()),
                 .m = Numbers(static_cast<size_t>(slice.Count())),
                 .v = Numbers(static_cast<size_t>(slice.Count())),
                 .rows = slice.shape[0],
                 .hidden_matrix = slice.shape.rank() > 1 && slice.name != "output.weight",
                 .settings = state.Of(i)};
  }
  Random random{3};
  for (int t = 1; t <= 3; ++t) {
    for (size_t i = 0; i < layers.size(); ++i) {
      const Slice& slice = layout.slices()[i];
      Numbers g;
      for (int64_t j = 0; j < slice.Count(); ++j) {
        const auto one = static_cast<float>(random.Uniform(-1, 1));
        gradient[slice.offset + j] = one;
        g.push_back(kScale * one);
      }
      if (!state.Of(i).frozen()) step(layers[i], g, t);
    }
    Apply(params, {.rule = *rule,
                   .state = state,
                   .gradients = gradients,
                   .learning_rate = kRate,
                   .gradient_scale = kScale});
    for (size_t i = 0; i < layers.size(); ++i)
      for (size_t j = 0; j < layers[i].w.size(); ++j)
        EXPECT_NEAR(values[layout.slices()[i].offset + j], layers[i].w[j], 2e-5)
            << name << " step " << t << " " << layout.slices()[i].name << " " << j;
  }
  return {values.begin(), values.end()};
}

TEST(Layerwise, LambFollowsItsEquations) {
  Train("lamb", LambStep, 7);
  const std::vector<float> team = Train("lamb", LambStep, 5'000);
  omp_set_num_threads(1);
  EXPECT_EQ(Train("lamb", LambStep, 5'000), team);
  omp_set_num_threads(2);
}

TEST(Layerwise, MuonFollowsItsEquations) {
  for (const int64_t large : {6, 7, 4'000}) Train("muon", MuonStep, large);
}

TEST(Layerwise, OtherDevicesAreRefused) {
  const auto device = NewEmulatedDevice(0, {});
  for (const char* name : {"lamb", "muon"})
    EXPECT_THROW(RuleState(LayoutOf(7), *Make(name), *device), UserError) << name;
}

}  // namespace yoke::layerwise_test
