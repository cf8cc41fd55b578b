// Number format: numbers for people.
#include "train/number_format.h"

#include <fmt/core.h>

#include <array>
#include <cmath>

namespace yoke {
namespace {

/// Divides by 1000 until the number is below that, at most `most` times; returns how often.
size_t Scale(double& number, size_t most) {
  size_t times = 0;
  while (std::abs(number) >= 999.5 && times < most) number /= 1000, ++times;
  return times;
}

/// Three significant digits of a number below 1000.
std::string ThreeDigits(double number) {
  const double size = std::abs(number);
  return fmt::format("{:.{}f}", number, size < 9.995 ? 2 : size < 99.95 ? 1 : 0);
}

/// "75", "3.5", "< 0.1".
std::string TwoDigits(double number) {
  if (number > 0 && number < 0.05) return "< 0.1";
  return fmt::format("{:.{}f}", number, number < 9.95 ? 1 : 0);
}

constexpr std::array kByteUnits = {"B", "kB", "MB", "GB", "TB", "PB"};

}  // namespace

std::string Count(int64_t number) {
  std::string text = std::to_string(number);
  const int first = number < 0 ? 1 : 0;
  for (int at = static_cast<int>(text.size()) - 3; at > first; at -= 3) text.insert(at, ",");
  return text;
}

std::string Duration(double seconds) {
  if (!(seconds >= 0) || std::isinf(seconds)) return "?";
  if (seconds < 9.995) return fmt::format("{:.2f} s", seconds);
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string Bytes(double bytes) {
  const size_t unit = Scale(bytes, kByteUnits.size() - 1);
  return fmt::format("{} {}", unit == 0 ? fmt::format("{:.0f}", bytes) : ThreeDigits(bytes),
                     kByteUnits[unit]);
}

std::string BytesOfParts(double bytes, const std::vector<std::pair<std::string, double>>& parts) {
  const size_t unit = Scale(bytes, kByteUnits.size() - 1);
  const double size = std::pow(1000, unit);
  std::string list;
  for (const auto& [name, part] : parts)
    list += fmt::format("{}{} {}", list.empty() ? "" : ", ", name, TwoDigits(part / size));
  return fmt::format("{} {} ({})", TwoDigits(bytes), kByteUnits[unit], list);
}

std::string BinaryBytes(double bytes) {
  static constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  while (bytes >= 1023.5 && unit + 1 < kUnits.size()) bytes /= 1024, ++unit;
  const bool whole = bytes == std::floor(bytes);
  return fmt::format("{} {}", whole ? fmt::format("{:.0f}", bytes) : ThreeDigits(bytes),
                     kUnits[unit]);
}

std::string Short(double number) {
  static constexpr std::array kSuffixes = {"", "k", "M", "G", "T", "P"};
  if (!std::isfinite(number)) return fmt::format("{}", number);
  const bool whole = std::abs(number) < 999.5 && number == std::floor(number);
  if (whole) return fmt::format("{:.0f}", number);
  const size_t suffix = Scale(number, kSuffixes.size() - 1);
  return ThreeDigits(number) + kSuffixes[suffix];
}

std::string Metric(double value) {
  const double size = std::abs(value);
  const bool plain = value == 0 || (size >= 0.001 && size < 1e5);
  return plain ? fmt::format("{:.4f}", value) : fmt::format("{:.3g}", value);
}

}  // namespace yoke
