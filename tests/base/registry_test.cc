// Registry: parts of a program's own behind ours.
#include "base/registry.h"

#include <gtest/gtest.h>

namespace yoke::registry_test {
namespace {

struct Part {
  std::string name;
  int value = 0;
};

TEST(OwnEntries, AppendsAndReplacesOwnOnes) {
  OwnEntries<Part> parts("part", {{"a", 1}, {"b", 2}});
  const Part* first = &parts.all().front();
  for (int i = 0; i < 256; ++i) parts.Add({"own" + std::to_string(i), i});
  EXPECT_EQ(&parts.all().front(), first);
  EXPECT_EQ(parts.all().size(), 258);
  parts.Add({"own7", 70});
  EXPECT_EQ(parts.all().size(), 258);
  EXPECT_EQ(parts.all()[9].value, 70);
  EXPECT_THROW(parts.Add({"one_more", 0}), UserError);
  EXPECT_THROW(parts.Add({"a", 3}), UserError);
  EXPECT_THROW(parts.Add({"", 3}), UserError);
  EXPECT_EQ(parts.all()[0].value, 1);
}

}  // namespace
}  // namespace yoke::registry_test
