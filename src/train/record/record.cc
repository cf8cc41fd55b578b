// Record: metrics.jsonl is the source; the TensorBoard file is written anew from it whenever a run
// starts or resumes.
#include "train/record/record.h"

#include <cerrno>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/log.h"
#include "base/version.h"
#include "kernels/threads.h"
#include "train/checkpoint/checkpoint.h"
#include "train/files.h"
#include "train/number_format.h"
#include "train/record/machine.h"
#include "train/record/tfevents.h"

namespace yoke {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

double WallTime() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

Json ToObject(const Metrics& metrics) {
  Json object = Json::object();
  for (const auto& [name, value] : metrics) object[name] = value;
  return object;
}

Json ToObject(const LoadingEvent& e) {
  return {{"event", "loading"}, {"seconds", e.seconds}, {"bytes", e.bytes}, {"total", e.total}};
}

Json ToObject(const StartEvent& e) {
  return {{"event", "start"},
          {"run", e.run},
          {"parameters", e.parameters},
          {"devices", e.devices},
          {"hardware", e.hardware},
          {"executor", e.executor},
          {"strategy", e.strategy},
          {"world", e.world},
          {"train_examples", e.train_examples},
          {"test_examples", e.test_examples},
          {"epochs_done", e.epochs_done},
          {"epochs", e.epochs}};
}

Json ToObject(const std::vector<DeviceWork>& node) {
  Json object;
  for (const DeviceWork& work : node) {
    object["examples"][work.name] = work.examples;
    object["updates"][work.name] = work.updates;
    object["busy"][work.name] = work.busy;
    object["staleness"][work.name] = work.staleness;
    object["most_stale"][work.name] = work.most_stale;
  }
  return object;
}

Json ToObject(const EpochEvent& e) {
  Json object = {{"event", "epoch"},
                 {"epoch", e.epoch},
                 {"epochs", e.epochs},
                 {"step", e.step},
                 {"seconds", e.seconds},
                 {"examples_per_second", e.examples_per_second},
                 {"learning_rate", e.learning_rate},
                 {"train", {{"loss", e.train_loss}}}};
  if (!e.validation.empty()) object["validation"] = ToObject(e.validation);
  object["test"] = ToObject(e.test);
  if (!e.exchange.empty()) object["exchange"] = ToObject(e.exchange);
  if (!e.node.empty()) object["node"] = ToObject(e.node);
  return object;
}

Json ToObject(const MemoryUse& m) {
  Json object = {{"peak", m.peak},
                 {"before_model", m.before_model},
                 {"parameters", m.parameters},
                 {"rule_state", m.rule_state},
                 {"tables", m.tables},
                 {"gradients", m.gradients}};
  if (m.Model() > 0) object["ratio"] = m.Ratio();
  return object;
}

Json ToObject(const EndEvent& e) {
  Json object = {{"event", "end"},
                 {"run", e.run},
                 {"reason", e.reason},
                 {"seconds", e.seconds},
                 {"epochs", e.epochs},
                 {"step", e.step},
                 {"test", ToObject(e.test)},
                 {"message", e.sentence},
                 {"exit_status", e.exit_status},
                 {"memory", ToObject(e.memory)}};
  if (!e.exchange.empty()) object["exchange"] = ToObject(e.exchange);
  if (!e.node.empty()) object["node"] = ToObject(e.node);
  if (e.virtual_seconds > 0) object["virtual_seconds"] = e.virtual_seconds;
  if (e.cost > 0) object["cost"] = e.cost;
  if (e.lost > 0) object["lost"] = e.lost;
  if (e.collapse)
    object["collapse"] = {{"metric", e.collapse->metric},         {"value", e.collapse->value},
                          {"epoch", e.collapse->epoch},           {"best", e.collapse->best.value},
                          {"best_epoch", e.collapse->best.epoch}, {"message", e.collapse->Text()}};
  if (!e.good.empty()) object["good"] = e.good;
  return object;
}

/// One line of JSON; bytes that are not UTF-8 are replaced.
std::string Line(const Json& object) {
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Version, commit, processor and libraries of the run.
Json Conditions() {
  Json libraries = Json::object();
  for (const auto& [name, version] : Libraries()) libraries[name] = version;
  return {{"version", std::string(Version())},
          {"commit", std::string(Commit())},
          {"cpu", CpuModel()},
          {"features", CpuFeatures()},
          {"isa", DescribeKernelLibrary().level},
          {"libraries", libraries}};
}

/// A number from a line that may be damaged.
double Number(const Json& line, const char* key, double fallback) {
  const auto at = line.find(key);
  return at != line.end() && at->is_number() ? at->get<double>() : fallback;
}

/// The scalars of one epoch, from its line of metrics.jsonl: "loss/train", "accuracy/test",
/// "learning_rate", "node/updates/cpu", ...
ScalarEvent Scalars(const Json& line) {
  ScalarEvent event{.wall_time = Number(line, "time", 0),
                    .step = static_cast<int64_t>(Number(line, "step", 0)),
                    .scalars = {}};
  for (const char* set : {"train", "validation", "test", "exchange"}) {
    const Json metrics = line.value(set, Json::object());
    for (const auto& [name, value] : metrics.items())
      if (value.is_number()) event.scalars.emplace_back(name + "/" + set, value);
  }
  const Json node = line.value("node", Json::object());
  for (const auto& [metric, by_device] : node.items())
    if (by_device.is_object())
      for (const auto& [device, value] : by_device.items())
        if (value.is_number())
          event.scalars.emplace_back(fmt::format("node/{}/{}", metric, device), value);
  for (const char* name : {"learning_rate", "examples_per_second", "epoch"})
    if (line.contains(name) && line[name].is_number()) event.scalars.emplace_back(name, line[name]);
  return event;
}

/// Whether a line of an earlier session is covered by a checkpoint with `epochs_done` epochs.
bool StillHolds(const Json& line, double epochs_done) {
  if (line["event"] == "start") return true;
  if (line["event"] == "epoch") return Number(line, "epoch", INFINITY) <= epochs_done;
  return line["event"] == "end" && Number(line, "epochs", INFINITY) <= epochs_done;
}

/// The lines of a record that still hold.
std::vector<Json> ReadLines(const std::string& run, double epochs_done) {
  std::vector<Json> lines;
  ReadRecord(run, [&](Json line) {
    if (StillHolds(line, epochs_done)) lines.push_back(std::move(line));
  });
  return lines;
}

void RemoveEventFiles(const std::string& folder) {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (entry.path().filename().string().rfind("events.out.tfevents.", 0) == 0)
      fs::remove(entry.path());
}

class RunRecord : public Observer {
 public:
  explicit RunRecord(std::string run)
      : run_(std::move(run)), lines_path_(run_ + "/metrics.jsonl") {}

  void Start(const StartEvent& event) override {
    Keep([&] {
      LogToFile(run_ + "/log.txt");
      LogInfo(ToText(event));
      start_ = ToObject(event);
      start_.update(Conditions());
      Reopen(event.epochs_done);
      Append(start_);
    });
  }

  void Epoch(const EpochEvent& event) override {
    LogInfo(ToText(event));
    Keep([&] { events_->Add(Scalars(Append(ToObject(event)))); });
  }

  void Message(const std::string& sentence) override { LogInfo(sentence); }

  void End(const EndEvent& event) override {
    Json summary = start_;
    Keep([&] { summary.update(Append(ToObject(event))); });
    summary.erase("event");
    summary["epochs_done"] = event.epochs;
    const std::string text = summary.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
    Keep([&] { ReplaceFile(run_ + "/summary.json", text); });
    LogInfo(fmt::format("ended: {} after {}. {}", event.reason, Duration(event.seconds),
                        event.sentence));
    if (const std::string memory = ToText(event.memory); !memory.empty()) LogInfo(memory);
  }

 private:
  /// Runs a write; a failure's message says how to continue.
  template <typename Write>
  void Keep(const Write& write) {
    try {
      write();
    } catch (const UserError&) {
      throw;
    } catch (const std::exception& problem) {
      throw Error(fmt::format("{}; {}", problem.what(), HowToGoOn(run_)));
    }
  }

  /// Keeps the lines of an earlier session that still hold, and rewrites the TensorBoard file from
  /// them.
  void Reopen(double epochs_done) {
    const std::vector<Json> kept = ReadLines(run_, epochs_done);
    std::string text;
    for (const Json& line : kept) text += Line(line) + "\n";
    ReplaceFile(lines_path_, text);
    lines_.open(lines_path_, std::ios::binary | std::ios::app);
    RemoveEventFiles(run_);
    events_ = std::make_unique<EventFile>(run_, WallTime());
    for (const Json& line : kept)
      if (line["event"] == "epoch") events_->Add(Scalars(line));
  }

  /// Adds the time, writes the line and returns it.
  Json Append(Json line) {
    line["time"] = WallTime();
    errno = 0;
    lines_ << Line(line) << std::endl;
    if (!lines_) throw Error(fmt::format("cannot write {}: {}", lines_path_, ReasonOf(errno)));
    return line;
  }

  std::string run_;
  std::string lines_path_;
  Json start_;
  std::ofstream lines_;
  std::unique_ptr<EventFile> events_;
};

std::string Named(const std::string& set, const Metrics& metrics) {
  std::string text;
  for (const auto& [name, value] : metrics)
    text += fmt::format("  {}{} {}", text.empty() ? set + " " : "", name, Metric(value));
  return text;
}

}  // namespace

std::string ToJson(const LoadingEvent& event) { return Line(ToObject(event)); }
std::string ToJson(const StartEvent& event) { return Line(ToObject(event)); }
std::string ToJson(const EpochEvent& event) { return Line(ToObject(event)); }
std::string ToJson(const EndEvent& event) { return Line(ToObject(event)); }

std::string ToText(const LoadingEvent& e) {
  if (e.bytes == 0) return fmt::format("reading data for {}", Duration(e.seconds));
  const std::string total = e.total > 0 ? fmt::format(" of {}", Bytes(double(e.total))) : "";
  return fmt::format("reading data: {}{} in {}", Bytes(double(e.bytes)), total,
                     Duration(e.seconds));
}

std::string ToText(const StartEvent& e) {
  const std::string resumed = e.epochs_done == 0 ? ""
                              : e.after_trials
                                  ? fmt::format(" ({:.4g} of them done by trials)", e.epochs_done)
                                  : fmt::format(" (resumed after {:.4g})", e.epochs_done);
  return fmt::format(
      "{} parameters on {}, executor {}, strategy {}; {} training and {} test examples, {} {}{}",
      Count(e.parameters), e.hardware, e.executor, e.strategy, Count(e.train_examples),
      Count(e.test_examples), e.epochs, e.epochs == 1 ? "epoch" : "epochs", resumed);
}

std::string ToText(const EpochEvent& e) {
  const int width = static_cast<int>(std::to_string(e.epochs).size());
  return fmt::format("epoch {:>{}}/{}  train loss {}{}{}  {} examples/s  {}", e.epoch, width,
                     e.epochs, Metric(e.train_loss), Named("validation", e.validation),
                     Named("test", e.test), Count(std::llround(e.examples_per_second)),
                     Duration(e.seconds));
}

std::string ToText(const MemoryUse& m) {
  if (m.peak == 0 || m.Model() == 0) return "";
  return "peak memory " +
         BytesOfParts(double(m.peak),
                      {{"model", double(m.Model())}, {"program and data", double(m.before_model)}});
}

void ReadRecord(const std::string& run, const std::function<void(Json line)>& take) {
  const std::string text = ReadOwn(run + "/metrics.jsonl");
  for (size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
    end = std::min(text.find('\n', begin), text.size());
    Json line = Json::parse(std::string_view(text).substr(begin, end - begin), nullptr,
                            /*allow_exceptions=*/false);
    if (line.is_object() && line.contains("event")) take(std::move(line));
  }
}

int64_t EpochsTold(const std::string& run, double epochs_done) {
  double last = 0;
  for (const Json& line : ReadLines(run, epochs_done))
    if (line["event"] == "epoch") last = std::max(last, Number(line, "epoch", 0));
  return static_cast<int64_t>(last);
}

void CopyEpochs(const std::string& from, const std::string& to) {
  std::string text;
  for (const Json& line : ReadLines(from, INFINITY))
    if (line["event"] == "epoch") text += Line(line) + "\n";
  if (!text.empty()) ReplaceFile(to + "/metrics.jsonl", text);
}

std::unique_ptr<Observer> MakeRecord(const std::string& run) {
  return std::make_unique<RunRecord>(run);
}

}  // namespace yoke
