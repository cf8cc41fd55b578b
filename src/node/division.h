// Division: how many examples of a batch each device takes, by measured speed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace yoke {

/// Of batches of one size, since a device's speed depends on the size of its part. Examples are
/// divided in proportion to examples per second, so that all devices are ready at the same time.
class Division {
 public:
  /// Nothing is known of the speeds.
  explicit Division(size_t devices) : speeds_(devices) {}
  /// Fixed fractions of each batch.
  explicit Division(const std::vector<double>& fractions);

  /// The parts of a batch. Devices whose speed is not known count like the slowest known one. Each
  /// that works gets an example where there are enough. The division stays while it takes hardly
  /// longer than the best one: other sizes need other plans.
  const std::vector<int64_t>& Divide(int64_t examples, const std::vector<bool>& works);
  /// The device took so many seconds for its part.
  void Measure(size_t device, double seconds);

 private:
  struct Speed {
    double value = 0;  // examples per second; 0: not known
    int measured = 0;  // times, of parts of about this size
    int64_t size = 0;  // of the part measured last
  };

  bool Balanced(const std::vector<double>& speeds, int64_t examples) const;

  std::vector<Speed> speeds_;
  std::vector<int64_t> sizes_;
  bool stated_ = false;
};

}  // namespace yoke
