// CurrentStream: another one beside training, on one thread and one device.
#include "tensor/array.h"

#include <gtest/gtest.h>

#include <thread>

#include "tensor/emulated.h"

namespace yoke::current_stream_test {

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

}  // namespace yoke::current_stream_test
