// Names of new files: 64 bits from the system's generator.
#include "base/new_file.h"

#include <fmt/core.h>
#include <sys/random.h>

#include <cstdint>
#include <filesystem>

#include "base/check.h"

namespace yoke {
namespace {

constexpr std::string_view kEnd = ".new";
constexpr size_t kDigits = 16;

}  // namespace

std::string NameBeside(const std::string& path) {
  uint64_t bits = 0;
  Check(getrandom(&bits, sizeof bits, 0) == sizeof bits, "the system has no random numbers");
  return fmt::format("{}.{:0{}x}{}", path, bits, kDigits, kEnd);
}

std::string_view OriginOf(std::string_view name) {
  constexpr size_t kMark = 1 + kDigits + kEnd.size();
  if (name.size() <= kMark || !name.ends_with(kEnd)) return {};
  const std::string_view origin = name.substr(0, name.size() - kMark);
  const std::string_view digits = name.substr(origin.size() + 1, kDigits);
  const bool made =
      name[origin.size()] == '.' && digits.find_first_not_of("0123456789abcdef") == digits.npos;
  return made ? origin : std::string_view();
}

bool IsLink(const std::string& path) {
  std::error_code none;
  return std::filesystem::is_symlink(path, none);
}

}  // namespace yoke
