// cuda on a real GPU: the runtime's calls do what the mock driver says they do.
#include <gmock/gmock.h>

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "tensor/cuda/cuda_stream.h"
#include "tensor/device.h"
#include "tensor/devices.h"
#include "tensor/support/arrays.h"

namespace yoke::cuda_gpu_test {

class GpuTest : public testing::Test {
 protected:
  Device& device() { return *devices_.all()[0]; }

 private:
  Devices devices_ = Devices({"cuda:0"}, "a GPU test");
};

TEST_F(GpuTest, MemoryIsZeroAndAligned) {
  for (const int64_t count : {1, 1000, 10000000}) {
    const Buffer buffer(device(), count);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % 64, 0U);
    EXPECT_EQ(ValuesOf(AllOf<char>(buffer)), std::vector<char>(count));
  }
}

TEST_F(GpuTest, FullMemoryIsOneSentence) {
  try {
    const Buffer buffer(device(), int64_t{1} << 60);
    FAIL() << "no GPU has so much";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("cuda:0 has no memory for 1.15e+09 GB more: "));
  }
  const Buffer buffer(device(), 64);  // the runtime has forgotten it
  EXPECT_EQ(ValuesOf(AllOf<char>(buffer)), std::vector<char>(64));
}

TEST_F(GpuTest, CopiesOfStreamsRunInTheOrderOfEvents) {
  constexpr int64_t kCount = 1 << 22;
  const Buffer first(device(), kCount), second(device(), kCount);
  const Buffer ones(device().staging(), kCount), read(device().staging(), kCount);
  std::fill_n(ones.As<char>(), kCount, 1);
  const auto writer = device().NewStream(), reader = device().NewStream();
  std::shared_ptr<Event> written, copied;
  for (int round = 0; round < 20; ++round) {
    writer->Clear(first.data(), kCount);
    writer->Copy(first.data(), ones.data(), kCount);
    writer->Record(written);
    reader->Await(written);
    reader->Copy(second.data(), first.data(), kCount);
    reader->Copy(read.data(), second.data(), kCount);
    reader->Record(copied);
    writer->Await(copied);
    ASSERT_TRUE(reader->WaitFor(10));
    ASSERT_EQ(std::count(read.As<char>(), read.As<char>() + kCount, 1), kCount) << round;
  }
  writer->Wait();
  EXPECT_GT(writer->busy_seconds(), 0);
}

TEST_F(GpuTest, CapturedCopiesRunAnew) {
  const Buffer there(device(), sizeof(int));
  const Buffer from(device().staging(), sizeof(int)), to(device().staging(), sizeof(int));
  Stream& stream = device().stream();
  auto& capturing = dynamic_cast<CapturingStream&>(stream);
  capturing.BeginCapture();
  stream.Copy(there.data(), from.data(), sizeof(int));
  stream.Copy(to.data(), there.data(), sizeof(int));
  const auto step = capturing.EndCapture();
  EXPECT_EQ(step->nodes(), 2);
  for (int i = 1; i <= 3; ++i) {
    *from.As<int>() = i;
    step->Launch();
    stream.Wait();
    EXPECT_EQ(*to.As<int>(), i);
  }
}

TEST_F(GpuTest, AnAllocationBreaksACaptureAndNothingElse) {
  auto& capturing = dynamic_cast<CapturingStream&>(device().stream());
  capturing.BeginCapture();
  EXPECT_THROW(Buffer(device(), 64), Error);
  EXPECT_THROW(capturing.EndCapture(), Error);
  const Buffer buffer(device(), 64);
  EXPECT_EQ(ValuesOf(AllOf<char>(buffer)), std::vector<char>(64));
}

TEST_F(GpuTest, WorkOnTheHostRunsInOrder) {
  const Buffer there(device(), sizeof(int)), here(device().staging(), sizeof(int));
  int seen = 0;
  Stream& stream = device().stream();
  *here.As<int>() = 7;
  stream.Copy(there.data(), here.data(), sizeof(int));
  stream.Clear(there.data(), 1);
  stream.Copy(here.data(), there.data(), sizeof(int));
  LaunchOnHost(stream, [&] { seen = *here.As<int>(); });
  stream.Wait();
  EXPECT_EQ(seen, 0);
}

}  // namespace yoke::cuda_gpu_test
