// A checkpoint's header: each field is checked for its kind, whatever the seal says.
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>

#include "train/support/checkpoint_fixture.h"

namespace yoke::checkpoint_header_test {

using test::Altered;
using test::Sealed;

class CheckpointHeaderTest : public test::CheckpointTest {};

TEST_F(CheckpointHeaderTest, AFieldOfAnotherKindIsDamageAlthoughTheSealHolds) {
  header_.position.consumed.Add(0, 4);
  const std::string bytes = EncodeHeader(header_, "0", "0");
  EXPECT_NO_THROW(DecodeHeader(bytes, "f"));
  const size_t job = bytes.find("\"job\": {"), data = bytes.find("\"data\": {");
  const std::string whole_job = bytes.substr(job, data - job);
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {whole_job, "\"job\": 0,\n "},
           {"\"epoch\": 1", "\"epoch\": true"},
           {"\"epoch\": 1", "\"epoch\": -1"},
           {"\"epoch\": 1", "\"epoch\": 18446744073709551615"},
           {"\"examples\": 10", "\"examples\": 2"},
           {"\"rule_steps\": 9", "\"rule_steps\": 9.5"},
           {"\"outputs\": 2", "\"outputs\": 3"},
           {"\"outputs\": 2", "\"outputs\": \"2\""},
           {"\"executor\": {}", "\"executor\": []"},
           {"\"reason\": \"\"", "\"reason\": 1"},
           {"\"test\": {", "\"test\": 3, \"was\": {"},
           {"\"labels\": \"", "\"labels\": \"z"},
           {"\"consumed\": [", "\"consumed\": [[7], "}})
    EXPECT_THROW(DecodeHeader(Altered(bytes, from, to), "f"), DamagedError) << to;
}

using Json = nlohmann::ordered_json;

/// Pointers to all fields within a value, of lists to the first two items.
std::vector<Json::json_pointer> FieldsOf(const Json& value,
                                         const Json::json_pointer& at = Json::json_pointer("")) {
  std::vector<Json::json_pointer> fields;
  const auto add = [&](const Json& item, const Json::json_pointer& where) {
    fields.push_back(where);
    std::ranges::copy(FieldsOf(item, where), std::back_inserter(fields));
  };
  if (value.is_object())
    for (const auto& [key, item] : value.items()) add(item, at / key);
  if (value.is_array())
    for (size_t i = 0; i < std::min<size_t>(2, value.size()); ++i) add(value[i], at / i);
  return fields;
}

/// Whether a header with these fields, sealed, is a checkpoint; anything but a UserError escapes.
bool IsRead(const Json& fields) {
  try {
    const CheckpointHeader header = DecodeHeader(Sealed(fields.dump(1) + "\n"), "f").header;
    const Job job = MakeJob(header.job, "job", /*folder=*/"");
    BuildModel(job.model(), {.input = {.shape = header.data.input}, .outputs = 2});
    return true;
  } catch (const UserError& error) {
    EXPECT_EQ(std::string(error.what()).find("exception"), std::string::npos) << error.what();
    return false;
  }
}

/// Every field at every depth is in turn absent, or a value of each other kind, size and depth.
TEST_F(CheckpointHeaderTest, NoValueOfAnotherKindCrashes) {
  header_.job =
      MakeJob(ParseToml("[data]\nformat = \"synthetic-digits\"\n[model]\nlayer = [{ type = "
                        "\"linear\", outputs = 2 }, { type = \"dropout\" }]\n",
                        "job"),
              "job", "")
          .resolved;
  header_.good = false;
  header_.position.best_evaluation = {.epoch = 1, .value = 0.9, .loss = 0.5};
  header_.position.collapse = {.metric = "accuracy", .value = 0.1, .epoch = 2};
  header_.position.consumed.Add(0, 4);
  header_.replicas = {"0123456789abcdef"};
  const Json fields = Json::parse(EncodeHeader(header_, "0", "0"));
  ASSERT_TRUE(IsRead(fields));
  const std::vector<Json> values = {0,         -1,         true,          nullptr,        "x",
                                    "",        0.5,        1e300,         1e-300,         INT64_MAX,
                                    INT64_MIN, UINT64_MAX, Json::array(), Json::object(), {0},
                                    {"x"},     {{"a", 0}}};
  int read = 0, refused = 0;
  for (const Json::json_pointer& field : FieldsOf(fields)) {
    if (field.to_string() == "/checksum") continue;
    for (const Json& value : values) {
      Json altered = fields;
      altered[field] = value;
      ++(IsRead(altered) ? read : refused);
    }
    Json altered = fields;
    Json& around = altered[field.parent_pointer()];
    if (around.is_object())
      around.erase(field.back());
    else
      around.erase(0);
    ++(IsRead(altered) ? read : refused);
  }
  EXPECT_GT(refused, read);
}

TEST_F(CheckpointHeaderTest, FieldsOfAnotherKindAreNamed) {
  const Json fields = Json::parse(EncodeHeader(header_, "0", "0"));
  const auto sentence = [&](const Json& altered) -> std::string {
    try {
      DecodeHeader(Sealed(altered.dump(1)), "f");
    } catch (const DamagedError& error) {
      return error.what();
    }
    return "";
  };
  Json altered = fields;
  altered["model"] = {1};
  EXPECT_EQ(sentence(altered), "f is damaged: model: expected a string, got [1]");
  altered = fields;
  altered["position"].erase("step");
  EXPECT_EQ(sentence(altered), "f is damaged: it has no 'step'");
  altered = fields;
  altered["position"]["seconds"] = true;
  EXPECT_EQ(sentence(altered), "f is damaged: seconds: expected a number, got true");
  altered = fields;
  altered["good"] = 1;
  EXPECT_EQ(sentence(altered), "f is damaged: good: expected true or false, got 1");
}

TEST_F(CheckpointHeaderTest, WhatIsNestedWithoutEndIsDamage) {
  std::string bytes = EncodeHeader(header_, "0", "0");
  const size_t at = bytes.find("\"executor\": {}") + std::string("\"executor\": ").size();
  constexpr size_t kDeep = 1'000'000;  // an end to the stack of what reads it recursively
  bytes.replace(at, 2, std::string(kDeep, '[') + std::string(kDeep, ']'));
  EXPECT_THROW(DecodeHeader(Sealed(bytes), "f"), DamagedError);
}

/// Earlier versions summed 64 examples only: the labels still count, the inputs are not known.
TEST_F(CheckpointHeaderTest, AnEarlierChecksumOfInputsIsNotCompared) {
  header_.training = {.labels = 3, .inputs = 4};
  Json fields = Json::parse(EncodeHeader(header_, "0", "0"));
  const auto read = [&] { return DecodeHeader(Sealed(fields.dump(1)), "f").header.training; };
  EXPECT_EQ(read().inputs, 4U);
  fields["training"] = {{"inputs", "0000000000000004"}, {"labels", "0000000000000003"}};
  EXPECT_EQ(read().inputs, 0U);
  EXPECT_EQ(read().labels, 3U);
}

}  // namespace yoke::checkpoint_header_test
