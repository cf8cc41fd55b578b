// Sizes: whatever whole number stands in a job, its model is described or refused in one sentence.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "base/check.h"
#include "model/graph.h"
#include "train/job/job.h"

namespace yoke::sizes_test {

constexpr int64_t kHuge[] = {INT32_MAX, int64_t{1} << 31, int64_t{1} << 32, int64_t{1} << 62,
                             INT64_MAX};

bool IsWhole(const OptionSpec& key) {
  return key.type == OptionType::kInt || key.type == OptionType::kInts;
}

/// The word behind a group's kind: "adam" of "rule adam".
std::string PartOf(const KeyGroup& group) { return group.part.substr(group.part.find(' ') + 1); }

/// A layer with the options that it must have, and below it what it needs.
List LayersWith(const KeyGroup& group, const std::string& key, const Value& value) {
  Table layer = {{"type", PartOf(group)}};
  for (const OptionSpec& option : group.options)
    if (option.required && option.name != key) layer.emplace_back(option.name, 2);
  layer.emplace_back(key, value);
  return {Table{{"type", "linear"}, {"outputs", 10}}, layer};
}

List BelowWith(const KeyGroup& group, const std::string& key, const Value& value) {
  List layers = LayersWith(group, key, value);
  std::swap(layers[0], layers[1]);
  return layers;
}

/// A job that says this of one key.
Value RootWith(const KeyGroup& group, const std::string& key, const Value& value) {
  Value root = Table{{"data", Table{{"format", "synthetic-digits"}}},
                     {"model", Table{{"name", "mlp"}, {"widths", List{16}}}}};
  const std::string kind = group.part.substr(0, group.part.find(' '));
  if (group.section == "model.layer") {
    root.Set("model", Table{{"layer", BelowWith(group, key, value)}});
    return root;
  }
  const size_t dot = group.section.find('.');
  const std::string section = group.section.substr(0, dot);
  if (!root.Find(section)) root.Set(section, Table{});
  Value* table = root.Find(section);
  if (kind == "model")
    *table = Table{{"name", PartOf(group)}};
  else if (dot == std::string::npos && !kind.empty())
    table->Set(kind, PartOf(group));
  if (dot != std::string::npos) {
    const std::string inner = group.section.substr(dot + 1);
    table->Set(inner, inner == "schedule" ? Table{{"name", PartOf(group)}} : Table{});
    table = table->Find(inner);
  }
  if (section == "cluster" && key != "replicas" && kind == "strategy") table->Set("replicas", 4);
  table->Set(key, value);
  return root;
}

/// Describes the job's model for such examples as `yoke info` does; "" or why it is refused.
std::string RefusalFor(const Job& job, const Edge& input) {
  try {
    const Graph graph = BuildModel(job.model(), {.input = input, .outputs = 10});
    const int64_t batch = job.train.Int("batch");
    graph.Price(batch);
    graph.Info();
    graph.Compile({.batch = batch, .training = true});
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

/// The same for images and, where those are refused, for sparse rows.
std::string Refusal(Value root) {
  try {
    const Job job = MakeJob(std::move(root), "job", "");
    const std::string said = RefusalFor(job, {.shape = {1, 28, 28}});
    return said.empty() || RefusalFor(job, {.shape = {784}, .sparse = true}).empty() ? "" : said;
  } catch (const UserError& error) {
    return error.what();
  }
}

TEST(Sizes, EveryWholeNumberHasALargestValue) {
  const std::set<std::string> any = {"seed"};
  for (const KeyGroup& group : AllKeys())
    for (const OptionSpec& key : group.options)
      if (IsWhole(key) && !any.contains(key.name)) {
        EXPECT_TRUE(std::isfinite(key.minimum) && key.maximum < INT32_MAX)
            << group.section << "." << key.name << " of " << group.part;
      }
}

TEST(Sizes, HugeNumbersAreRefusedWhereTheyStand) {
  int refused = 0;
  for (const KeyGroup& group : AllKeys())
    for (const OptionSpec& key : group.options) {
      if (!IsWhole(key) || key.name == "seed") continue;
      for (const int64_t size : kHuge) {
        const std::string said = Refusal(RootWith(group, key.name, size));
        EXPECT_NE(said.find(key.name), said.npos) << group.section << " " << group.part << said;
        EXPECT_NE(said.find(std::to_string(size)), said.npos) << said;
        ++refused;
      }
    }
  EXPECT_GT(refused, 300);
}

TEST(Sizes, TheLargestValuesAreDescribedOrRefused) {
  for (const KeyGroup& group : AllKeys()) {
    if (group.section == "data") continue;
    for (const OptionSpec& key : group.options) {
      if (!IsWhole(key) || key.name == "seed") continue;
      const auto most = static_cast<int64_t>(key.maximum);
      for (const int64_t size : {most, most / 2, most / 1000}) {
        const std::string said = Refusal(RootWith(group, key.name, std::max<int64_t>(1, size)));
        EXPECT_EQ(said.find('\n'), said.npos) << said;
      }
    }
  }
}

TEST(Sizes, AProductThatIsTooLargeNamesItsLayer) {
  const auto refusal = [](List layers) {
    return Refusal(Table{{"data", Table{{"format", "synthetic-digits"}}},
                         {"model", Table{{"layer", std::move(layers)}}}});
  };
  const Table wide = {{"type", "linear"}, {"outputs", 1'000'000'000}};
  EXPECT_EQ(
      refusal({wide, wide}),
      "layer 'linear2' (linear): 1000000000x1000000000 numbers are too many: expected at most "
      "4398046511104");
  const Table pad = {{"type", "pad"}, {"padding", 1'000'000}};
  const Table scores = {{"type", "linear"}, {"outputs", 10}};
  EXPECT_TRUE(refusal({pad, scores}).starts_with("layer 'linear1' (linear): 10x4000"));
  const Table convolution = {{"type", "convolution"}, {"outputs", 1'000'000'000}, {"kernel", 3}};
  EXPECT_NE(refusal({convolution, convolution}).find("layer 'convolution2' (convolution): "),
            std::string::npos);
}

}  // namespace yoke::sizes_test
