// EventFile: a file of scalars that TensorBoard opens, written without TensorFlow.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace yoke {

/// Named values of one step.
struct ScalarEvent {
  double wall_time = 0;  ///< Seconds since 1970.
  int64_t step = 0;
  /// {"loss/train", 0.25}; written as simple_value.
  std::vector<std::pair<std::string, double>> scalars;
};

/// TFRecords (length, payload, and a masked CRC-32C of each), each an Event message of TensorFlow's
/// event.proto.
class EventFile {
 public:
  /// Creates `folder`/events.out.tfevents.<wall_time>.<host>. Throws Error if it cannot.
  EventFile(const std::string& folder, double wall_time);
  /// Appends one event and flushes. Throws Error if it cannot be written.
  void Add(const ScalarEvent& event);
  const std::string& path() const { return path_; }

 private:
  void Append(std::string_view event);

  std::string path_;
  std::ofstream out_;
};

/// CRC-32C (Castagnoli) of bytes.
uint32_t Crc32c(std::string_view bytes);

/// The bytes of one TFRecord.
std::string TfRecord(std::string_view payload);

}  // namespace yoke
