// Active rows: values and gradients of the reference, the same for any number of threads; without
// locks they are nearly these.
#include "kernels/active_rows/active_rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include "base/random.h"
#include "base/support/near.h"
#include "kernels/support/threads.h"

namespace yoke::active_rows_test {

constexpr int64_t kBatch = 60, kRows = 5000;

std::vector<float> Draw(int64_t count, uint64_t seed) {
  Random random{seed};
  std::vector<float> values(count);
  for (float& v : values) v = static_cast<float>(random.Uniform(-1, 1));
  return values;
}

/// Each example uses a row in `every`, and all use the first ones.
struct Uses {
  UsedRowList list;
  std::vector<ExamplePlaces> places;
  int64_t count = 0;

  explicit Uses(uint64_t every) {
    Random random{every};
    for (int32_t n = 0; n < kBatch; ++n) {
      count += 5;  // padding
      places.push_back({.example = n, .first = count});
      for (int32_t id = 0; id < kRows; ++id)
        if (id < 4 || random.Below(every) == 0)
          list.uses().push_back({.id = id, .example = n, .place = count++});
      places.back().count = count - places.back().first;
    }
    list.Find(kRows);
  }
};

struct Result {
  std::vector<float> values, row_gradient, bias_gradient, input_gradient;
};

/// `bf16`: the weights, which are then rounded in any case, are stored so.
Result Pass(const ActiveRowsShape& shape, const Uses& uses, bool reference,
            std::optional<bool> bf16 = {}) {
  const auto kernel = MakeActiveRows(shape, {.reference = reference});
  const auto x = Draw(kBatch * shape.inputs, 1);
  auto w = Draw(kRows * shape.inputs, 2);
  std::vector<Bf16> narrow;
  for (float& value : w) {
    narrow.emplace_back(value);
    if (bf16) value = static_cast<float>(narrow.back());
  }
  const auto b = Draw(kRows, 3);
  auto dy = Draw(uses.count, 4);
  const UsedRows used = uses.list.View();
  Result result{
      .values = std::vector<float>(uses.count),
      .row_gradient = std::vector<float>(used.count * shape.inputs, NAN),
      .bias_gradient = std::vector<float>(shape.bias ? used.count : 0, NAN),
      .input_gradient = std::vector<float>(shape.input_gradient ? kBatch * shape.inputs : 0, NAN)};
  std::vector<float> scratch(kernel->scratch_bytes() / 4, NAN);
  const ActiveRowsCall call{.used = used,
                            .places = uses.places,
                            .input = x.data(),
                            .weight = bf16 == true ? nullptr : w.data(),
                            .bf16_weight = bf16 == true ? narrow.data() : nullptr,
                            .bias = b.data(),
                            .values = result.values.data(),
                            .gradient = dy.data(),
                            .row_gradient = result.row_gradient.data(),
                            .bias_gradient = result.bias_gradient.data(),
                            .input_gradient = result.input_gradient.data(),
                            .scratch = scratch.data()};
  kernel->Forward(call);
  kernel->Backward(call);
  return result;
}

void ExpectNear(const Result& a, const Result& b, float tolerance) {
  test::ExpectNear(a.values, b.values, tolerance);
  test::ExpectNear(a.row_gradient, b.row_gradient, tolerance);
  test::ExpectNear(a.bias_gradient, b.bias_gradient, tolerance);
  test::ExpectNear(a.input_gradient, b.input_gradient, tolerance);
}

ActiveRowsShape Shape(int64_t inputs, bool all = true) {
  return {.batch = kBatch, .inputs = inputs, .bias = all, .relu = all, .input_gradient = all};
}

TEST(ActiveRows, AreThoseOfTheReference) {
  const Uses uses(9);
  for (const int64_t inputs : {1, 7, 16, 45, 128})
    for (const bool all : {false, true}) {
      SCOPED_TRACE(std::to_string(inputs) + (all ? " with all" : ""));
      const ActiveRowsShape shape = Shape(inputs, all);
      ExpectNear(Pass(shape, uses, false), Pass(shape, uses, true), 2e-3F);
    }
}

TEST(ActiveRows, AreTheSameOfWeightsInBf16) {
  const Uses uses(9);
  const Threads one(1);
  for (const bool reference : {false, true})
    for (const bool lock_free : {false, true}) {
      ActiveRowsShape shape = Shape(45);
      shape.lock_free = lock_free;
      ExpectNear(Pass(shape, uses, reference, true), Pass(shape, uses, reference, false), 0);
    }
}

TEST(ActiveRows, AreTheSameForAnyNumberOfThreads) {
  const Uses uses(9);
  const Threads one(1);
  const Result alone = Pass(Shape(40), uses, false);
  const Threads three(3);
  ExpectNear(Pass(Shape(40), uses, false), alone, 0);
}

TEST(ActiveRows, WithoutLocksOneThreadLosesNothing) {
  const Uses uses(40);
  const Threads one(1);
  ActiveRowsShape shape = Shape(40);
  const Result merged = Pass(shape, uses, false);
  shape.lock_free = true;
  ExpectNear(Pass(shape, uses, false), merged, 0);
}

/// Rows that all examples use at the same time lose the most.
TEST(ActiveRows, WithoutLocksThreadsLoseLittle) {
  const Uses uses(9);
  ActiveRowsShape shape = Shape(128);
  const Result merged = Pass(shape, uses, false);
  const Threads three(3);
  shape.lock_free = true;
  const Result raced = Pass(shape, uses, false);
  double lost = 0, all = 0;
  for (size_t i = 0; i < merged.row_gradient.size(); ++i) {
    lost += std::abs(merged.row_gradient[i] - raced.row_gradient[i]);
    all += std::abs(merged.row_gradient[i]);
  }
  RecordProperty("lost", std::to_string(lost / all));
  EXPECT_LT(lost, 0.05 * all);
  test::ExpectNear(raced.input_gradient, merged.input_gradient, 2e-3F);
}

TEST(ActiveRows, MayBeNone) {
  UsedRowList list;
  list.Find(kRows);
  EXPECT_EQ(list.View().count, 0);
  EXPECT_EQ(list.View().Uses(), 0);
}

}  // namespace yoke::active_rows_test
