// Options: what a declaration accepts, what it refuses, and with which sentence.
#include "base/options.h"

#include <gmock/gmock.h>

#include "base/check.h"
#include "base/registry.h"

namespace yoke::options_test {

using testing::AllOf;
using testing::HasSubstr;

const std::vector<OptionSpec>& Specs() {
  static const std::vector<OptionSpec> specs = {
      {.name = "batch", .type = OptionType::kInt, .fallback = 64, .help = "size", .minimum = 1},
      {.name = "rate",
       .type = OptionType::kFloat,
       .fallback = 0.5,
       .help = "rate",
       .minimum = 0,
       .exclusive_minimum = true},
      {.name = "rule", .fallback = "sgd", .help = "rule", .choices = {"sgd", "adam"}},
      {.name = "widths", .type = OptionType::kInts, .help = "widths", .minimum = 1},
      {.name = "files", .type = OptionType::kStrings, .help = "files"},
  };
  return specs;
}

std::string Refusal(const std::string& toml) {
  try {
    Options("train", ParseToml(toml, "job.toml"), Specs());
  } catch (const UserError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Options, DefaultsAndGivenValues) {
  const Options o("train", ParseToml("rate = 2\nwidths = [3, 4]\nfiles = \"a\"", "j"), Specs());
  EXPECT_EQ(o.Int("batch"), 64);
  EXPECT_EQ(o.Float("rate"), 2.0);
  EXPECT_EQ(o.Ints("widths"), (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(o.Strings("files"), std::vector<std::string>{"a"});
  EXPECT_FALSE(Options("train", Value(), Specs()).Has("widths"));
  EXPECT_EQ(*o.Resolved().Find("rule")->AsString(), "sgd");
}

TEST(Options, RefusalsNamePlaceKeyAndWhatWasExpected) {
  EXPECT_THAT(Refusal("\nbach = 3"),
              AllOf(HasSubstr("job.toml:2"), HasSubstr("bach"), HasSubstr("'batch'")));
  EXPECT_THAT(Refusal("batch = 0"), AllOf(HasSubstr("train.batch"), HasSubstr("at least 1")));
  EXPECT_THAT(Refusal("batch = \"many\""), HasSubstr("a whole number"));
  EXPECT_THAT(Refusal("rate = 0"), HasSubstr("above 0"));
  EXPECT_THAT(Refusal("rate = nan"), HasSubstr("finite"));
  EXPECT_THAT(Refusal("rule = \"adm\""), AllOf(HasSubstr("'adam'"), HasSubstr("sgd, adam")));
  EXPECT_THAT(Refusal("widths = [1, 0]"), HasSubstr("at least 1"));
  EXPECT_THAT(Refusal("widths = [1.5]"), HasSubstr("list of whole numbers"));
}

TEST(Options, ReadingWhatWasNeverDeclaredIsOurError) {
  EXPECT_THROW(Options("train", Value(), Specs()).Int("nothing"), Error);
}

TEST(Nearest, TakesABeginningOrAWordOrAFewLettersDistance) {
  const std::vector<std::string> known = {"accuracy", "learning_rate", "batch", "rule"};
  EXPECT_EQ(Nearest("acc", known), "accuracy");
  EXPECT_EQ(Nearest("rate", known), "learning_rate");
  EXPECT_EQ(Nearest("bach", known), "batch");
  EXPECT_EQ(Nearest("arning", known), "");
  EXPECT_EQ(Nearest("rul", std::vector<std::string>{"rule", "rules"}), "rule") << "the nearer one";
}

TEST(Nearest, KnowsOtherProgramsWordsAndCapitals) {
  const std::vector<std::string> rules = {"adam", "adamw", "sgd"};
  EXPECT_EQ(Nearest("adamW", rules), "adamw");
  const std::vector<std::string> keys = {"learning_rate", "loss_scale", "rule", "batch"};
  EXPECT_EQ(Nearest("lr", keys), "learning_rate");
  EXPECT_EQ(Nearest("optimizer", keys), "rule");
  EXPECT_EQ(Nearest("grad_clip", std::vector<std::string>{"batch", "clip_norm"}), "clip_norm");
  EXPECT_EQ(Nearest("fc", std::vector<std::string>{"flatten", "linear"}), "linear");
  EXPECT_EQ(Nearest("batch_size", keys), "batch");
}

TEST(Registry, UnknownNamesListTheKnownOnes) {
  struct Entry {
    std::string name;
  };
  const std::vector<Entry> entries = {{"linear"}, {"relu"}};
  EXPECT_EQ(FindEntry(entries, "layer", "relu").name, "relu");
  try {
    FindEntry(entries, "layer", "linaer");
    FAIL();
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(),
                 "unknown layer 'linaer'; did you mean 'linear'? (known: linear, relu)");
  }
}

}  // namespace yoke::options_test
