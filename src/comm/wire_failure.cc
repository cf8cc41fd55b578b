// Failures as messages: status, the blamed rank, and the sentence.
#include "comm/wire_failure.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <tuple>

namespace yoke {
namespace {

using FailureHeader = std::array<int32_t, 2>;

/// Adds the rank to a sentence, except for rank 0.
std::string Named(int rank, const std::string& sentence) {
  return rank == 0 || sentence.starts_with("rank ") ? sentence
                                                    : fmt::format("rank {}: {}", rank, sentence);
}

}  // namespace

Failure DescribeFailure(int rank, const std::exception_ptr& what) {
  try {
    std::rethrow_exception(what);
  } catch (const TimedOut& error) {
    return {rank, error.exit_status(), error.what(), error.source()};
  } catch (const Error& error) {
    return {rank, error.exit_status(), Named(rank, error.what())};
  } catch (const std::bad_alloc&) {
    return {rank, 1, fmt::format("rank {} is out of memory", rank)};
  } catch (const std::exception& error) {
    return {rank, 1, Named(rank, error.what())};
  }
}

std::vector<std::byte> PackFailure(const Failure& failure) {
  const FailureHeader header = {failure.status, failure.blames};
  std::vector<std::byte> bytes(sizeof header + failure.sentence.size());
  std::memcpy(bytes.data(), header.data(), sizeof header);
  std::memcpy(bytes.data() + sizeof header, failure.sentence.data(), failure.sentence.size());
  return bytes;
}

Failure UnpackFailure(int rank, std::span<const std::byte> bytes) {
  FailureHeader header;
  Check(bytes.size() >= sizeof header, "the ranks run different programs");
  std::memcpy(header.data(), bytes.data(), sizeof header);
  const auto text = bytes.subspan(sizeof header);
  return {rank, header[0], {reinterpret_cast<const char*>(text.data()), text.size()}, header[1]};
}

const Failure& FirstFailure(const std::vector<Failure>& failures, const std::vector<bool>& ended) {
  const auto place = [&ended](const Failure& failure) {
    const bool alone = failure.blames < 0, silent = !alone && !ended[failure.blames];
    return std::tuple(!silent, !alone, failure.rank);
  };
  return *std::min_element(failures.begin(), failures.end(),
                           [&](const auto& a, const auto& b) { return place(a) < place(b); });
}

}  // namespace yoke
