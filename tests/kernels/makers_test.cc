// Makers: which kernel of an operation's list a target gets.
#include "kernels/makers.h"

#include <gmock/gmock.h>

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
Made OfGpu(const Shape& /*shape*/, const Target& target) {
  return target.device->name() == "gpu" ? std::make_unique<Named>("of the gpu") : nullptr;
}
Made Fast(const Shape& shape) { return shape.fits ? std::make_unique<Named>("fast") : nullptr; }
Made Reference(const Shape& /*shape*/) { return std::make_unique<Named>("reference"); }

std::string NameOn(Device& device, const Shape& shape, bool reference = false) {
  const auto stream = device.NewStream();
  const Target target = {.device = &device, .stream = stream.get(), .reference = reference};
  return MakeFirst<Call, Shape>({OfGpu, Fast, Reference}, shape, target)->name();
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
  OwnDevice gpu("gpu"), other("other");
  EXPECT_EQ(NameOn(gpu, {}), "of the gpu");
  EXPECT_THAT([&] { NameOn(other, {}); },
              testing::ThrowsMessage<Error>("reference runs on the CPU only, not on other"));
}

}  // namespace yoke::makers_test
