// Encoding of letters on a wire: a message's key follows its bytes, so that received bytes need not
// be moved.
#pragma once

#include <cstring>
#include <span>
#include <utility>

#include "comm/mailbox.h"
#include "comm/wire.h"

namespace yoke {

/// Follows a message's bytes (and the padding of a long message to whole blocks).
struct Trailer {
  uint64_t context = 0;
  int64_t bytes = 0;
  int64_t tag = 0;
};

inline Packet Pack(const Trailer& trailer, std::span<const std::byte> bytes) {
  auto length = static_cast<int64_t>(bytes.size() + sizeof trailer);
  if (length > kLongestInBytes) length = (length + kWireBlock - 1) / kWireBlock * kWireBlock;
  Packet packed;
  packed.reserve(length);
  packed.assign(bytes.begin(), bytes.end());
  packed.resize(length);
  std::memcpy(packed.data() + length - sizeof trailer, &trailer, sizeof trailer);
  return packed;
}

inline Letter Unpack(int from, Packet packed) {
  Trailer trailer;
  std::memcpy(&trailer, packed.data() + packed.size() - sizeof trailer, sizeof trailer);
  packed.resize(trailer.bytes);
  return {.key = {.context = trailer.context, .source = from, .tag = static_cast<int>(trailer.tag)},
          .bytes = std::move(packed)};
}

}  // namespace yoke
