// JSON text: what is written and read back, and what is refused.
#include "base/json.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/check.h"

namespace yoke::json_test {

TEST(Json, KeepsTheOrderOfKeysAndTheKindsOfNumbers) {
  const Value tree = Table{{"z", 1},
                           {"a", 1.0},
                           {"list", List{true, "x", Value(), List{}}},
                           {"table", Table{{"tenth", 0.1}, {"large", 1e300}}}};
  const std::string text =
      R"({"z":1,"a":1.0,"list":[true,"x",null,[]],"table":{"tenth":0.1,"large":1e+300}})";
  EXPECT_EQ(FormatJson(tree), text);
  EXPECT_EQ(ParseJson(text), tree);
  EXPECT_EQ(FormatJson(Table{{"a", List{1}}}, 1), "{\n \"a\": [\n  1\n ]\n}");
}

TEST(Json, WritesWhatItCannotHoldAsNullOrReplaced) {
  EXPECT_EQ(FormatJson(List{NAN, INFINITY, "\xFF\n\""}), "[null,null,\"\xEF\xBF\xBD\\n\\\"\"]");
}

TEST(Json, IsEmptyForTextThatIsNotJson) {
  for (const char* text : {"", "{", "[1,]", "{\"a\":1} x", "nul", "\"\xFF\""})
    EXPECT_TRUE(ParseJson(text).IsNone()) << text;
  constexpr size_t kDeep = 1'000'000;  // an end to the stack of what goes through it recursively
  EXPECT_TRUE(ParseJson(std::string(kDeep, '[') + std::string(kDeep, ']')).IsNone());
  EXPECT_FALSE(ParseJson(std::string(100, '[') + std::string(100, ']')).IsNone());
}

TEST(Json, AWholeNumberAboveTheRangeIsAFloat) {
  EXPECT_EQ(ParseJson("[9223372036854775807,18446744073709551615]"),
            Value(List{INT64_MAX, 18446744073709551615.0}));
}

TEST(Json, FieldsAreCheckedForTheirKind) {
  const Value table = ParseJson(R"({"n":1,"x":0.5,"names":["a","b"]})");
  EXPECT_EQ(IntAt(table, "n"), 1);
  EXPECT_EQ(NumberAt(table, "n"), 1);
  EXPECT_EQ(TextsAt(table, "names"), (std::vector<std::string>{"a", "b"}));
  const auto refusal = [](const auto& read) -> std::string {
    try {
      read();
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal([&] { IntAt(table, "x"); }), "x: expected a whole number, got 0.5");
  EXPECT_EQ(refusal([&] { TextAt(table, "y"); }), "it has no 'y'");
  EXPECT_EQ(refusal([&] { NumbersAt(table, "names"); }), "names: expected a number, got \"a\"");
}

}  // namespace yoke::json_test
