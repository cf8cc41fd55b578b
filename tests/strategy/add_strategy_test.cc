// Strategies of a program's own.
#include "strategy/add_strategy.h"

#include <gtest/gtest.h>

#include "base/registry.h"

namespace yoke::add_strategy_test {
namespace {

StrategyEntry Named(const std::string& name, const std::string& summary) {
  StrategyEntry entry = FindEntry(strategies(), "strategy", "none");
  entry.name = name;
  entry.summary = summary;
  return entry;
}

TEST(AddStrategy, StandsBehindOurs) {
  const size_t before = strategies().size();
  const StrategyEntry* first = &strategies().front();
  AddStrategy(Named("of_a_test", "one"));
  EXPECT_EQ(strategies().size(), before + 1);
  EXPECT_EQ(&strategies().front(), first) << "entries must keep their places";
  EXPECT_EQ(FindEntry(strategies(), "strategy", "of_a_test").summary, "one");
  AddStrategy(Named("of_a_test", "two"));
  EXPECT_EQ(strategies().size(), before + 1);
  EXPECT_EQ(FindEntry(strategies(), "strategy", "of_a_test").summary, "two");
}

TEST(AddStrategy, RefusesOurNames) {
  EXPECT_THROW(AddStrategy(Named("allreduce", "")), UserError);
  EXPECT_THROW(AddStrategy(Named("", "")), UserError);
}

}  // namespace
}  // namespace yoke::add_strategy_test
