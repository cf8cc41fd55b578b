// Muon: momentum whose direction is made nearly orthogonal, for matrices:
//   m <- momentum * m + g;  u = g + momentum * m;
//   w <- w - rate * (sqrt(max(1, rows / columns)) * Orthogonal(u) + weight_decay * w).
// Orthogonal(u): five steps X <- a X + (b A + c A^2) X with A = X X^T of a Newton-Schulz iteration,
// from X = u / |u|; they bring all singular values near 1. Jordan et al., "Muon: An optimizer for
// hidden layers in neural networks" (2024). The rest of the model takes AdamW.
// Cost: 15 products of the smaller side's square by the larger one, and 2 matrices of memory.
#include <algorithm>
#include <cmath>

#include "kernels/linear/linear.h"
#include "kernels/vectors.h"
#include "optim/layerwise.h"
#include "optim/rules/options.h"

namespace yoke::rule {

RuleEntry adamw();

namespace {

/// A row-major matrix.
struct Matrix {
  Matrix(int64_t of_rows, int64_t of_columns)
      : rows(of_rows),
        columns(of_columns),
        buffer(Cpu(), of_rows * of_columns * int64_t{sizeof(float)}) {}
  float* data() const { return buffer.As<float>(); }
  Values values() const { return {data(), static_cast<size_t>(rows * columns)}; }

  int64_t rows, columns;
  Buffer buffer;
};

/// Products of a matrix [rows, columns] by linear kernels.
class Orthogonalizer {
 public:
  Orthogonalizer(int64_t rows, int64_t columns)
      : product_(MakeLinear({.batch = rows,
                             .inputs = columns,
                             .outputs = rows,
                             .bias = false,
                             .training = true,
                             .input_gradient = true})),
        square_(MakeLinear({.batch = rows, .inputs = rows, .outputs = rows, .bias = false})),
        a_(rows, rows),
        polynomial_(rows, rows),
        product_of_polynomial_(rows, columns),
        scratch_(Cpu(), std::max(product_->scratch_bytes(), square_->scratch_bytes())) {}

  /// `x`: no more rows than columns.
  void Orthogonalize(const Matrix& x) {
    constexpr int kSteps = 5;
    constexpr float kFirst = 3.4445F, kSecond = -4.7750F, kThird = 2.0315F, kLeast = 1e-7F;
    Divide(x.values(), static_cast<float>(std::sqrt(SquareSum(ConstValues(x.values())))) + kLeast);
    for (int step = 0; step < kSteps; ++step) {
      LinearCall call = {.input = x.data(),
                         .weight = x.data(),
                         .output = a_.data(),
                         .output_gradient = polynomial_.data(),
                         .input_gradient = product_of_polynomial_.data(),
                         .scratch = scratch_.data()};
      product_->Forward(call);               // x x^T
      square_->Forward({.input = a_.data(),  // which is symmetric
                        .weight = a_.data(),
                        .output = polynomial_.data(),
                        .scratch = scratch_.data()});
      Scale(polynomial_.values(), kThird);
      AddScaled(polynomial_.values(), kSecond, a_.values());
      product_->Backward(call);  // the polynomial times x
      Scale(x.values(), kFirst);
      Add(x.values(), product_of_polynomial_.values());
    }
  }

 private:
  std::unique_ptr<LinearKernel> product_, square_;
  Matrix a_, polynomial_, product_of_polynomial_;
  Buffer scratch_;
};

/// Whether a parameter is the matrix or the kernels of a hidden layer: the last parameter of two
/// dimensions or more is the output layer's, and vectors of categories are no matrix.
bool IsHidden(const ParamLayout& layout, size_t slice) {
  const auto has_rows = [](const Slice& of) {
    return of.shape.rank() > 1 && of.initializer != "table_uniform";
  };
  return has_rows(layout.slices()[slice]) &&
         std::any_of(layout.slices().begin() + static_cast<std::ptrdiff_t>(slice) + 1,
                     layout.slices().end(), has_rows);
}

/// AdamW whose rate is a fraction of the one that it is told.
class SlowAdamW : public UpdateRule {
 public:
  SlowAdamW(std::unique_ptr<UpdateRule> adamw, double rate)
      : adamw_(std::move(adamw)), rate_(rate) {}
  const char* name() const override { return "muon"; }
  std::vector<std::string> StateNames() const override { return adamw_->StateNames(); }
  void Update(const UpdateSpan& span, const UpdateStep& step) const override {
    adamw_->Update(span, SliceSettings{.rate = rate_}.Of(step));
  }
  std::unique_ptr<UpdateRule> Spread(int times) const override {
    return std::make_unique<SlowAdamW>(adamw_->Spread(times), rate_);
  }
  void ApplyMomentum(const UpdateSpan& span, const UpdateStep& step, int updates) const override {
    adamw_->ApplyMomentum(span, SliceSettings{.rate = rate_}.Of(step), updates);
  }

 private:
  std::unique_ptr<UpdateRule> adamw_;
  double rate_;
};

std::shared_ptr<const UpdateRule> RestOf(const Options& options) {
  return std::make_shared<SlowAdamW>(adamw().make(options), options.Float("adam_rate"));
}

class Muon : public LayerwiseRule {
 public:
  explicit Muon(const Options& options)
      : LayerwiseRule(RestOf(options)),
        momentum_(static_cast<float>(options.Float("momentum"))),
        decay_(options.Float("weight_decay")) {}

  const char* name() const override { return "muon"; }

  void UpdateLayer(const LayerUpdate& update) const override {
    if (!IsHidden(update.layout, update.slice)) return UpdateElements(update.span, update.step);
    const int64_t rows = update.layout.slices()[update.slice].shape[0];
    const int64_t columns = update.span.count / rows;
    Matrix x(std::min(rows, columns), std::max(rows, columns));
    TakeIn(update, x, rows > columns);
    Orthogonalizer(x.rows, x.columns).Orthogonalize(x);
    Move(update, x, rows > columns);
  }

 private:
  /// Where element i of the parameter stands in `x`.
  static int64_t PlaceOf(int64_t i, const Matrix& x, bool transposed) {
    return transposed ? i % x.rows * x.columns + i / x.rows : i;
  }

  void TakeIn(const LayerUpdate& update, const Matrix& x, bool transposed) const {
    const auto scale = static_cast<float>(update.step.gradient_scale);
    float* const m = update.span.state[0];
#pragma omp parallel for schedule(static) if (update.span.count > kParallelCount)
    for (int64_t i = 0; i < update.span.count; ++i) {
      const float g = scale * update.span.gradient[i];
      m[i] = momentum_ * m[i] + g;
      x.data()[PlaceOf(i, x, transposed)] = g + momentum_ * m[i];
    }
  }

  void Move(const LayerUpdate& update, const Matrix& x, bool transposed) const {
    const double rate = update.step.learning_rate;
    const double longer = static_cast<double>(x.columns) / static_cast<double>(x.rows);
    const auto distance = static_cast<float>(rate * (transposed ? std::sqrt(longer) : 1));
    const auto keep = static_cast<float>(1 - rate * decay_ * update.step.decay);
    float* const w = update.span.values;
#pragma omp parallel for schedule(static) if (update.span.count > kParallelCount)
    for (int64_t i = 0; i < update.span.count; ++i)
      w[i] = keep * w[i] - distance * x.data()[PlaceOf(i, x, transposed)];
  }

  float momentum_;
  double decay_;
};

}  // namespace

RuleEntry muon() {
  return {.name = "muon",
          .summary = "Muon: orthogonal steps for the matrices of hidden layers, AdamW for the rest",
          .options = {DecayOption("momentum", 0.95, "Of a matrix's gradients."),
                      {.name = "adam_rate",
                       .type = OptionType::kFloat,
                       .fallback = 0.015,
                       .help = "Factor on the learning rate of what AdamW updates.",
                       .minimum = 0},
                      DecayOption("beta1", 0.9, "AdamW's decay of the mean of the gradients."),
                      DecayOption("beta2", 0.95, "AdamW's decay of the mean of their squares."),
                      EpsilonOption(1e-10),
                      WeightDecayOption(
                          "Each update shrinks the values by this times their learning rate.")},
          .make = [](const Options& options) -> std::unique_ptr<UpdateRule> {
            return std::make_unique<Muon>(options);
          },
          .learning_rate = 0.02,
          .rates = {0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0003}};
}

}  // namespace yoke::rule
