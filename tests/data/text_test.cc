// Lines and numbers, however the pieces of a file fall.
#include "data/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace yoke::text_test {

std::vector<std::string> LinesOf(std::string_view text, size_t piece) {
  const auto source = MemorySource(text, "memory", piece);
  LineReader lines(*source);
  std::vector<std::string> result;
  for (std::string_view line; lines.Next(line);) result.emplace_back(line);
  return result;
}

TEST(LineReader, CutsLinesWhateverThePieces) {
  for (size_t piece = 1; piece < 12; ++piece) {
    EXPECT_THAT(LinesOf("ab\r\n\nc d\nlast", piece),
                ::testing::ElementsAre("ab", "", "c d", "last"));
    EXPECT_THAT(LinesOf("ab\n", piece), ::testing::ElementsAre("ab"));
  }
  EXPECT_TRUE(LinesOf("", 1).empty());
}

TEST(LineReader, BlankLinesMayOnlyEndAFile) {
  const auto good = MemorySource("a\n\n \r\n\n", "good");
  LineReader lines(*good);
  std::string_view line;
  EXPECT_TRUE(lines.NextFilled(line));
  EXPECT_FALSE(lines.NextFilled(line));
  const auto bad = MemorySource("a\n\nb\n", "bad");
  LineReader others(*bad);
  EXPECT_TRUE(others.NextFilled(line));
  EXPECT_THROW(others.NextFilled(line), UserError);
}

TEST(ParseNumber, TakesFiniteNumbersOnly) {
  double value = 0;
  for (const auto& [text, expected] : std::vector<std::pair<const char*, double>>{
           {"1", 1}, {"+1", 1}, {"-1.5e2", -150}, {".5", 0.5}, {"1e-999", 0}, {"-0", 0}}) {
    EXPECT_TRUE(ParseNumber(text, value)) << text;
    EXPECT_EQ(value, expected) << text;
  }
  for (const char* text :
       {"", "+", "-", "+-1", "nan", "inf", "-inf", "1e999", "-1e999", "1x", " 1", "0x10", "1,5"})
    EXPECT_FALSE(ParseNumber(text, value)) << text;
}

// By way of a double these would end one bit off.
TEST(ScanFloat, RoundsOnce) {
  for (const float expected : {7.038531e-26F, 1.1754942e-38F, 1e-45F, 3.4028235e38F, -0.1F}) {
    const std::string text = fmt::format("{}", expected);
    const char* begin = text.data();
    float value = 0;
    EXPECT_TRUE(ScanFloat(begin, begin + text.size(), value)) << text;
    EXPECT_EQ(value, expected) << text;
  }
}

TEST(ScanFloat, RefusesWhatAFloatCannotHold) {
  float value = 0;
  for (const auto& [text, good] : std::vector<std::pair<std::string, bool>>{
           {"3e38", true}, {"4e38", false}, {"1e-60", true}, {"nan", false}}) {
    const char* begin = text.data();
    EXPECT_EQ(ScanFloat(begin, begin + text.size(), value), good) << text;
  }
}

TEST(ScanIndex, TakesWholeNumbersUpToAMaximum) {
  for (const auto& [text, good] :
       std::vector<std::pair<std::string, bool>>{{"0", true},
                                                 {"100", true},
                                                 {"101", false},
                                                 {"-1", false},
                                                 {"+1", false},
                                                 {"", false},
                                                 {"99999999999999999999", false}}) {
    const char* begin = text.data();
    int64_t value = 0;
    EXPECT_EQ(ScanIndex(begin, begin + text.size(), 100, value), good) << text;
  }
}

TEST(Quoted, ShowsOneShortPrintableLine) {
  EXPECT_EQ(Quoted("a b"), "'a b'");
  EXPECT_EQ(Quoted("\n\xff"), "'\\x0a\\xff'");
  EXPECT_EQ(Quoted(std::string(50, 'x')), "'" + std::string(40, 'x') + "...'");
}

TEST(Trimmed, TakesBlanksAway) {
  EXPECT_EQ(Trimmed(" \ta b "), "a b");
  EXPECT_EQ(Trimmed("  "), "");
}

}  // namespace yoke::text_test
