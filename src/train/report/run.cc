// ReportRun: reads job.toml and metrics.jsonl of a run directory.
#include "train/report/run.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "train/human.h"

namespace yoke {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

/// Adds the numbers of `line[key]`, named `prefix` + name.
void AddNumbers(const Json& line, const char* key, std::map<std::string, double>& values) {
  const Json metrics = line.value(key, Json::object());
  for (const auto& [name, value] : metrics.items())
    if (value.is_number()) values[fmt::format("{} {}", key, name)] = value;
}

ReportDevice& DeviceNamed(std::vector<ReportDevice>& devices, const std::string& name) {
  for (ReportDevice& device : devices)
    if (device.name == name) return device;
  return devices.emplace_back(ReportDevice{.name = name, .values = {}});
}

/// What each device has done, if the node has several.
std::vector<ReportDevice> DevicesOf(const Json& line) {
  std::vector<ReportDevice> devices;
  const Json node = line.value("node", Json::object());
  for (const auto& [metric, by_device] : node.items())
    if (by_device.is_object())
      for (const auto& [name, value] : by_device.items())
        if (value.is_number()) DeviceNamed(devices, name).values[metric] = value;
  return devices;
}

ReportEpoch EpochOf(const Json& line, const std::string& executor) {
  ReportEpoch epoch{.epoch = line.value("epoch", 0.0),
                    .seconds = line.value("seconds", 0.0),
                    .values = {},
                    .executor = executor,
                    .node = DevicesOf(line)};
  for (const char* set : {"train", "validation", "test", "exchange"})
    AddNumbers(line, set, epoch.values);
  for (const char* name : {"learning_rate", "examples_per_second"})
    if (line.contains(name) && line[name].is_number()) epoch.values[name] = line[name];
  return epoch;
}

void TakeStart(const Json& line, ReportRun& run) {
  auto text = [&](const char* key) { return line.value(key, std::string("unknown")); };
  run.executor = text("executor");
  run.facts = {{"parameters", Count(line.value("parameters", int64_t{0}))},
               {"examples", fmt::format("{} for training, {} for testing",
                                        Count(line.value("train_examples", int64_t{0})),
                                        Count(line.value("test_examples", int64_t{0})))},
               {"devices", line.contains("hardware") ? text("hardware") : text("devices")},
               {"executor, strategy", run.executor + ", " + text("strategy")},
               {"processor", text("cpu")},
               {"yoke", fmt::format("{} ({})", text("version"), text("commit"))}};
  const Json libraries = line.value("libraries", Json::object());
  if (libraries.contains("oneDNN"))
    run.facts.emplace_back("oneDNN", libraries["oneDNN"].get<std::string>());
}

void TakeEnd(const Json& line, ReportRun& run) {
  run.reason = line.value("reason", "unknown");
  run.seconds = line.value("seconds", 0.0);
  run.epochs_done = line.value("epochs", 0.0);
  run.test.clear();
  const Json collapse = line.value("collapse", Json::object());
  run.collapse = collapse.value("message", "");
  if (const std::string good = line.value("good", ""); !good.empty())
    run.facts.emplace_back("last good checkpoint", good);
  const Json memory = line.value("memory", Json::object());
  if (memory.value("ratio", 0.0) > 0)
    run.facts.emplace_back(
        "peak memory",
        fmt::format("{} (parameters, rule's state and tables {})", Bytes(memory.value("peak", 0.0)),
                    Bytes(memory.value("peak", 0.0) / memory.value("ratio", 1.0))));
  const double simulated = line.value("virtual_seconds", 0.0), cost = line.value("cost", 0.0);
  run.simulated = simulated > 0;
  if (simulated > 0) run.facts.emplace_back("virtual time", fmt::format("{:.4g} s", simulated));
  if (cost > 0) run.facts.emplace_back("cost of the cluster", fmt::format("{:.4g}", cost));
  run.cost = cost;
  const Json test = line.value("test", Json::object());
  for (const auto& [name, value] : test.items())
    if (value.is_number()) run.test.emplace_back(name, value);
}

/// For a run that has not ended: the last epoch's metrics take the place of the end's.
void TakeLastEpoch(ReportRun& run) {
  if (run.epochs.empty()) return;
  const ReportEpoch& last = run.epochs.back();
  run.seconds = std::max(run.seconds, last.seconds);
  run.epochs_done = std::max(run.epochs_done, last.epoch);
  if (!run.test.empty()) return;
  for (const char* name : {"loss", "accuracy", "p_at_1", "p_at_3", "p_at_5", "auc"})
    if (const auto found = last.values.find(fmt::format("test {}", name));
        found != last.values.end())
      run.test.emplace_back(name, found->second);
}

void TakeExchange(const Json& line, ReportRun& run) {
  const Json exchange = line.value("exchange", Json::object());
  for (const auto& [name, value] : exchange.items())
    if (value.is_number()) run.exchange[name] = value;
}

void TakeLine(const Json& line, ReportRun& run) {
  const std::string event = line.value("event", "");
  if (event == "start") run.exchange.clear();  // counted anew
  TakeExchange(line, run);
  for (ReportDevice& device : DevicesOf(line))
    DeviceNamed(run.node, device.name) = std::move(device);
  if (event == "start") TakeStart(line, run), run.reason = "not ended", run.test.clear();
  if (event == "epoch") run.epochs.push_back(EpochOf(line, run.executor));
  if (event == "end") TakeEnd(line, run);
}

}  // namespace

double ReportDevice::Get(const std::string& metric) const {
  const auto found = values.find(metric);
  return found == values.end() ? NAN : found->second;
}

const ReportDevice* FindDevice(const std::vector<ReportDevice>& devices, const std::string& name) {
  const auto found = std::find_if(devices.begin(), devices.end(),
                                  [&](const ReportDevice& device) { return device.name == name; });
  return found == devices.end() ? nullptr : &*found;
}

ReportRun ReadRun(const std::string& folder) {
  Require(fs::exists(folder), "there is no run directory {}", folder);
  Require(fs::exists(folder + "/metrics.jsonl") && fs::exists(folder + "/job.toml"),
          "{} holds no run: expected job.toml and metrics.jsonl in it", folder);
  ReportRun run{.name = fs::path(folder).lexically_normal().string(),
                .job = ReadToml(folder + "/job.toml")};
  run.reason = "not ended";
  std::ifstream in(folder + "/metrics.jsonl");
  for (std::string text; std::getline(in, text);) {
    const Json line = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    try {
      if (line.is_object()) TakeLine(line, run);
    } catch (const Json::exception&) {  // a value of another type: the line is damaged
    }
  }
  TakeLastEpoch(run);
  run.timeline = ReadTimeline(folder);
  if (const std::string plan = folder + "/plan.toml"; std::filesystem::exists(plan))
    run.plan = ReadToml(plan);
  while (run.name.size() > 1 && run.name.back() == '/') run.name.pop_back();
  return run;
}

double TypicalRate(const ReportRun& run) {
  std::vector<double> rates;
  for (const ReportEpoch& epoch : run.epochs)
    if (const auto found = epoch.values.find("examples_per_second"); found != epoch.values.end())
      rates.push_back(found->second);
  if (rates.empty()) return 0;
  const auto middle = rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 2);
  std::nth_element(rates.begin(), middle, rates.end());
  return *middle;
}

}  // namespace yoke
