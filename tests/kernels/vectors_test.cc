// Vectors: each against its formula, also where the result is one of the arguments, and on a device
// against the host.
#include "kernels/vectors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <future>
#include <vector>

#include "base/random.h"
#include "tensor/emulated.h"
#include "tensor/support/arrays.h"

namespace yoke::vectors_test {

using Floats = std::vector<float>;

TEST(Vectors, AreTheirFormulas) {
  const Floats x = {1, 2, 4}, p = {8, 6, 4}, q = {2, 2, 2};
  const auto after = [](const auto& operation) {
    Floats y = {1, -1, 0.5F};
    operation(y);
    return y;
  };
  EXPECT_EQ(after([](Floats& y) { Scale(y, 2); }), (Floats{2, -2, 1}));
  EXPECT_EQ(after([](Floats& y) { Divide(y, 4); }), (Floats{0.25F, -0.25F, 0.125F}));
  EXPECT_EQ(after([&](Floats& y) { Add(y, x); }), (Floats{2, 1, 4.5F}));
  EXPECT_EQ(after([&](Floats& y) { AddScaled(y, 0.5F, x); }), (Floats{1.5F, 0, 2.5F}));
  EXPECT_EQ(after([&](Floats& y) { Subtract(y, x); }), (Floats{0, -3, -3.5F}));
  EXPECT_EQ(after([&](Floats& y) { AddDifference(y, 0.5F, p, q); }), (Floats{4, 1, 1.5F}));
  EXPECT_EQ(after([&](Floats& y) { ScaledDifference(y, 0.5F, p, q); }), (Floats{3, 2, 1}));
  EXPECT_EQ(after([&](Floats& y) { MoveTowards(y, 0.25F, x); }), (Floats{1, -0.25F, 1.375F}));
  EXPECT_EQ(after([&](Floats& y) { MoveTowardsAll(y, 0.5F, x, 2); }), (Floats{0.5F, 1, 2}));
  EXPECT_EQ(after([&](Floats& y) { AddDifference(y, 1, p, y); }), (Floats{8, 6, 4}));
}

Floats Drawn(int64_t count, uint64_t stream) {
  Random random{5, stream};
  Floats values(count);
  for (float& value : values) value = static_cast<float>(random.Normal());
  return values;
}

/// Runs `operation(y, p, q)` on parts of the host's vectors and of the same ones on a device.
template <typename Operation>
void ExpectTheHostsBits(Device& device, const Operation& operation) {
  for (const int64_t begin : {0, 3, 16})
    for (const int64_t count : {0, 1, 17, 1003}) {
      Floats y = Drawn(begin + count + 1, 1), p = Drawn(y.size(), 2), q = Drawn(y.size(), 3);
      const Buffer there[] = {CopyOn(device, y), CopyOn(device, p), CopyOn(device, q)};
      const auto part = [&](int i) { return AllOf<float>(there[i]).Part(begin, begin + count); };
      operation(part(0), part(1), part(2));
      const auto host_part = [&](Floats& all) { return Values(all).subspan(begin, count); };
      operation(host_part(y), host_part(p), host_part(q));
      EXPECT_EQ(ValuesOf(AllOf<float>(there[0])), y) << begin << " " << count;
    }
}

TEST(VectorsOnADevice, HaveTheHostsBits) {
  const auto device = NewEmulatedDevice(0, {});
  const auto expect = [&](const char* name, const auto& operation) {
    SCOPED_TRACE(name);
    ExpectTheHostsBits(*device, operation);
  };
  expect("Scale", [](auto y, auto, auto) { Scale(y, 0.3F); });
  expect("Divide", [](auto y, auto, auto) { Divide(y, 0.3F); });
  expect("Add", [](auto y, auto p, auto) { Add(y, p); });
  expect("Add to itself", [](auto y, auto, auto) { Add(y, y); });
  expect("AddScaled", [](auto y, auto p, auto) { AddScaled(y, 0.3F, p); });
  expect("Subtract", [](auto y, auto p, auto) { Subtract(y, p); });
  expect("AddDifference", [](auto y, auto p, auto q) { AddDifference(y, 0.3F, p, q); });
  expect("ScaledDifference", [](auto y, auto p, auto q) { ScaledDifference(y, 0.3F, p, q); });
  expect("MoveTowards", [](auto y, auto p, auto) { MoveTowards(y, 0.3F, p); });
  expect("MoveTowardsAll", [](auto y, auto p, auto) { MoveTowardsAll(y, 0.3F, p, 3); });
}

TEST(VectorsOnADevice, FillAPart) {
  const auto emulated = NewEmulatedDevice(0, {});
  for (Device* device : {&Cpu(), emulated.get()}) {
    const Buffer buffer = CopyOn(*device, Floats{1, 2, 3, 4, 5});
    Fill(AllOf<float>(buffer).Part(1, 4), 0.5F);
    EXPECT_EQ(ValuesOf(AllOf<float>(buffer)), (Floats{1, 0.5F, 0.5F, 0.5F, 5})) << device->name();
  }
}

TEST(VectorsOnADevice, AreEnqueuedWithoutAWait) {
  const auto device = NewEmulatedDevice(0, {});
  const Buffer y = CopyOn(*device, Floats{1, 2}), sum(*device, sizeof(double));
  std::promise<void> go;
  device->stream().work_queue()->Enqueue([&go] { go.get_future().wait(); });
  Scale(AllOf<float>(y), 2);
  Copy(AllOf<float>(y).First(1), AllOf<float>(y).Part(1, 2));
  SquareSum(AllOf<float>(y), sum.As<double>());
  go.set_value();
  EXPECT_EQ(ValuesOf(AllOf<float>(y)), (Floats{4, 4}));
  EXPECT_EQ(ValuesOf(AllOf<double>(sum)), std::vector<double>{32});
}

TEST(VectorsOnADevice, SumTheSameSquares) {
  const auto device = NewEmulatedDevice(0, {});
  Floats x = Drawn(50'001, 1);
  const Buffer buffer = CopyOn(*device, x);
  for (const int64_t begin : {0, 3})
    for (const int64_t end : {3, 4, 1003, 50'001}) {
      const ConstValues part = ConstValues(x).subspan(begin, end - begin);
      EXPECT_EQ(SquareSum(AllOf<float>(buffer).Part(begin, end)), SquareSum(part)) << begin << end;
      EXPECT_EQ(SquareSum(OnHost(part)), SquareSum(part));
    }
}

TEST(Vectors, FindTheFirstNonFiniteElement) {
  const auto emulated = NewEmulatedDevice(0, {});
  for (Device* device : {&Cpu(), emulated.get()}) {
    SCOPED_TRACE(device->name());
    Floats x = Drawn(301, 1);
    EXPECT_EQ(FirstNonFinite(AllOf<float>(CopyOn(*device, x))), -1);
    for (const int64_t at : {300, 17, 0}) {  // each before the last one
      x[at] = at == 17 ? -INFINITY : NAN;
      const Buffer buffer = CopyOn(*device, x);
      EXPECT_EQ(FirstNonFinite(AllOf<float>(buffer)), at);
      EXPECT_EQ(FirstNonFinite(AllOf<float>(buffer).First(at)), -1);
    }
  }
}

TEST(Vectors, RefuseArraysOfUnlikeLengthOrDevice) {
  const auto one = NewEmulatedDevice(0, {}), other = NewEmulatedDevice(1, {});
  const Buffer a = CopyOn(*one, Floats(4)), b = CopyOn(*other, Floats(4)),
               c = CopyOn(Cpu(), Floats(4));
  for (const Buffer* mine : {&a, &b, &c}) {
    const auto y = AllOf<float>(*mine);
    for (const Buffer* theirs : {&a, &b, &c})
      for (const int64_t count : {0, 3, 4}) {
        if (mine == theirs && count == 4) continue;
        const auto x = AllOf<float>(*theirs).First(count);
        const std::function<void()> calls[] = {
            [&] { Add(y, x); },
            [&] { AddScaled(y, 2, x); },
            [&] { Subtract(y, x); },
            [&] { AddDifference(y, 2, x, y); },
            [&] { ScaledDifference(y, 2, y, x); },
            [&] { MoveTowards(y, 2, x); },
            [&] { MoveTowardsAll(y, 2, x, 2); },
        };
        for (const auto& call : calls) EXPECT_THROW(call(), Error) << count;
      }
    EXPECT_THROW(Add(y, Array<float>()), Error);
    EXPECT_THROW(ScaledDifference(y, 2, y, Array<float>()), Error);
  }
}

}  // namespace yoke::vectors_test
