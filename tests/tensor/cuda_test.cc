// cuda: devices by a mock driver: memory, order, captures, and what is said of GPUs that are not
// there, full or lost.
#include "tensor/cuda/cuda_device.h"

#include <gmock/gmock.h>

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/check.h"
#include "tensor/cuda/cuda_stream.h"
#include "tensor/device.h"
#include "tensor/devices.h"
#include "tensor/emulated.h"
#include "tensor/support/arrays.h"
#include "tensor/support/mock_cuda.h"

namespace yoke::cuda_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// The sentence of the error that `call` throws; "": none.
std::string SentenceOf(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

class CudaTest : public testing::Test {
 protected:
  std::unique_ptr<Device> NewDevice() const { return NewCudaDevice(0, mock_.driver()); }

  MockCuda mock_;
};

TEST_F(CudaTest, MemoryIsZeroAndGivenBack) {
  const auto device = NewDevice();
  EXPECT_EQ(device->name(), "cuda:0");
  {
    const Buffer buffer(*device, 4 * sizeof(int));
    EXPECT_THAT(ValuesOf(AllOf<int>(buffer)), ElementsAre(0, 0, 0, 0));
    EXPECT_EQ(mock_.allocated(), 4 * static_cast<int64_t>(sizeof(int)));
    EXPECT_THROW(AllOf<int>(buffer).Host(), Error);
  }
  EXPECT_EQ(mock_.allocated(), 0);
}

TEST_F(CudaTest, StagingMemoryIsPinnedOnce) {
  {
    const auto device = NewDevice();
    EXPECT_TRUE(device->staging().IsHost());
    for (int again = 0; again < 3; ++again) {
      const Buffer here(device->staging(), 100);
      EXPECT_EQ(here.As<char>()[99], 0);
      here.As<char>()[99] = 1;
      EXPECT_EQ(mock_.pinned(), 256);
    }
    EXPECT_EQ(mock_.calls()["allocate_pinned"], 1);
  }
  EXPECT_EQ(mock_.pinned(), 0);
}

TEST_F(CudaTest, FullMemoryIsOneSentence) {
  const MockCuda small({.memory = 1000000});
  const auto device = NewCudaDevice(0, small.driver());
  const Buffer most(*device, 400000);
  EXPECT_EQ(SentenceOf([&] { const Buffer more(*device, 700000); }),
            "cuda:0 has no memory for 0.0007 GB more: 0.0006 GB of 0.001 GB are free: take a "
            "smaller model, a smaller batch or fewer replicas there (`yoke info JOB` says what "
            "takes it)");
  EXPECT_THROW(Buffer(*device, 700000), UserError);
  const Buffer fits(*device, 600000);
  EXPECT_EQ(small.allocated(), 1000000);
}

TEST_F(CudaTest, WorkAndCopiesRunInOrder) {
  const auto device = NewDevice();
  const auto stream = device->NewStream();
  ASSERT_TRUE(RunsOnHost(*stream));
  EXPECT_NE(NativeStream(*stream), nullptr);
  const Buffer there(*device, sizeof(int));
  int read = 0;
  int* const value = there.As<int>();
  LaunchOnHost(*stream, [value] { *value = 5; });
  LaunchOnHost(*stream, [value] { *value *= 3; });
  stream->Copy(&read, value, sizeof read);
  stream->Wait();
  EXPECT_EQ(read, 15);
  EXPECT_GT(stream->busy_seconds(), 0);
  EXPECT_THROW(NativeStream(CpuStream()), Error);
}

TEST_F(CudaTest, EventsAndThoseOfWaitsAreUsedAgain) {
  const auto device = NewDevice();
  const auto first = device->NewStream(), second = device->NewStream();
  std::shared_ptr<Event> event;
  const auto step = [&] {
    first->Clear(nullptr, 0);
    first->Record(event);
    second->Await(event);
    second->Wait();
    event->Wait();
    first->Wait();
  };
  step();
  const int64_t made = mock_.calls()["create_event"];
  for (int i = 0; i < 10; ++i) step();
  EXPECT_EQ(mock_.calls()["create_event"], made);
}

TEST_F(CudaTest, AStreamAwaitsAnotherKindOfDevice) {
  const auto device = NewDevice();
  const auto emulated = NewEmulatedDevice(0, {});
  const auto theirs = emulated->NewStream(), ours = device->NewStream();
  std::atomic<bool> goes_on = false, done = false;
  theirs->work_queue()->Enqueue([&goes_on] { goes_on.wait(false); });
  std::shared_ptr<Event> event;
  theirs->Record(event);
  ours->Await(event);
  LaunchOnHost(*ours, [&done] { done = true; });
  EXPECT_FALSE(ours->WaitFor(0.01));
  EXPECT_FALSE(done);
  goes_on = true;
  goes_on.notify_all();
  EXPECT_TRUE(ours->WaitFor(60));
  EXPECT_TRUE(done);
}

TEST_F(CudaTest, WaitsThrowWhatWorkThrew) {
  const auto device = NewDevice();
  const auto stream = device->NewStream();
  LaunchOnHost(*stream, [] { throw std::runtime_error("work failed"); });
  EXPECT_THROW(stream->Wait(), std::runtime_error);
  EXPECT_THROW(stream->WaitFor(1), std::runtime_error);
  EXPECT_THROW(device->stream().Wait(), std::runtime_error);
}

TEST_F(CudaTest, ALostGpuIsOneSentenceEverywhere) {
  const auto device = NewDevice();
  const auto stream = device->NewStream();
  std::shared_ptr<Event> event;
  stream->Record(event);
  {
    const Buffer there(*device, 8), here(device->staging(), 8);
    mock_.Lose(719);
    EXPECT_EQ(SentenceOf([&] { stream->Copy(there.data(), here.data(), 8); }),
              "cuda:0 failed: unspecified launch failure (error 719 of cudaSetDevice)");
    for (const auto& call : std::vector<std::function<void()>>{
             [&] { stream->Wait(); }, [&] { stream->WaitFor(1); }, [&] { event->Wait(); },
             [&] { const Buffer more(*device, 8); }, [&] { device->NewStream(); }})
      EXPECT_THAT(SentenceOf(call), HasSubstr("cuda:0 failed: unspecified launch failure"));
  }  // memory and streams end without an exception
}

TEST_F(CudaTest, TheGpuIsLostWhileTheHostWaits) {
  std::atomic<bool> goes_on = false;
  const auto device = NewDevice();
  const auto stream = device->NewStream();
  LaunchOnHost(*stream, [&goes_on] { goes_on.wait(false); });
  std::jthread loses([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    mock_.Lose(719);
  });
  EXPECT_THAT(SentenceOf([&] { stream->Wait(); }), HasSubstr("unspecified launch failure"));
  goes_on = true;
  goes_on.notify_all();
}

class CudaCaptureTest : public CudaTest {
 protected:
  CapturingStream& Capturing() { return dynamic_cast<CapturingStream&>(stream()); }
  Stream& stream() { return device_->stream(); }

  std::unique_ptr<Device> device_ = NewDevice();
  const Buffer there_ = Buffer(*device_, sizeof(int));
  const Buffer here_ = Buffer(device_->staging(), sizeof(int));
};

TEST_F(CudaCaptureTest, LaunchesRunAllOfItAnew) {
  int* const value = there_.As<int>();
  Capturing().BeginCapture();
  stream().Copy(value, here_.data(), sizeof(int));
  LaunchOnHost(stream(), [value] { *value += 1; });
  stream().Copy(here_.data(), value, sizeof(int));
  const auto step = Capturing().EndCapture();
  EXPECT_EQ(step->nodes(), 3);
  stream().Wait();
  EXPECT_EQ(*here_.As<int>(), 0);  // nothing has run
  step->Launch();                  // the first since a wait tells when work began
  const auto before = mock_.calls();
  for (int i = 0; i < 4; ++i) step->Launch();
  const auto after = mock_.calls();
  stream().Wait();
  EXPECT_EQ(*here_.As<int>(), 5);
  for (const auto& [call, count] : after)
    if (call != "launch" && call != "set_device") {
      EXPECT_EQ(count, before.at(call)) << call;
    }
  EXPECT_THAT(mock_.broken(), IsEmpty());
}

TEST_F(CudaCaptureTest, OtherStreamsJoin) {
  const auto other = device_->NewStream();
  int* const value = there_.As<int>();
  std::shared_ptr<Event> forked, joined;
  Capturing().BeginCapture();
  LaunchOnHost(stream(), [value] { *value = 1; });
  stream().Record(forked);
  other->Await(forked);
  other->Copy(here_.data(), value, sizeof(int));
  other->Record(joined);
  stream().Await(joined);
  LaunchOnHost(stream(), [value] { *value = 2; });
  const auto step = Capturing().EndCapture();
  step->Launch();
  stream().Wait();
  EXPECT_EQ(*here_.As<int>(), 1);
}

/// Kernels and the host's work of a stream that joins are the graph's, too, and run at each launch.
TEST_F(CudaCaptureTest, WorkOfAStreamThatJoinsIsKept) {
  const auto other = device_->NewStream();
  int* const value = there_.As<int>();
  std::shared_ptr<Event> forked, joined;
  Capturing().BeginCapture();
  stream().Record(forked);
  EXPECT_FALSE(IsCaptured(*other));
  other->Await(forked);
  EXPECT_TRUE(IsCaptured(*other));
  EXPECT_THROW(other->Wait(), Error);
  LaunchOnHost(*other, [value] { ++*value; });
  other->Record(joined);
  stream().Await(joined);
  const auto step = Capturing().EndCapture();
  EXPECT_FALSE(IsCaptured(*other));
  for (int i = 0; i < 3; ++i) step->Launch();
  stream().Copy(here_.data(), value, sizeof(int));
  stream().Wait();
  EXPECT_EQ(*here_.As<int>(), 3);
  EXPECT_THAT(mock_.broken(), IsEmpty());
}

TEST_F(CudaCaptureTest, MayGoWhileItRuns) {
  int* const value = there_.As<int>();
  std::promise<void> gone;
  auto seven = std::make_shared<int>(7);
  const std::weak_ptr<int> kept = seven;
  Capturing().BeginCapture();
  LaunchOnHost(stream(), [future = gone.get_future().share()] { future.wait(); });
  LaunchOnHost(stream(), [value, seven = std::move(seven)] { *value = *seven; });
  auto step = Capturing().EndCapture();
  step->Launch();
  step.reset();
  gone.set_value();
  stream().Wait();
  EXPECT_EQ(*value, 7);
  EXPECT_TRUE(kept.expired());
}

TEST_F(CudaCaptureTest, ItsEventsEndWithIt) {
  std::shared_ptr<Event> inside;
  Capturing().BeginCapture();
  stream().Record(inside);
  const auto step = Capturing().EndCapture();
  EXPECT_THROW(device_->NewStream()->Await(inside), Error);
  EXPECT_THROW(inside->Wait(), Error);
  EXPECT_EQ(mock_.broken().size(), 2U);
}

TEST_F(CudaCaptureTest, OtherThreadsGoOn) {
  Capturing().BeginCapture();
  std::thread([this] {
    const Buffer more(*device_, 64);
    device_->NewStream()->Wait();
  }).join();
  stream().Clear(there_.data(), sizeof(int));
  EXPECT_EQ(Capturing().EndCapture()->nodes(), 1);
  EXPECT_THAT(mock_.broken(), IsEmpty());
}

TEST_F(CudaCaptureTest, ForbiddenCallsBreakIt) {
  int pageable = 0;
  std::shared_ptr<Event> before, unjoined;
  stream().Record(before);
  const auto other = device_->NewStream();
  const std::vector<std::function<void()>> forbidden = {
      [&] { const Buffer more(*device_, 64); },
      [&] { const Buffer more(device_->staging(), 4096); },
      [&] { device_->Free(there_.data(), sizeof(int)); },
      [&] { stream().Copy(&pageable, there_.data(), sizeof(int)); },
      [&] { stream().Await(before); },
      [&] { before->Wait(); },
      [&] { other->Wait(); }};
  for (size_t i = 0; i < forbidden.size(); ++i) {
    Capturing().BeginCapture();
    SentenceOf(forbidden[i]);
    EXPECT_EQ(SentenceOf([&] { Capturing().EndCapture(); }),
              "cuda:0 failed: operation failed due to a previous error during capture (error 901 "
              "of cudaStreamEndCapture)")
        << i;
    EXPECT_GT(mock_.broken().size(), i);
  }
  Capturing().BeginCapture();
  stream().Record(unjoined);
  other->Await(unjoined);
  EXPECT_THAT(SentenceOf([&] { Capturing().EndCapture(); }), HasSubstr("unjoined"));
}

TEST_F(CudaCaptureTest, AWaitIsRefusedAndLeavesItWhole) {
  Capturing().BeginCapture();
  const std::string refusal = "cuda:0: a step that is captured cannot wait";
  EXPECT_EQ(SentenceOf([&] { stream().Wait(); }), refusal);
  EXPECT_EQ(SentenceOf([&] { stream().WaitFor(1); }), refusal);
  EXPECT_EQ(Capturing().EndCapture()->nodes(), 0);
}

TEST_F(CudaCaptureTest, CanBeAbandoned) {
  Capturing().BeginCapture();
  EXPECT_THROW(Capturing().BeginCapture(), Error);
  LaunchOnHost(stream(), [] { throw std::runtime_error("never runs"); });
  Capturing().AbandonCapture();
  stream().Wait();
  EXPECT_THROW(Capturing().EndCapture(), Error);
}

TEST_F(CudaCaptureTest, FreedMemoryIsFoundWhenItIsLaunched) {
  std::unique_ptr<CapturedWork> step;
  {
    const Buffer gone(*device_, sizeof(int));
    Capturing().BeginCapture();
    stream().Clear(gone.data(), sizeof(int));
    step = Capturing().EndCapture();
  }
  step->Launch();
  EXPECT_THAT(SentenceOf([&] { stream().Wait(); }), HasSubstr("illegal memory access"));
  EXPECT_THAT(mock_.broken(), ElementsAre(HasSubstr("outside of memory in use")));
}

TEST(CudaDrivers, SayWhatIsNotThere) {
  EXPECT_EQ(WhyNoCudaDevice(nullptr), "not built with CUDA");
  EXPECT_THAT(UsableCudaDevices(nullptr), IsEmpty());
  {
    const MockCuda none({.no_driver = 35});
    EXPECT_THAT(UsableCudaDevices(&none.driver()), IsEmpty());
    EXPECT_EQ(SentenceOf([&] { NewCudaDevice(0, none.driver()); }),
              "there is no device cuda:0: built with CUDA, no driver here (CUDA driver version is "
              "insufficient for CUDA runtime version)");
    EXPECT_THAT(DescribeCudaDevices(&none.driver()), IsEmpty());
  }
  const MockCuda no_gpu({.devices = 0});
  EXPECT_EQ(WhyNoCudaDevice(&no_gpu.driver()), "built with CUDA, no GPU here");
  const MockCuda two({.devices = 2});
  EXPECT_EQ(WhyNoCudaDevice(&two.driver()), "");
  EXPECT_EQ(SentenceOf([&] { NewCudaDevice(2, two.driver()); }),
            "there is no device cuda:2: this machine has 2 GPUs, cuda:0 to cuda:1");
}

TEST(CudaDrivers, LeaveOutWhatTheyCannotUse) {
  {
    const MockCuda old({.capability = 61});
    EXPECT_THAT(UsableCudaDevices(&old.driver()), IsEmpty());
    EXPECT_EQ(SentenceOf([&] { NewCudaDevice(0, old.driver()); }),
              "there is no device cuda:0: it is a Mock GPU of compute capability 6.1, and this "
              "yoke is built for 8.0");
    EXPECT_EQ(DescribeCudaDevices(&old.driver()).size(), 1U);
  }
  {
    const MockCuda mixed({.devices = 3, .capability = 90, .old = 1});
    EXPECT_THAT(UsableCudaDevices(&mixed.driver()), ElementsAre(0, 2));
    EXPECT_EQ(NewCudaDevice(2, mixed.driver())->name(), "cuda:2");
  }
  const MockCuda bare({.missing = "libcublasLt.so.13"});
  EXPECT_THAT(UsableCudaDevices(&bare.driver()), IsEmpty());
  EXPECT_EQ(SentenceOf([&] { NewCudaDevice(0, bare.driver()); }),
            "there is no device cuda:0: it needs libcublasLt.so.13, which is not installed here");
}

TEST(CudaDrivers, DescribeTheirGpus) {
  const MockCuda mock({.devices = 2, .memory = 1000});
  const auto device = NewCudaDevice(1, mock.driver());
  EXPECT_EQ(device->name(), "cuda:1");
  const Buffer buffer(*device, 400);
  const std::vector<CudaDescription> found = DescribeCudaDevices(&mock.driver());
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[1].device, "cuda:1");
  EXPECT_STREQ(found[1].properties.name, "Mock GPU");
  EXPECT_EQ(found[1].free, 600);
  EXPECT_EQ(found[1].total, 1000);
}

/// What this program's own runtime says, whether the machine has a GPU or not.
TEST(CudaDrivers, TheLinkedOneIsAsked) {
  const std::string why = WhyNotCudaDevice(0, LinkedCudaDriver());
  const std::string refusal = SentenceOf([] { const Devices devices({"cuda:0"}, "job.toml"); });
  if (why.empty())
    EXPECT_EQ(refusal, "");
  else
    EXPECT_EQ(refusal, "there is no device cuda:0: " + why);
  EXPECT_EQ(Devices({"all"}, "").all().size(), 1U + UsableCudaDevices(LinkedCudaDriver()).size());
}

}  // namespace yoke::cuda_test
