// A message of one value.
#pragma once

#include <cstring>
#include <span>

#include "comm/transport.h"

namespace yoke {

template <typename T>
std::span<const std::byte> Bytes(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

template <typename T>
T ValueOf(const Message& message) {
  T value;
  std::memcpy(&value, message.bytes.data(), sizeof value);
  return value;
}

}  // namespace yoke
