// Gather: the values of all ranks. Copied as bytes, so of types that can be.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "base/check.h"
#include "comm/communicator.h"

namespace yoke {

/// One value of each rank, by rank; all ranks call it.
template <typename T>
std::vector<T> GatherOne(const Communicator& world, const T& mine) {
  std::vector<T> all;
  for (const auto& bytes : world.AllGather(std::as_bytes(std::span(&mine, 1)))) {
    Check(bytes.size() == sizeof mine, "the ranks run different programs");
    std::memcpy(&all.emplace_back(), bytes.data(), sizeof mine);
  }
  return all;
}

/// The values of each rank, by rank; lengths may differ. All ranks call it.
template <typename T>
std::vector<std::vector<T>> GatherValues(const Communicator& world, const std::vector<T>& mine) {
  std::vector<std::vector<T>> all;
  for (const auto& bytes : world.AllGather(std::as_bytes(std::span(mine)))) {
    all.emplace_back(bytes.size() / sizeof(T));
    std::ranges::copy(bytes, std::as_writable_bytes(std::span(all.back())).begin());
  }
  return all;
}

/// Whether any rank has a true `mine`; all ranks call it.
inline bool AnyHas(const Communicator& world, bool mine) {
  return std::ranges::any_of(GatherOne(world, char{mine}), [](char one) { return one != 0; });
}

}  // namespace yoke
