// UTF-8: well-formed texts, and messages on one line.
#include "base/utf8.h"

#include <gtest/gtest.h>

namespace yoke::utf8_test {

TEST(Utf8, KnowsWellFormedTexts) {
  for (const char* text : {"", "plain", "caf\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "\n"})
    EXPECT_TRUE(IsUtf8(text)) << text;
  for (const char* text : {"caf\xE9", "\xC3", "\x80", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80",
                           "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xE2\x82"})
    EXPECT_FALSE(IsUtf8(text)) << OneLine(text);
}

TEST(Utf8, NamesOtherEncodings) {
  for (const std::string& text : {std::string("\xFF\xFEx\0", 4), std::string("\xFE\xFF\0x", 4),
                                  std::string("x\0", 2), std::string("\0x", 2)})
    EXPECT_EQ(WideEncoding(text), "UTF-16") << OneLine(text);
  EXPECT_EQ(WideEncoding(std::string("\xFF\xFE\0\0x\0\0\0", 8)), "UTF-32");
  for (const std::string& text : {std::string("\0\0", 2), std::string("x"), std::string(),
                                  std::string("\xEF\xBB\xBFx"), std::string("\xFFx")})
    EXPECT_EQ(WideEncoding(text), "") << OneLine(text);
}

TEST(Utf8, WritesMessagesOnOneLine) {
  EXPECT_EQ(OneLine("a\nb\tc"), "a\\x0Ab\\x09c");
  EXPECT_EQ(OneLine("caf\xE9!"), "caf\\xE9!");
  EXPECT_EQ(OneLine("caf\xC3\xA9"), "caf\xC3\xA9");
  EXPECT_EQ(OneLine("\x1B[1m \xC2\x9B"), "\\x1B[1m \\xC2\\x9B");
}

TEST(Utf8, ShortensLongNamesInMessages) {
  const std::string path = "a/" + std::string(300, 'p');
  EXPECT_EQ(OneLine("cannot read " + path + ": no such file"),
            "cannot read " + path + ": no such file");
  const std::string line = OneLine("unknown key '" + std::string(1 << 20, 'k') + "' (known: a)");
  EXPECT_LT(line.size(), 450);
  EXPECT_TRUE(line.starts_with("unknown key 'kkk") && line.ends_with("kkk' (known: a)")) << line;
  std::string blanks(1 << 20, ' ');
  EXPECT_EQ(OneLine(blanks).size(), 4000);
}

TEST(Utf8, KnowsPlainNames) {
  for (const char* name : {"", "a b", "caf\xC3\xA9", "\xC2\xA0"})
    EXPECT_TRUE(IsPlain(name)) << name;
  for (const char* name : {"a\nb", "\x7F", "caf\xE9", "\xC2\x80"})
    EXPECT_FALSE(IsPlain(name)) << OneLine(name);
}

TEST(Utf8, ShortensTheMiddle) {
  EXPECT_EQ(Shortened("as_it_is", 8), "as_it_is");
  EXPECT_EQ(Shortened("stage1_branch2_conv", 10), "stag..conv");
  EXPECT_EQ(Shortened("stage1_branch2_conv", 11), "stag.._conv");
  EXPECT_EQ(Shortened("äääää", 8), "ä..ä") << "whole letters";
}

}  // namespace yoke::utf8_test
