// Convolution keys: who takes [model]'s, and which have no effect.
#include "model/convolution_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/check.h"
#include "model/graph.h"

namespace yoke::convolution_keys_test {

using testing::HasSubstr;

constexpr const char* kTables = R"(
[[layer]]
type = "convolution"
outputs = 2
kernel = 3
algorithm = "lower_batch"
partitions = 3
[[layer]]
type = "convolution"
outputs = 2
kernel = 3
[[layer]]
type = "flatten"
[[layer]]
type = "linear"
outputs = 3
)";

/// A convolution by lower_batch with partitions of its own, one with neither, and these keys.
Value Model(const std::string& keys) { return ParseToml(keys + kTables, "model"); }

/// Also refuses keys without an effect.
List LayersOf(const Value& model) {
  return ModelLayers(model, {.input = {.shape = {1, 16, 16}}, .outputs = 3});
}

std::string Refusal(const Value& model) {
  try {
    LayersOf(model);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

/// A key's number; 0 if there is none.
int64_t Number(const Value& table, const char* key) {
  const Value* value = table.Find(key);
  return value ? *value->AsInt() : 0;
}

TEST(ConvolutionKeys, AreThoseOfACandidateByLowerBatch) {
  const Value model = Model("partitions = 2\nlowered_images = 4\n");
  const List& tables = *model.Find("layer")->AsList();
  const Value lowered = WithAlgorithm(tables[1], "lower_batch", model);
  EXPECT_EQ(Number(lowered, "partitions"), 2);
  EXPECT_EQ(Number(lowered, "lowered_images"), 4);
  EXPECT_EQ(Number(WithAlgorithm(tables[0], "lower_batch", model), "partitions"), 3);
  EXPECT_FALSE(WithAlgorithm(tables[1], "direct", model).Find("partitions"));
}

TEST(ConvolutionKeys, AreErasedWithoutAnEffect) {
  const Value model =
      Model("partitions = 2\nlowered_images = 4\nalgorithms = {convolution2 = \"lower_batch\"}\n");
  struct Case {
    const char *first, *second;
    int64_t partitions, lowered_images, own;  // that are left
  };
  for (const Case& one :
       {Case{"lower_batch", "lower_batch", 2, 4, 3}, Case{"lower_batch", "direct", 0, 4, 3},
        Case{"direct", "lower_batch", 2, 4, 0}, Case{"auto", "direct", 0, 0, 0}}) {
    const Value chosen =
        WithAlgorithms(model, {{"convolution1", one.first}, {"convolution2", one.second}});
    EXPECT_EQ(Refusal(chosen), "") << one.first << " " << one.second;
    EXPECT_EQ(Number(chosen, "partitions"), one.partitions);
    EXPECT_EQ(Number(chosen, "lowered_images"), one.lowered_images);
    EXPECT_EQ(Number((*chosen.Find("layer")->AsList())[0], "partitions"), one.own);
    EXPECT_EQ(*LayersOf(chosen)[1].Find("algorithm")->AsString(), one.second);
  }
}

TEST(ConvolutionKeys, SayWhyTheyHaveNoEffect) {
  EXPECT_THAT(Refusal(Model("partitions = 2\n")),
              HasSubstr("model.partitions has no effect: each convolution with the algorithm "
                        "\"lower_batch\" has its own"));
  EXPECT_THAT(Refusal(Table{{"name", "lenet"}, {"partitions", 2}}),
              HasSubstr("model.partitions has no effect: no convolution has the algorithm"));
}

}  // namespace yoke::convolution_keys_test
