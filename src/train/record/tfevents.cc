// Writes TensorBoard's event file: the fields of event.proto and summary.proto that scalars need.
#include "train/record/tfevents.h"

#include <array>
#include <bit>
#include <cerrno>
#include <cstring>

#include "base/check.h"
#include "train/record/machine.h"

namespace yoke {
namespace {

constexpr std::array<uint32_t, 256> MakeCrcTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? 0x82F63B78U : 0U);
    table[i] = crc;
  }
  return table;
}

/// A number of fixed width in little-endian bytes.
template <typename T>
std::string Fixed(T number) {
  static_assert(std::endian::native == std::endian::little);
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &number, sizeof(T));
  return bytes;
}

std::string Varint(uint64_t number) {
  std::string bytes;
  for (; number >= 0x80; number >>= 7) bytes.push_back(static_cast<char>(number | 0x80));
  bytes.push_back(static_cast<char>(number));
  return bytes;
}

/// A field's key: its number and its wire type (0 varint, 1 eight bytes, 2 length and bytes, 5 four
/// bytes).
std::string Key(int field, int encoding) {
  return Varint(static_cast<uint64_t>(field) << 3 | static_cast<uint64_t>(encoding));
}

std::string Text(int field, std::string_view bytes) {
  return Key(field, 2) + Varint(bytes.size()) + std::string(bytes);
}

std::string Double(int field, double number) { return Key(field, 1) + Fixed(number); }

std::string Float(int field, float number) { return Key(field, 5) + Fixed(number); }

/// Summary.Value: tag = 1, simple_value = 2.
std::string SummaryValue(const std::string& tag, double value) {
  return Text(1, tag) + Float(2, static_cast<float>(value));
}

/// Event: wall_time = 1, step = 2, summary = 5 (its values = 1).
std::string EncodeEvent(const ScalarEvent& event) {
  std::string summary;
  for (const auto& [tag, value] : event.scalars) summary += Text(1, SummaryValue(tag, value));
  return Double(1, event.wall_time) + Key(2, 0) + Varint(static_cast<uint64_t>(event.step)) +
         Text(5, summary);
}

uint32_t MaskedCrc(std::string_view bytes) { return std::rotr(Crc32c(bytes), 15) + 0xA282EAD8U; }

}  // namespace

uint32_t Crc32c(std::string_view bytes) {
  static constexpr std::array<uint32_t, 256> kTable = MakeCrcTable();
  uint32_t crc = 0xFFFFFFFFU;
  for (unsigned char byte : bytes) crc = (crc >> 8) ^ kTable[(crc ^ byte) & 0xFF];
  return ~crc;
}

std::string TfRecord(std::string_view payload) {
  const std::string length = Fixed(static_cast<uint64_t>(payload.size()));
  return length + Fixed(MaskedCrc(length)) + std::string(payload) + Fixed(MaskedCrc(payload));
}

EventFile::EventFile(const std::string& folder, double wall_time)
    : path_(fmt::format("{}/events.out.tfevents.{:.0f}.{}", folder, wall_time, HostName())),
      out_(path_, std::ios::binary | std::ios::trunc) {
  Append(Double(1, wall_time) + Text(3, "brain.Event:2"));  // file_version = 3
}

void EventFile::Add(const ScalarEvent& event) { Append(EncodeEvent(event)); }

void EventFile::Append(std::string_view event) {
  errno = 0;
  out_ << TfRecord(event) << std::flush;
  if (!out_) throw Error(fmt::format("cannot write {}: {}", path_, ReasonOf(errno)));
}

}  // namespace yoke
