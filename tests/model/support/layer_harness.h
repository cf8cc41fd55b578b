// Runs one layer forward and backward on drawn numbers, by chosen kernels, type and layout.
#pragma once

#include <string>
#include <vector>

#include "model/layer.h"
#include "tensor/device.h"

namespace yoke::testing_support {

/// One layer to run: what it is made from, and the data it meets.
struct LayerCase {
  std::string type;
  std::string options;  ///< TOML: "outputs = 3\nbias = false"
  Shape input;          ///< Of one example; {width} when sparse.
  int64_t batch = 3;
  bool sparse = false;
  bool fuse_relu = false;
  bool label_sets = false;         ///< Losses: sets of labels instead of classes.
  std::vector<Shape> others = {};  ///< The inputs after the first, of one example each.
  bool fuse_add = false;           ///< Of its output and another input, before a ReLU.
};

/// How it is run.
struct RunOptions {
  DType arithmetic = DType::kF32;
  Target target = {};
  Edge edge = {};         ///< Type and layout of the input.
  Edge other_edge = {};   ///< The same of the other inputs.
  bool in_place = false;  ///< A gradient lies where the output's does if the plan allows it.
};

/// Everything that came out, as f32 in plain layout, padded by nothing.
struct LayerRun {
  std::vector<float> output;
  std::vector<float> input_gradient;                ///< Empty when sparse.
  std::vector<std::vector<float>> other_gradients;  ///< Of the inputs after the first.
  std::vector<std::vector<float>> gradients;        ///< By parameter; row-sparse ones dense. Of a
                                                    ///< buffer what it holds afterwards.
  Edge edge;                                        ///< What the plan says of its output.
  std::string kernel;
};

/// The numbers a case is run on. The same case and seed give the same numbers.
class LayerHarness {
 public:
  explicit LayerHarness(const LayerCase& layer_case, uint64_t seed = 1);

  /// Two steps. Before each backward pass what the plan says it does not read is made NaN (for fast
  /// kernels zero, so that the two disagree where they do read it), and scratch memory is made NaN
  /// before every pass.
  LayerRun Run(const RunOptions& options) const;
  /// Objective whose gradients Run computes: the mean loss, or the sum of output times fixed random
  /// numbers.
  double Objective() const;

  const Layer& layer() const { return *layer_; }
  const std::vector<ParamSpec>& specs() const { return specs_; }
  std::vector<float> input;                ///< [batch, input]; empty when sparse.
  std::vector<std::vector<float>> others;  ///< The inputs after the first.
  std::vector<std::vector<float>> params;  ///< By parameter.
  Batch batch;
  std::vector<float> output_gradient;  ///< [batch, output]

 private:
  void DrawData(uint64_t seed);
  void DrawInputs(uint64_t seed);
  void DrawLabels(uint64_t seed);
  std::unique_ptr<LayerPlan> MakePlan(const RunOptions& options,
                                      const std::vector<Edge>& edges) const;

  LayerCase case_;
  std::unique_ptr<Layer> layer_;
  bool loss_ = false;
  std::vector<ParamSpec> specs_;
};

/// Names of a case for messages: "convolution 3x8x8 batch 2 (outputs = 4; kernel = 3)".
std::string NameOf(const LayerCase& layer_case);

/// The largest |a - b| over the largest |b| (or 1e-6 if that is more); infinite when sizes differ
/// or a NaN is in one only.
double RelativeError(const std::vector<float>& a, const std::vector<float>& b);

}  // namespace yoke::testing_support
