// Recorder: kernels that are listed in place of being run, on the CPU and on a device.
#include "kernels/recorder.h"

#include <gtest/gtest.h>

#include "kernels/convert.h"
#include "kernels/linear/linear.h"
#include "kernels/vectors.h"
#include "tensor/array.h"
#include "tensor/emulated.h"

namespace yoke::recorder_test {

TEST(Recorder, ListsCallsInOrderAndRunsNone) {
  const auto emulated = NewEmulatedDevice(0, {});
  for (Device* device : {&Cpu(), emulated.get()}) {
    const auto stream = device->NewStream();
    Recorder recorder(*stream);
    const LinearShape shape = {.batch = 4, .inputs = 8, .outputs = 2, .training = true};
    const auto linear = MakeLinear(shape, {.device = device, .stream = &recorder.Of("top")});
    const auto convert = MakeConvert({.device = device, .stream = &recorder});
    linear->Forward({});
    linear->Backward({});
    const Shape ten = {10};
    for (int i = 0; i < 2; ++i)
      convert->Forward({{.shape = ten}, {.shape = ten, .type = DType::kBf16}});

    const std::vector<RecordedCalls> calls = recorder.Take();
    ASSERT_EQ(calls.size(), 3U);
    EXPECT_EQ(calls[0].layer, "top");
    EXPECT_EQ(calls[0].operation, "linear");
    EXPECT_EQ(calls[0].kernel, MakeLinear(shape)->name());
    EXPECT_FALSE(calls[0].backward);
    EXPECT_TRUE(calls[1].backward);
    EXPECT_EQ(calls[2].layer, "");
    EXPECT_EQ(calls[2].operation, "convert");
    EXPECT_EQ(calls[2].calls, 2);
    EXPECT_EQ(calls[2].bytes, 2 * 10 * (4 + 2));
    EXPECT_TRUE(recorder.Take().empty());
  }
}

TEST(Recorder, CopiesStillTakePlace) {
  const auto device = NewEmulatedDevice(0, {});
  const auto stream = device->NewStream();
  Recorder recorder(*stream);
  const Buffer there(*device, sizeof(int));
  const int sent = 7;
  int received = 0;
  recorder.Copy(there.data(), &sent, sizeof sent);
  recorder.Copy(&received, there.data(), sizeof received);
  recorder.Wait();
  EXPECT_EQ(received, 7);
  const std::vector<RecordedCalls> calls = recorder.Take();
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_EQ(calls[0].operation, "copy");
  EXPECT_EQ(calls[0].calls, 2);
}

TEST(Recorder, ListsVectorsOfTheCurrentStream) {
  const auto device = NewEmulatedDevice(0, {});
  const auto stream = device->NewStream();
  Recorder recorder(*stream);
  const Beside beside(*device, recorder);
  const Buffer there(*device, 3 * sizeof(float));
  Fill(AllOf<float>(there), 1);
  Scale(AllOf<float>(there), 2);
  const std::vector<RecordedCalls> calls = recorder.Take();
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_EQ(calls[0].operation, "vectors");
  EXPECT_EQ(calls[0].calls, 2);
}

}  // namespace yoke::recorder_test
