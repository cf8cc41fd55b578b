// Arrays: who may read them, copies between memories, staging for the host, and another stream
// beside training.
#include "tensor/array.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "base/check.h"
#include "tensor/emulated.h"
#include "tensor/support/arrays.h"

namespace yoke::array_test {

using Floats = std::vector<float>;

/// One body for the host and a device.
class ArrayTest : public testing::TestWithParam<bool> {
 protected:
  ArrayTest() : emulated_(NewEmulatedDevice(3, {})) {}
  Device& device() { return GetParam() ? *emulated_ : Cpu(); }

 private:
  std::unique_ptr<Device> emulated_;
};

TEST_P(ArrayTest, ComesBackAsItWas) {
  for (const Floats& values : {Floats{}, Floats{5}, Floats{1, 2, 3, 4, 5}}) {
    const Buffer buffer = CopyOn(device(), values);
    const auto array = AllOf<float>(buffer);
    EXPECT_EQ(array.count, static_cast<int64_t>(values.size()));
    EXPECT_EQ(array.Bytes(), buffer.bytes());
    EXPECT_EQ(ValuesOf(array), values);
  }
}

TEST_P(ArrayTest, HasParts) {
  const Buffer buffer = CopyOn(device(), Floats{1, 2, 3, 4, 5});
  const Array<const float> array = AllOf<float>(buffer);
  EXPECT_EQ(ValuesOf(array.Part(1, 4)), (Floats{2, 3, 4}));
  EXPECT_EQ(ValuesOf(array.Part(1, 4).Part(2, 3)), Floats{4});
  EXPECT_EQ(ValuesOf(array.First(2)), (Floats{1, 2}));
  EXPECT_EQ(ValuesOf(array.First(0)), Floats{});
  EXPECT_EQ(array.Part(1, 4).device, &device());
}

TEST_P(ArrayTest, IsCopiedWithinItsDevice) {
  const Buffer from = CopyOn(device(), Floats{1, 2, 3}), to = CopyOn(device(), Floats(5, 9));
  Copy(AllOf<float>(to).Part(1, 4), AllOf<float>(from));
  EXPECT_EQ(ValuesOf(AllOf<float>(to)), (Floats{9, 1, 2, 3, 9}));
}

TEST_P(ArrayTest, IsCopiedForTheHost) {
  const Buffer buffer = CopyOn(device(), Floats{1, 2, 3, 4});
  const auto middle = AllOf<float>(buffer).Part(1, 3);
  HostCopy copy;
  EXPECT_EQ(copy.Of(middle).data() == middle.data, !GetParam());  // the array itself on the host
  const std::span<float> elements = copy.Read(middle);
  EXPECT_EQ(Floats(elements.begin(), elements.end()), (Floats{2, 3}));
  elements[0] = 7;
  EXPECT_EQ(ValuesOf(middle), (GetParam() ? Floats{2, 3} : Floats{7, 3}));
  copy.Write(middle);
  EXPECT_EQ(ValuesOf(AllOf<float>(buffer)), (Floats{1, 7, 3, 4}));
  EXPECT_EQ(copy.Read(Array<const float>(AllOf<float>(buffer)))[3], 4);
}

INSTANTIATE_TEST_SUITE_P(All, ArrayTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "emulated" : "cpu"; });

TEST(Array, IsReadByTheHostInTheHostsMemoryAlone) {
  const auto device = NewEmulatedDevice(3, {});
  const Buffer there(*device, 8), here(Cpu(), 8);
  EXPECT_FALSE(AllOf<float>(there).OnHost());
  EXPECT_THAT([&] { AllOf<float>(there).Host(); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("emulated:3")));
  EXPECT_TRUE(AllOf<float>(here).OnHost());
  EXPECT_EQ(AllOf<float>(here).Host().data(), here.As<float>());
}

TEST(Array, OfAnEmptyBufferIsEmpty) {
  for (const Buffer& buffer : {Buffer(), Buffer(Cpu(), 0)}) {
    EXPECT_EQ(AllOf<float>(buffer).count, 0);
    EXPECT_TRUE(AllOf<float>(buffer).Host().empty());
  }
}

TEST(Array, IsCopiedToOneAsLong) {
  std::vector<float> three(3), four(4);
  EXPECT_THROW(Copy(OnHost(std::span(three)), OnHost(std::span(four))), Error);
  EXPECT_THROW(Copy(OnHost(std::span(four)), OnHost(std::span(three))), Error);
}

TEST(Array, IsNotCopiedBetweenTwoDevices) {
  const auto one = NewEmulatedDevice(0, {}), other = NewEmulatedDevice(1, {});
  const Buffer from = CopyOn(*one, Floats{1, 2}), to = CopyOn(*other, Floats{3, 4});
  EXPECT_THROW(Copy(AllOf<float>(to), AllOf<float>(from)), Error);
  EXPECT_EQ(ValuesOf(AllOf<float>(to)), (Floats{3, 4}));
}

TEST(CurrentStream, IsAnotherWhileBeside) {
  const auto device = NewEmulatedDevice(0, {}), other = NewEmulatedDevice(1, {});
  const std::unique_ptr<Stream> stream = device->NewStream();
  {
    const Beside beside(*device, *stream);
    EXPECT_EQ(&CurrentStream(*device), stream.get());
    EXPECT_EQ(&CurrentStream(*other), &other->stream());
    std::thread([&] { EXPECT_EQ(&CurrentStream(*device), &device->stream()); }).join();
  }
  EXPECT_EQ(&CurrentStream(*device), &device->stream());
}

}  // namespace yoke::array_test
