// Plain numbers are what std::from_chars makes of them, to the bit, or are left to it.
#include "data/scan_number.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <charconv>
#include <cmath>
#include <string>

#include "base/random.h"

namespace yoke::scan_number_test {

// Whether the number was scanned.
template <typename T>
bool ExpectExact(const std::string& text) {
  const std::string line = text + ",12345678";
  const char *begin = line.data(), *const end = begin + text.size();
  T scanned = 0, exact = 0;
  if (!ScanPlain(begin, end, scanned)) {
    EXPECT_EQ(begin, line.data()) << text;
    return false;
  }
  const auto [stop, error] = std::from_chars(line.data(), end, exact);
  EXPECT_TRUE(error == std::errc() && stop == begin) << text;
  EXPECT_EQ(std::memcmp(&scanned, &exact, sizeof(T)), 0)
      << fmt::format("{}: {} for {}", text, scanned, exact);
  return true;
}

TEST(ScanNumber, TakesPlainNumbers) {
  for (const char* text : {"0", "-0", "7", "-12.5", "5.", ".5", "-.5", "00012", "12345678",
                           "123456789", "0.12345678", "1234567.12345678", "-1617.4569"}) {
    EXPECT_TRUE(ExpectExact<float>(text)) << text;
    EXPECT_TRUE(ExpectExact<double>(text)) << text;
  }
  EXPECT_TRUE(ExpectExact<float>("0.496714153011232711"));
}

TEST(ScanNumber, LeavesOtherTexts) {
  for (const char* text : {"", "-", ".", "+1", "x", "nan", "1e5", "2.5E-3", "12345678901234567890"})
    EXPECT_FALSE(ExpectExact<float>(text)) << text;
  EXPECT_FALSE(ExpectExact<float>("16777217"));  // in the middle of two floats
  EXPECT_FALSE(ExpectExact<double>("90071992547409931"));
}

TEST(ScanNumber, AgreesWithTheLibrary) {
  Random random({1, 2});
  int64_t scanned = 0;
  constexpr int64_t kTexts = 50000;
  for (int64_t i = 0; i < kTexts; ++i) {
    const double number =
        std::ldexp(random.Uniform() - 0.5, static_cast<int>(random.Below(40)) - 10);
    const std::string text = fmt::format("{:.{}f}", number, random.Below(13));
    scanned += ExpectExact<float>(text);
    ExpectExact<double>(text);
    // Close to the middle of two floats.
    const auto middle = double{static_cast<float>(number)} * (1 + std::ldexp(1.0, -24));
    ExpectExact<float>(fmt::format("{:.{}f}", middle, random.Below(18)));
  }
  EXPECT_GT(scanned, kTexts / 10 * 9);
}

}  // namespace yoke::scan_number_test
