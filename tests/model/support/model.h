// What tests of graphs share: layers as tables, and a model with drawn parameters and a batch.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "model/graph.h"

namespace yoke::testing_support {

inline const ModelTask kTask = {.input = {.shape = {6}}, .outputs = 3};

inline Value LayerTable(const char* type, Table options = {}) {
  options.insert(options.begin(), {"type", type});
  return Value(std::move(options));
}

inline Value Linear(int outputs) { return LayerTable("linear", {{"outputs", outputs}}); }

/// What a graph of these layers is refused with; "" when it is not.
inline std::string Refusal(const List& layers, const ModelTask& task = kTask) {
  try {
    Graph graph(layers, task);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

/// A graph with drawn parameters, a place for gradients and a batch.
struct Model {
  explicit Model(const List& layers, int64_t size = 4, const ModelTask& task = kTask)
      : graph(layers, task), params(graph.layout(), Cpu()), gradients(graph.layout(), Cpu()) {
    Initialize(params, 1);
    batch.size = size;
    batch.ResizeDense(task.input.shape);
    for (int64_t i = 0; i < batch.dense.Count(); ++i)
      batch.dense.As<float>()[i] = std::sin(static_cast<float>(i));
    for (int64_t i = 0; i < size; ++i) {
      batch.examples.push_back(i);
      batch.classes.push_back(static_cast<int32_t>(i % task.outputs));
    }
  }
  std::unique_ptr<GraphPlan> Compile(bool training, DType type = DType::kF32,
                                     bool reference = false) const {
    return graph.Compile({.batch = batch.size,
                          .training = training,
                          .arithmetic = type,
                          .target = {.reference = reference}});
  }
  std::vector<float> Scores(GraphPlan& plan, const Batch& of) const {
    plan.PrepareAndForward(of, params.View());
    const Tensor scores = plan.Scores();
    EXPECT_EQ(scores.type, DType::kF32);
    return {scores.As<float>(), scores.As<float>() + scores.Count()};
  }

  Graph graph;
  ParamStore params;
  Gradients gradients;
  Batch batch;
};

/// The gradient of the loss by central differences, for every number of every dense slice.
inline void ExpectGradientsAgree(Model& m, GraphPlan& plan, float step, double tolerance) {
  plan.PrepareAndForward(m.batch, m.params.View(&m.gradients));
  plan.Backward(m.batch, m.params.View(&m.gradients), {});
  const std::vector<float> gradient(m.gradients.dense().Host().data(),
                                    m.gradients.dense().Host().data() + m.gradients.dense().count);
  for (const Slice& slice : m.graph.layout().slices()) {
    if (slice.kind != SliceKind::kDense) continue;
    for (int64_t i = slice.offset; i < slice.offset + slice.Count(); ++i) {
      float& w = m.params.values().Host()[i];
      const float at = w;
      w = at + step, plan.PrepareAndForward(m.batch, m.params.View());
      const double above = plan.Loss();
      w = at - step, plan.PrepareAndForward(m.batch, m.params.View());
      const double below = plan.Loss();
      w = at;
      EXPECT_NEAR(gradient[i], (above - below) / (2 * step), tolerance) << slice.name;
    }
  }
}

}  // namespace yoke::testing_support
