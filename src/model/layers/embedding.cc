// The layer `embedding`: replaces the number of a category by the learned vector of that category
// (Guo and Berkhahn, "Entity embeddings of categorical variables", 2016); other numbers pass.
#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "model/layers/convert_input.h"
#include "model/layers/support.h"

namespace yoke::layer {
namespace {

constexpr int64_t kMostDimensions = 50;  // unless the layer says how many

/// One number of the input and what it becomes.
struct Field {
  int64_t rows = 0;  // of its table: row 0 is of unknown categories; 0: it passes
  int64_t width = 1;
  int64_t first = 0;  // place in the output

  /// The row that an input names.
  int64_t RowOf(float input) const {
    const float last = static_cast<float>(rows - 1);
    return input >= 0 && input <= last ? std::lround(input) : 0;
  }
};

/// y = concatenation over fields of table[x] or x. A table's gradient is summed by one thread, in
/// the order of the examples.
class EmbeddingPlan : public LayerPlan {
 public:
  EmbeddingPlan(const std::vector<Field>& fields, const Shape& shape) : fields_(fields) {
    output = {.shape = shape};
    reads_output = false;
    kernel = "loops";
  }

  void Forward(const LayerCall& call) override {
    const int64_t inputs = std::ssize(fields_), outputs = output.shape.Count();
#pragma omp parallel for schedule(static)
    for (int64_t n = 0; n < call.batch.size; ++n) {
      const float* const x = call.input.As<float>() + n * inputs;
      float* const y = call.output.As<float>() + n * outputs;
      size_t table = 0;
      for (int64_t i = 0; i < inputs; ++i) {
        const Field& field = fields_[static_cast<size_t>(i)];
        if (field.rows == 0) {
          y[field.first] = x[i];
          continue;
        }
        const float* const rows = call.params[table++].value.As<float>();
        std::copy_n(rows + field.RowOf(x[i]) * field.width, field.width, y + field.first);
      }
    }
  }

  void Backward(const LayerCall& call) override {
    const int64_t inputs = std::ssize(fields_), outputs = output.shape.Count();
    const float* const x = call.input.As<float>();
    const float* const y_gradient = call.output_gradient.As<float>();
#pragma omp parallel for schedule(dynamic, 1)
    for (int64_t i = 0; i < inputs; ++i) {
      const Field& field = fields_[static_cast<size_t>(i)];
      float* const table = field.rows > 0 ? call.params[TableOf(i)].gradient : nullptr;
      if (table) std::fill_n(table, field.rows * field.width, 0.0F);
      for (int64_t n = 0; n < call.batch.size; ++n) {
        const float* const from = y_gradient + n * outputs + field.first;
        if (call.input_gradient.data)
          call.input_gradient.As<float>()[n * inputs + i] = field.rows > 0 ? 0 : *from;
        if (!table) continue;
        float* const row = table + field.RowOf(x[n * inputs + i]) * field.width;
        for (int64_t k = 0; k < field.width; ++k) row[k] += from[k];
      }
    }
  }

 private:
  /// Tables are the parameters, in the order of the fields.
  size_t TableOf(int64_t field) const {
    return static_cast<size_t>(std::count_if(fields_.begin(), fields_.begin() + field,
                                             [](const Field& f) { return f.rows > 0; }));
  }

  std::vector<Field> fields_;
};

class Embedding : public Layer {
 public:
  explicit Embedding(std::vector<Field> fields) : fields_(std::move(fields)) {}

  Edge Output() const override { return {.shape = {fields_.back().first + fields_.back().width}}; }

  std::vector<ParamSpec> Params() const override {
    std::vector<ParamSpec> specs;
    for (size_t i = 0; i < fields_.size(); ++i)
      if (fields_[i].rows > 0)
        specs.push_back({.name = fmt::format("table{}", i),
                         .shape = {fields_[i].rows, fields_[i].width},
                         .initializer = "table_uniform",
                         .fan_in = fields_[i].width,
                         .fan_out = fields_[i].width,
                         .keep_f32 = true});
    return specs;
  }

  Cost Price(int64_t batch) const override {
    double tables = 0;
    for (const Field& field : fields_) tables += double(field.rows * field.width);
    const double moved = double(batch * Output().shape.Count());
    return {.operations = moved, .bytes = 4 * (4 * moved + tables)};
  }

  std::unique_ptr<LayerPlan> Plan(const PlanRequest& request) const override {
    return ConvertInput(request, {.type = DType::kF32}, [&](const PlanRequest&) {
      return std::make_unique<EmbeddingPlan>(fields_, Output().shape);
    });
  }

  std::string OnlyOnCpu() const override { return "it looks up its tables on the CPU only"; }

 private:
  std::vector<Field> fields_;
};

std::unique_ptr<Layer> MakeEmbedding(const Options& options, const LayerContext& context) {
  RequireDense(context, "embedding");
  Require(options.Has("categories"),
          "layer '{}' (embedding) needs categories, or data.category_encoding = \"embedding\"",
          context.name);
  const std::vector<int64_t> categories = options.Ints("categories");
  Require(Shape{std::ssize(categories)} == context.input.shape,
          "layer '{}' (embedding): {} numbers in categories; expected one for each of the {} of "
          "its input",
          context.name, categories.size(), context.input.shape.Text());
  std::vector<Field> fields;
  int64_t first = 0;
  for (const int64_t count : categories) {
    Field field{.first = first};
    if (count > 0) {
      field.rows = count + 1;
      field.width = options.Has("dimensions") ? options.Int("dimensions")
                                              : std::min(kMostDimensions, (count + 1) / 2);
    }
    first += field.width;
    fields.push_back(field);
  }
  return std::make_unique<Embedding>(std::move(fields));
}

}  // namespace

LayerEntry embedding() {
  return {.name = "embedding",
          .summary = "learned vectors in place of the numbers of categories",
          .options = {{.name = "categories",
                       .type = OptionType::kInts,
                       .help = "For each number of the input: of how many categories it is the "
                               "number, from 1; 0: it passes. By default what the data have.",
                       .minimum = 0,
                       .maximum = kMostCount},
                      {.name = "dimensions",
                       .type = OptionType::kInt,
                       .help = "Numbers of a vector; by default half of the categories, at most "
                               "50.",
                       .minimum = 1,
                       .maximum = kMostCount}},
          .make = MakeEmbedding};
}

}  // namespace yoke::layer
