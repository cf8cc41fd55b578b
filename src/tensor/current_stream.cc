// CurrentStream: what a thread has been told.
#include "tensor/current_stream.h"

namespace yoke {
namespace {

thread_local Device* beside_device = nullptr;
thread_local Stream* beside_stream = nullptr;

}  // namespace

Stream& CurrentStream(Device& device) {
  return &device == beside_device ? *beside_stream : device.stream();
}

Beside::Beside(Device& device, Stream& stream) {
  beside_device = &device;
  beside_stream = &stream;
}

Beside::~Beside() { beside_device = nullptr; }

}  // namespace yoke
