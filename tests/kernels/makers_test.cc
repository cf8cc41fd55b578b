// Makers: which kernel of an operation's list a target gets, and the list of all operations.
#include "kernels/makers.h"

#include <gmock/gmock.h>

#include <set>
#include <string>

#include "tensor/emulated.h"

namespace yoke::makers_test {

struct Shape {
  bool fits = true;  ///< The fast kernel takes it.
};
struct Call {
  float* values = nullptr;

  template <typename Reach>
  void Addresses(const Reach& reach) {
    reach(values);
  }
};

class Named : public Kernel<Call> {
 public:
  explicit Named(std::string name) : name_(std::move(name)) {}
  void Forward(const Call& /*call*/) override {}
  std::string name() const override { return name_; }

 private:
  std::string name_;
};

/// A device with kernels of its own.
class OwnDevice : public Device {
 public:
  explicit OwnDevice(std::string name) : name_(std::move(name)) {}
  const std::string& name() const override { return name_; }
  void* Allocate(int64_t bytes) override { return Cpu().Allocate(bytes); }
  void Free(void* memory, int64_t bytes) override { Cpu().Free(memory, bytes); }
  std::unique_ptr<Stream> NewStream() override { return Cpu().NewStream(); }

 private:
  std::string name_;
};

using Made = std::unique_ptr<Kernel<Call>>;
Made OfGpu(const Shape& /*shape*/, const Target& /*target*/) {
  return std::make_unique<Named>("of the gpu");
}
Made Fast(const Shape& shape) { return shape.fits ? std::make_unique<Named>("fast") : nullptr; }
Made Reference(const Shape& /*shape*/) { return std::make_unique<Named>("reference"); }

const KernelList<Call, Shape> kDouble(
    "double", {}, {{"of the gpu", "gpu", OfGpu}, {"fast", Fast}, {"reference", Reference}});

std::string NameOn(Device& device, const Shape& shape, bool reference = false) {
  const auto stream = device.NewStream();
  const Target target = {.device = &device, .stream = stream.get(), .reference = reference};
  return kDouble.Make(shape, target)->name();
}

TEST(Makers, TheFirstThatDoesNotDecline) {
  const auto emulated = NewEmulatedDevice(0, {});
  for (Device* device : {&Cpu(), emulated.get()}) {
    EXPECT_EQ(NameOn(*device, {}), "fast") << device->name();
    EXPECT_EQ(NameOn(*device, {.fits = false}), "reference") << device->name();
    EXPECT_EQ(NameOn(*device, {}, /*reference=*/true), "reference") << device->name();
  }
}

TEST(Makers, ADeviceBringsItsOwn) {
  OwnDevice gpu("gpu:1"), other("gpus");
  EXPECT_EQ(NameOn(gpu, {}), "of the gpu");
  EXPECT_THAT([&] { NameOn(other, {}); },
              testing::ThrowsMessage<Error>("double runs on the CPU only, not on gpus"));
}

TEST(Makers, NamesTheKernelsOfADevice) {
  const std::vector<std::string> of_cpu = {"fast", "reference"}, of_gpu = {"of the gpu"};
  OwnDevice gpu("gpu"), other("other");
  EXPECT_EQ(kDouble.KernelsOn(Cpu()), of_cpu);
  EXPECT_EQ(kDouble.KernelsOn(*NewEmulatedDevice(0, {})), of_cpu);
  EXPECT_EQ(kDouble.KernelsOn(gpu), of_gpu);
  EXPECT_THAT(kDouble.KernelsOn(other), testing::IsEmpty());
}

TEST(Makers, ADeviceSaysWhichLayoutItWants) {
  const KernelList<Call, Shape> list(
      "list", {},
      {{"small", "gpu", OfGpu},
       {"large", "gpu", OfGpu,
        [](const Shape& shape) { return shape.fits ? Layout::kChannelsLast : Layout::kPlain; }},
       {"reference", Reference}});
  OwnDevice gpu("gpu:1"), other("other");
  EXPECT_EQ(list.LayoutOn(gpu, {}), Layout::kChannelsLast);
  EXPECT_EQ(list.LayoutOn(gpu, {.fits = false}), Layout::kPlain);
  for (Device* device : {static_cast<Device*>(&other), &Cpu()})
    EXPECT_EQ(list.LayoutOn(*device, {}), std::nullopt) << device->name();
}

/// A functor without a gradient.
struct Doubles {
  using Call = makers_test::Call;
  Shape shape;
  void Forward(const Call& call) const { *call.values *= shape.fits ? 2 : 0; }
};

TEST(Makers, AFunctorRunsAtOnceOrOnTheDevicesQueue) {
  const KernelList<Call, Shape> doubles("doubles", {}, {{"loops", LoopsOf<Doubles>}});
  const auto emulated = NewEmulatedDevice(0, {});
  for (Device* device : {&Cpu(), emulated.get()}) {
    const auto stream = device->NewStream();
    const auto kernel = doubles.Make({}, {.device = device, .stream = stream.get()});
    const Buffer there(*device, sizeof(float));
    float value = 3;
    stream->Copy(there.data(), &value, sizeof value);
    kernel->Forward({there.As<float>()});
    stream->Copy(&value, there.data(), sizeof value);
    stream->Wait();
    EXPECT_EQ(value, 6) << device->name();
  }
  EXPECT_THROW(doubles.Make({}, {})->Backward({}), Error);
}

TEST(Makers, EveryOperationHasKernelsOfTheCpu) {
  std::set<std::string> names;
  for (const OperationEntry* entry : operations()) {
    EXPECT_TRUE(names.insert(entry->name()).second) << entry->name();
    EXPECT_FALSE(entry->KernelsOn(Cpu()).empty()) << entry->name();
  }
  EXPECT_TRUE(names.contains("dropout"));
}

}  // namespace yoke::makers_test
