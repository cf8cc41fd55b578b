// What every entry of the list of formats keeps to.
#include <gtest/gtest.h>

#include <set>

#include "data/reader.h"

namespace yoke::formats_conformance_test {

TEST(Formats, DescribeThemselvesAndTheirKeys) {
  std::set<std::string> common;
  for (const OptionSpec& spec : common_data_options()) {
    EXPECT_TRUE(common.insert(spec.name).second) << spec.name;
    EXPECT_FALSE(spec.help.empty()) << spec.name;
  }
  std::set<std::string> names;
  for (const FormatEntry& format : formats()) {
    EXPECT_TRUE(names.insert(format.name).second) << format.name;
    EXPECT_FALSE(format.summary.empty()) << format.name;
    EXPECT_TRUE(format.load) << format.name;
    std::set<std::string> keys = common;
    for (const OptionSpec& spec : format.options) {
      EXPECT_TRUE(keys.insert(spec.name).second) << format.name << " " << spec.name;
      EXPECT_EQ(spec.help.empty() ? ' ' : spec.help.back(), '.') << format.name << " " << spec.name;
    }
  }
}

}  // namespace yoke::formats_conformance_test
