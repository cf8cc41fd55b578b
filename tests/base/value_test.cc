// Values: TOML in, TOML out, places, and messages about text that is not TOML.
#include "base/value.h"

#include <gmock/gmock.h>

#include "base/check.h"

namespace yoke::value_test {

using testing::HasSubstr;

std::string MessageOf(const std::function<void()>& action) {
  try {
    action();
  } catch (const UserError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(Value, ReadsEveryKindAndKeepsOrderAndPlace) {
  const Value v = ParseToml("z = 1\na = 2.5\n[t]\ns = \"x\"\nl = [1, 2]\nb = true\n", "job.toml");
  EXPECT_EQ((*v.AsTable())[0].first, "z");
  EXPECT_EQ(*v.Find("a")->AsFloat(), 2.5);
  EXPECT_EQ(*v.Find("t")->Find("s")->AsString(), "x");
  EXPECT_EQ(v.Find("t")->Find("l")->AsList()->size(), 2U);
  EXPECT_EQ(v.Find("t")->Find("b")->place(), "job.toml:6");
}

TEST(Value, FormatReadsBackAsTheSameValue) {
  const std::string text =
      "top = -3\n[a]\nx = 0.1\ny = 1e-9\nwhole = 2.0\n\"odd key\" = \"q\\\"\\\\\\n\"\n"
      "inline = { k = [1.5, 2.5], e = [] }\n[a.b]\nz = false\n"
      "[[m.layer]]\ntype = \"linear\"\n[[m.layer]]\ntype = \"relu\"\n";
  const Value v = ParseToml(text, "t");
  EXPECT_EQ(ParseToml(FormatToml(v), "again"), v) << FormatToml(v);
}

TEST(Value, SetReplacesAndEraseRemoves) {
  Value v;
  v.Set("a", 1);
  v.Set("a", 2);
  v.Set("b", "x");
  v.Erase("b");
  EXPECT_EQ(v, Value(Table{{"a", 2}}));
}

TEST(Value, TextThatIsNotTomlNamesFileAndLine) {
  EXPECT_THAT(MessageOf([] { ParseToml("a = 1\n[b\n", "job.toml"); }), HasSubstr("job.toml:2"));
  EXPECT_THAT(MessageOf([] { ReadToml("/nowhere/job.toml"); }), HasSubstr("/nowhere/job.toml"));
  EXPECT_THAT(MessageOf([] { ReadToml("/tmp"); }), HasSubstr("/tmp"));
  EXPECT_THAT(MessageOf([] { ReadToml("/dev/zero"); }),
              HasSubstr("/dev/zero: the text is longer than 64 MB; expected a TOML file"));
}

TEST(Value, AKeyOfVeryManyPartsNamesFileAndLine) {
  std::string key = "a";
  for (int i = 0; i < 20000; ++i) key += ".a";
  for (const std::string& text : {key + " = 1", "[" + key + "]", "b = { " + key + " = 1 }"})
    EXPECT_EQ(MessageOf([&] { ParseToml("x = \"\"\"\n#\n\"\"\"\n" + text + "\n", "job.toml"); }),
              "job.toml:4: expected a key of at most 64 parts");
}

TEST(Value, DotsInTextDivideNoKey) {
  const std::string dots(100, '.');
  const Value v = ParseToml("a = \"" + dots + "\\\"" + dots + "\"  # " + dots + "\nb = '" + dots +
                                "'\nc = '''" + dots + "'" + dots + "\n'''\n[\"" + dots + "\".d]\n",
                            "job.toml");
  EXPECT_EQ(*v.Find("b")->AsString(), dots);
  EXPECT_EQ(v.AsTable()->size(), 4U);
}

}  // namespace yoke::value_test
