// Record: metrics.jsonl is the source; the TensorBoard file is written anew from it whenever a run
// starts or resumes.
#include "train/record/record.h"

#include <cerrno>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <utility>

#include "base/check.h"
#include "base/files.h"
#include "base/json.h"
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

namespace fs = std::filesystem;

double WallTime() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

Table ToTable(const LoadingEvent& e) {
  return {{"event", "loading"}, {"seconds", e.seconds}, {"bytes", e.bytes}, {"total", e.total}};
}

Table ToTable(const StartEvent& e) {
  return {{"event", "start"},
          {"run", e.run},
          {"parameters", e.parameters},
          {"devices", ListOf(e.devices)},
          {"hardware", e.hardware},
          {"executor", e.executor},
          {"strategy", e.strategy},
          {"world", e.world},
          {"train_examples", e.train_examples},
          {"validation_examples", e.validation_examples},
          {"test_examples", e.test_examples},
          {"epochs_done", e.epochs_done},
          {"epochs", e.epochs}};
}

Table ToTable(const std::vector<DeviceWork>& node) {
  const auto by_device = [&](auto number) {
    Table table;
    for (const DeviceWork& work : node) table.emplace_back(work.name, work.*number);
    return table;
  };
  return {{"examples", by_device(&DeviceWork::examples)},
          {"updates", by_device(&DeviceWork::updates)},
          {"busy", by_device(&DeviceWork::busy)},
          {"staleness", by_device(&DeviceWork::staleness)},
          {"most_stale", by_device(&DeviceWork::most_stale)}};
}

Table ToTable(const std::vector<std::pair<std::string, Metrics>>& layers) {
  Table table;
  for (const auto& [name, counts] : layers) table.emplace_back(name, TableOf(counts));
  return table;
}

Table ToTable(const EvaluationEvent& e) {
  Table table = {{"event", "evaluation"}, {"step", e.step},
                 {"epoch", e.epoch},      {"epochs", e.epochs},
                 {"seconds", e.seconds},  {"training_seconds", e.training_seconds},
                 {"examples", e.examples}};
  if (!e.validation.empty()) table.emplace_back("validation", TableOf(e.validation));
  if (!e.test.empty()) table.emplace_back("test", TableOf(e.test));
  return table;
}

Table ToTable(const EpochEvent& e) {
  Table table = {{"event", "epoch"},
                 {"epoch", e.epoch},
                 {"epochs", e.epochs},
                 {"step", e.step},
                 {"seconds", e.seconds},
                 {"training_seconds", e.training_seconds},
                 {"examples_per_second", e.examples_per_second},
                 {"learning_rate", e.learning_rate},
                 {"train", Table{{"loss", e.train_loss}}}};
  if (!e.validation.empty()) table.emplace_back("validation", TableOf(e.validation));
  table.emplace_back("test", TableOf(e.test));
  if (!e.exchange.empty()) table.emplace_back("exchange", TableOf(e.exchange));
  if (!e.node.empty()) table.emplace_back("node", ToTable(e.node));
  if (e.data)
    table.emplace_back("data",
                       Table{{"waiting", e.data->part}, {"threads_reading", e.data->threads}});
  if (!e.layers.layers.empty()) table.emplace_back("layers", ToTable(e.layers.layers));
  if (!e.layers.step_seconds.empty())
    table.emplace_back("step_seconds", TableOf(e.layers.step_seconds));
  return table;
}

Table ToTable(const MemoryUse& m) {
  Table table = {{"peak", m.peak},
                 {"before_model", m.before_model},
                 {"parameters", m.parameters},
                 {"rule_state", m.rule_state},
                 {"tables", m.tables},
                 {"gradients", m.gradients}};
  if (m.Model() > 0) table.emplace_back("ratio", m.Ratio());
  return table;
}

Table ToTable(const EndEvent& e) {
  Table table = {{"event", "end"},
                 {"run", e.run},
                 {"reason", e.reason},
                 {"seconds", e.seconds},
                 {"epochs", e.epochs},
                 {"step", e.step},
                 {"test", TableOf(e.test)},
                 {"message", e.sentence},
                 {"exit_status", e.exit_status},
                 {"memory", ToTable(e.memory)}};
  if (!e.exchange.empty()) table.emplace_back("exchange", TableOf(e.exchange));
  if (!e.node.empty()) table.emplace_back("node", ToTable(e.node));
  if (e.virtual_seconds > 0) table.emplace_back("virtual_seconds", e.virtual_seconds);
  if (e.cost > 0) table.emplace_back("cost", e.cost);
  if (e.lost > 0) table.emplace_back("lost", e.lost);
  if (const std::optional<Collapse>& c = e.collapse)
    table.emplace_back("collapse", Table{{"metric", c->metric},
                                         {"value", c->value},
                                         {"epoch", c->epoch},
                                         {"best", c->best.value},
                                         {"best_epoch", c->best.epoch},
                                         {"message", c->Text()}});
  if (!e.good.empty()) table.emplace_back("good", e.good);
  if (!e.best.empty()) table.emplace_back("best", e.best);
  return table;
}

/// A number from a line that may be damaged.
double Number(const Value& line, const char* key, double fallback) {
  const Value* at = line.Find(key);
  return at ? at->AsNumber().value_or(fallback) : fallback;
}

/// Calls use(key, number) for each number of a table that may be damaged or absent.
template <typename Use>
void ForEachNumber(const Value* table, const Use& use) {
  if (!table || !table->AsTable()) return;
  for (const auto& [key, value] : *table->AsTable())
    if (value.AsNumber()) use(key, *value.AsNumber());
}

/// The scalars of one epoch, from its line of metrics.jsonl: "loss/train", "accuracy/test",
/// "learning_rate", "node/updates/cpu", ...
ScalarEvent Scalars(const Value& line) {
  ScalarEvent event{.wall_time = Number(line, "time", 0),
                    .step = static_cast<int64_t>(Number(line, "step", 0)),
                    .scalars = {}};
  for (const char* set : {"train", "validation", "test", "exchange"})
    ForEachNumber(line.Find(set), [&](const std::string& name, double value) {
      event.scalars.emplace_back(name + "/" + set, value);
    });
  for (const char* part : {"node", "layers"})
    if (const Value* found = line.Find(part); found && found->AsTable())
      for (const auto& [outer, table] : *found->AsTable())
        ForEachNumber(&table, [&, &outer = outer](const std::string& inner, double value) {
          event.scalars.emplace_back(fmt::format("{}/{}/{}", part, outer, inner), value);
        });
  for (const char* name : {"learning_rate", "examples_per_second", "epoch"})
    if (const Value* value = line.Find(name); value && value->AsNumber())
      event.scalars.emplace_back(name, *value->AsNumber());
  return event;
}

bool IsEvent(const Value& line, const char* event) { return *line.Find("event") == Value(event); }

bool IsProgress(const Value& line) { return IsEvent(line, "epoch") || IsEvent(line, "evaluation"); }

/// Whether a line of an earlier session is covered by a checkpoint with `epochs_done` epochs.
bool StillHolds(const Value& line, double epochs_done) {
  if (IsEvent(line, "start")) return true;
  if (IsProgress(line)) return Number(line, "epoch", INFINITY) <= epochs_done;
  return IsEvent(line, "end") && Number(line, "epochs", INFINITY) <= epochs_done;
}

/// The lines of a record that still hold.
std::vector<Value> ReadLines(const std::string& run, double epochs_done) {
  std::vector<Value> lines;
  ReadRecord(run, [&](Value line) {
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
      start_ = Join(Join(ToTable(event), Conditions()), {{"libraries", TableOf(Libraries())}});
      Reopen(event.epochs_done);
      Append(start_);
    });
  }

  void Evaluation(const EvaluationEvent& event) override {
    LogInfo(ToText(event));
    Keep([&] { events_->Add(Scalars(Append(ToTable(event)))); });
  }

  void Epoch(const EpochEvent& event) override {
    LogInfo(ToText(event));
    for (const std::string& line : LayerLines(event.layers)) LogInfo(line);
    Keep([&] { events_->Add(Scalars(Append(ToTable(event)))); });
  }

  void Message(const std::string& sentence) override { LogInfo(sentence); }

  void End(const EndEvent& event) override {
    Value summary = start_;
    Keep([&] {
      for (auto& [key, value] : Append(ToTable(event))) summary.Set(key, std::move(value));
    });
    summary.Erase("event");
    summary.Set("epochs_done", event.epochs);
    Keep([&] { ReplaceFile(run_ + "/summary.json", FormatJson(summary, 2) + "\n"); });
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
    const std::vector<Value> kept = ReadLines(run_, epochs_done);
    std::string text;
    for (const Value& line : kept) text += FormatJson(line) + "\n";
    ReplaceFile(lines_path_, text);
    lines_.open(lines_path_, std::ios::binary | std::ios::app);
    RemoveEventFiles(run_);
    events_ = std::make_unique<EventFile>(run_, WallTime());
    for (const Value& line : kept)
      if (IsProgress(line)) events_->Add(Scalars(line));
  }

  /// Adds the time, writes the line and returns it.
  Table Append(Table line) {
    line.emplace_back("time", WallTime());
    errno = 0;
    lines_ << FormatJson(line) << std::endl;
    if (!lines_) throw Error(fmt::format("cannot write {}: {}", lines_path_, ReasonOf(errno)));
    return line;
  }

  std::string run_;
  std::string lines_path_;
  Table start_;
  std::ofstream lines_;
  std::unique_ptr<EventFile> events_;
};

/// A standard error follows its metric: "  test loss 0.5 +- 0.02  accuracy 0.8 +- 0.01".
std::string Named(const std::string& set, const Metrics& metrics) {
  std::string text;
  for (size_t i = 0; i < metrics.size(); ++i) {
    const auto& [name, value] = metrics[i];
    const bool error = i > 0 && name == ErrorName(metrics[i - 1].first);
    text += error ? " +- " + Metric(value)
                  : fmt::format("  {}{} {}", text.empty() ? set + " " : "", name, Metric(value));
  }
  return text;
}

/// Two sets' metrics have the same names, so each set's are in brackets then.
std::string NamedSets(const Metrics& validation, const Metrics& test) {
  const auto in_brackets = [](const std::string& set, const Metrics& metrics) {
    return fmt::format("  {} ({})", set, Named("", metrics).substr(3));
  };
  if (validation.empty() || test.empty())
    return Named("validation", validation) + Named("test", test);
  return in_brackets("validation", validation) + in_brackets("test", test);
}

/// The greatest number of this kind in the lines of such an event.
int64_t LastOf(const std::vector<Value>& lines, const char* event, const char* key) {
  double last = 0;
  for (const Value& line : lines)
    if (IsEvent(line, event)) last = std::max(last, Number(line, key, 0));
  return static_cast<int64_t>(last);
}

}  // namespace

std::string ToJson(const LoadingEvent& event) { return FormatJson(ToTable(event)); }
std::string ToJson(const StartEvent& event) { return FormatJson(ToTable(event)); }
std::string ToJson(const EvaluationEvent& event) { return FormatJson(ToTable(event)); }
std::string ToJson(const EpochEvent& event) { return FormatJson(ToTable(event)); }
std::string ToJson(const EndEvent& event) { return FormatJson(ToTable(event)); }

std::string ToText(const LoadingEvent& e) {
  if (e.bytes == 0) return fmt::format("preparing data for {}", Duration(e.seconds));
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
      "{} parameters on {}, executor {}, strategy {}; {} training{} and {} test examples, {} {}{}",
      Count(e.parameters), e.hardware, e.executor, e.strategy, Count(e.train_examples),
      e.validation_examples == 0 ? ""
                                 : fmt::format(", {} validation", Count(e.validation_examples)),
      Count(e.test_examples), e.epochs, e.epochs == 1 ? "epoch" : "epochs", resumed);
}

std::string ToText(const EvaluationEvent& e) {
  return fmt::format("step {}  epoch {:.3f}/{}{}  {} of training", Count(e.step), e.epoch, e.epochs,
                     NamedSets(e.validation, e.test), Duration(e.training_seconds));
}

std::string ToText(const EpochEvent& e) {
  const int width = static_cast<int>(std::to_string(e.epochs).size());
  constexpr size_t kLongest = 120;
  constexpr double kMuchWaiting = 0.1;
  const std::string line = fmt::format("epoch {:>{}}/{}  train loss {}{}", e.epoch, width, e.epochs,
                                       Metric(e.train_loss), NamedSets(e.validation, e.test));
  const std::string speed =
      fmt::format("  {} examples/s", Count(std::llround(e.examples_per_second)));
  std::string time = "  " + Duration(e.seconds);
  if (e.data && e.data->part >= kMuchWaiting)
    time += fmt::format(", {:.0f} % waiting for data", 100 * e.data->part);
  const bool fits = line.size() + speed.size() + time.size() <= kLongest;
  return line + (fits ? speed : "") + time;
}

std::vector<std::string> LayerLines(const LayerReport& report) {
  const auto line = [](std::string text, const Metrics& metrics) {
    const char* separator = ":";
    for (const auto& [name, value] : metrics)
      text += fmt::format("{} {} {:.4g}", std::exchange(separator, ","), name, value);
    return text;
  };
  std::vector<std::string> lines;
  for (const auto& [name, counts] : report.layers) lines.push_back(line("  " + name, counts));
  if (!report.step_seconds.empty())
    lines.push_back(line("  seconds of steps", report.step_seconds));
  return lines;
}

std::string ToText(const MemoryUse& m) {
  if (m.peak == 0 || m.Model() == 0) return "";
  return "peak memory " +
         BytesOfParts(double(m.peak),
                      {{"model", double(m.Model())}, {"program and data", double(m.before_model)}});
}

void ReadRecord(const std::string& run, const std::function<void(Value line)>& take) {
  const std::string text = ReadOwn(run + "/metrics.jsonl");
  for (size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
    end = std::min(text.find('\n', begin), text.size());
    Value line = ParseJson(std::string_view(text).substr(begin, end - begin));
    if (line.Find("event")) take(std::move(line));
  }
}

int64_t EpochsTold(const std::string& run, double epochs_done) {
  return LastOf(ReadLines(run, epochs_done), "epoch", "epoch");
}

int64_t StepEvaluated(const std::string& run, double epochs_done) {
  return LastOf(ReadLines(run, epochs_done), "evaluation", "step");
}

void CopyEpochs(const std::string& from, const std::string& to) {
  std::string text;
  for (const Value& line : ReadLines(from, INFINITY))
    if (IsEvent(line, "epoch")) text += FormatJson(line) + "\n";
  if (!text.empty()) ReplaceFile(to + "/metrics.jsonl", text);
}

std::unique_ptr<Observer> MakeRecord(const std::string& run) {
  return std::make_unique<RunRecord>(run);
}

}  // namespace yoke
