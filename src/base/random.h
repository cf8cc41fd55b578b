// Random: reproducible draws from (seed, stream) keys, independent of the order of execution.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

namespace yoke {

/// A small generator (splitmix64 of a counter, with quality like xoshiro) whose state is a key and
/// a counter. A draw depends only on the words of the key and the number of draws before it.
class Random {
 public:
  /// `words`: the seed, then words that distinguish this stream from others (purpose, epoch,
  /// example, layer).
  Random(std::initializer_list<uint64_t> words);

  uint64_t Bits() { return Mix(key_ + 0x9E3779B97F4A7C15ULL * ++counter_); }
  /// Skips `draws` calls of Bits().
  void Skip(uint64_t draws) { counter_ += draws; }
  /// Uniform in [0, 1).
  double Uniform() { return static_cast<double>(Bits() >> 11) * 0x1.0p-53; }
  double Uniform(double low, double high) { return low + (high - low) * Uniform(); }
  /// Uniform in {0, ..., n - 1}; n > 0.
  uint64_t Below(uint64_t n);
  /// Standard normal (Box-Muller; one value per call, from two draws).
  double Normal();

  static uint64_t Mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
    return x ^ (x >> 31);
  }

 private:
  uint64_t key_ = 0;
  uint64_t counter_ = 0;
};

/// The purpose of a stream: the word after the seed.
enum class Draw : uint64_t {
  kShuffle = 1,
  kInitialize,
  kDropout,
  kAugment,
  kSplit,
  kSynthetic,
  kActive,
  kCluster,
  kFailure,
  kRounding
};

inline uint64_t Word(Draw purpose) { return static_cast<uint64_t>(purpose); }

/// A uniformly drawn permutation of 0..n-1 (Fisher-Yates).
std::vector<int64_t> Permutation(int64_t n, Random random);

}  // namespace yoke
