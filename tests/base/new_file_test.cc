// New files' names: no two alike, and recognised.
#include "base/new_file.h"

#include <gtest/gtest.h>

namespace yoke::new_file_test {

TEST(NewFile, HasANameThatNobodyCanGuess) {
  const std::string one = NameBeside("run/job.toml"), other = NameBeside("run/job.toml");
  EXPECT_NE(one, other);
  EXPECT_EQ(OriginOf(one), "run/job.toml");
}

TEST(NewFile, IsRecognised) {
  EXPECT_EQ(OriginOf("job.toml.0123456789abcdef.new"), "job.toml");
  for (const char* name : {"job.toml", "job.toml.new", "job.toml.0123456789abcdeg.new",
                           ".0123456789abcdef.new", "job.toml-0123456789abcdef.new"})
    EXPECT_EQ(OriginOf(name), "") << name;
}

}  // namespace yoke::new_file_test
