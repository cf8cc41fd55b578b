// UTF-8: well-formed texts, and messages on one line.
#include "base/utf8.h"

#include <gtest/gtest.h>

namespace yoke {
namespace {

TEST(Utf8, KnowsWellFormedTexts) {
  for (const char* text : {"", "plain", "caf\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "\n"})
    EXPECT_TRUE(IsUtf8(text)) << text;
  for (const char* text : {"caf\xE9", "\xC3", "\x80", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80",
                           "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xE2\x82"})
    EXPECT_FALSE(IsUtf8(text)) << OneLine(text);
}

TEST(Utf8, WritesMessagesOnOneLine) {
  EXPECT_EQ(OneLine("a\nb\tc"), "a\\x0Ab\\x09c");
  EXPECT_EQ(OneLine("caf\xE9!"), "caf\\xE9!");
  EXPECT_EQ(OneLine("caf\xC3\xA9"), "caf\xC3\xA9");
}

}  // namespace
}  // namespace yoke
