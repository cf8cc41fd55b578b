// Files of ours whose values are of another kind, absent or huge: what reads them takes them or
// refuses them with one sentence that names the file and a key.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/files.h"
#include "base/json.h"
#include "plan/plan.h"
#include "plan/support/small_job.h"
#include "train/files.h"
#include "train/record/record.h"
#include "train/record/timeline.h"
#include "train/report/report.h"
#include "train/trainer.h"

namespace yoke::mutated_files_test {

using Json = nlohmann::ordered_json;
using Pointer = Json::json_pointer;

/// Values of all kinds; discarded: none at all.
std::vector<Json> Others(bool null) {
  std::vector<Json> others = {Json(Json::value_t::discarded),
                              "text",
                              true,
                              -7,
                              0.5,
                              int64_t{1} << 50,
                              std::numeric_limits<double>::max(),
                              Json::array(),
                              {1},
                              Json::array({Json::array({"a"})}),
                              Json::object(),
                              {{"a", 1}}};
  if (null) others.insert(others.end(), {Json(), std::numeric_limits<uint64_t>::max()});
  return others;
}

/// All fields of a document; of a list the first item stands for all.
void AddFields(const Json& value, const Pointer& at, std::vector<Pointer>& fields) {
  if (!at.empty()) fields.push_back(at);
  if (value.is_array() && !value.empty()) AddFields(value[0], at / 0, fields);
  if (value.is_object())
    for (const auto& [key, item] : value.items()) AddFields(item, at / key, fields);
}

Json Changed(Json document, const Pointer& at, const Json& other) {
  Json& parent = document[at.parent_pointer()];
  if (!other.is_discarded())
    document[at] = other;
  else if (parent.is_array())
    parent.erase(0);
  else
    parent.erase(at.back());
  return document;
}

/// As TOML; null is left out.
Value ToValue(const Json& json) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return json.get<int64_t>();
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  List list;
  Table table;
  for (const auto& [key, item] : json.items())
    if (json.is_array())
      list.push_back(ToValue(item));
    else
      table.emplace_back(key, ToValue(item));
  return json.is_array() ? Value(list) : Value(table);
}

class MutatedFilesTest : public testing::Test {
 protected:
  /// What reads the text of a file.
  using Read = std::function<void(const std::string& text)>;

  void Sweep(const Json& document, bool null, const std::function<void(const Json&)>& read) {
    std::vector<Pointer> fields;
    AddFields(document, Pointer(), fields);
    EXPECT_GT(fields.size(), 5U);
    for (const Pointer& at : fields)
      for (const Json& other : Others(null)) {
        SCOPED_TRACE(at.to_string() + " = " + (other.is_discarded() ? "nothing" : other.dump()));
        Judge(at, [&] { read(Changed(document, at, other)); });
      }
  }

  void SweepToml(const Value& document, const Read& read) {
    Sweep(Json::parse(FormatJson(document)), /*null=*/false,
          [&](const Json& json) { read(FormatToml(ToValue(json))); });
  }

  /// `file_` and a part of the field's path are in the sentence of a refusal.
  void Judge(const Pointer& at, const std::function<void()>& read) const {
    try {
      read();
    } catch (const UserError& error) {
      const std::string sentence = error.what();
      EXPECT_EQ(sentence.find('\n'), sentence.npos) << sentence;
      EXPECT_NE(sentence.find(file_), sentence.npos) << sentence;
      bool named = false;
      for (Pointer part = at; !part.empty(); part.pop_back())
        named = named || sentence.find(part.back()) != sentence.npos;
      EXPECT_TRUE(named) << sentence;
    }
  }

  std::string Path(const std::string& name) const { return folder_.path() + "/" + name; }
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(Path(name)) << text;
  }

  /// A run of two epochs; returns its directory.
  std::string Trained() {
    Train(test::SmallJob({{"train.epochs", "2"}, {"data.train_size", "64"}}), {.run = Path("r")});
    return Path("r");
  }

  const ScratchFiles scratch_;  // nothing waits for the disk
  TemporaryFolder folder_{"yoke-mutated-files"};
  std::string file_;  // under test
};

TEST_F(MutatedFilesTest, AJob) {
  file_ = "job.toml";
  SweepToml(test::SmallJob().resolved,
            [](const std::string& text) { MakeJob(ParseToml(text, "job.toml"), "job", ""); });
}

TEST_F(MutatedFilesTest, ACluster) {
  file_ = "rack.toml";
  const Value rack = ParseToml(R"(title = "a rack"
[network]
latency = 1e-6
bytes_per_second = 1e9
[[nodes]]
count = 2
operations_per_second = 1e12
bytes_per_second = 1e11
jitter = { kind = "lognormal", sigma = 0.1 }
slow = { fraction = 0.5, factor = 2.0 }
)",
                               file_);
  SweepToml(rack,
            [](const std::string& text) { ClusterOf(ParseToml(text, "rack.toml"), "rack.toml"); });
}

TEST_F(MutatedFilesTest, APlanThatTrainingTakes) {
  file_ = "plan.toml";
  Write("job.toml", FormatToml(test::SmallJob().resolved));
  const Value plan = ParseToml(R"([use.node]
executor = "hogwild"
threads = 2
[use.train]
learning_rate = 0.1
)",
                               file_);
  SweepToml(plan, [this](const std::string& text) {
    Write("plan.toml", text);
    LoadJob(Path("job.toml"), ReadPlanKeys(Path("plan.toml")));
  });
}

TEST_F(MutatedFilesTest, APlanInAReport) {
  file_ = "plan.toml";
  const std::string run = Trained();
  Plan plan = {.candidates = MakeCandidates(test::SmallJob(), {.open = OpenKeys()}),
               .machine = "here"};
  plan.candidates.resize(3);
  plan.candidates[0].seconds_per_update = 0.25, plan.candidates[0].updates = 8;
  const Value written = ParseToml(FormatPlan(plan, "yoke plan") +
                                      "[[tried]]\nlearning_rate = 0.1\nmomentum = 0.9\nloss = "
                                      "0.5\nsteps = 3\n",
                                  file_);
  SweepToml(written, [&](const std::string& text) {
    Write("r/plan.toml", text);
    ReportPage({run});
  });
}

TEST_F(MutatedFilesTest, ARecord) {
  file_ = "metrics.jsonl";
  const std::string run = Trained();
  Json lines = Json::object();  // by event
  std::ifstream in(run + "/metrics.jsonl");
  for (std::string line; std::getline(in, line);) {
    const Json event = Json::parse(line);
    lines[event.at("event").get<std::string>()] = event;
  }
  ASSERT_TRUE(lines.contains("start") && lines.contains("epoch") && lines.contains("end"));
  std::filesystem::create_directory(Path("copy"));
  Sweep(lines, /*null=*/true, [&](const Json& changed) {
    std::string text;
    for (const Json& line : changed) text += line.dump() + "\n";
    Write("r/metrics.jsonl", text);
    ReportPage({run});
    EpochsTold(run, 2);
    CopyEpochs(run, Path("copy"));
    MakeRecord(run)->Start({.run = run, .epochs_done = 1});
  });
}

TEST_F(MutatedFilesTest, ATimeline) {
  file_ = "timeline.json";
  const std::string run = Trained();
  TimelinePicture picture = {.to = 2, .seconds = 2, .ranks = 1, .sends = true};
  picture.lanes.push_back({.steps = {0.5}});
  picture.lanes[0].intervals[0] = {{.begin = 0, .end = 1}};
  WriteTimeline(run, picture);
  const Json written = Json::parse(ReadWhole(run + "/timeline.json"));
  ASSERT_NE(RunsAsJson({run}).find("\"timeline\":"), std::string::npos);
  Sweep(written, /*null=*/true, [&](const Json& changed) {
    Write("r/timeline.json", changed.dump());
    ReportPage({run});
  });
}

}  // namespace yoke::mutated_files_test
