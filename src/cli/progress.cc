// Progress: observers of a training run that write to standard output.
#include "cli/progress.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "base/utf8.h"
#include "comm/launcher.h"
#include "train/checkpoint/checkpoint.h"
#include "train/number_format.h"
#include "train/record/record.h"

namespace yoke {
namespace {

constexpr double kLiveInterval = 0.1;  ///< Seconds between two live lines.

/// Selects loading events for output that cannot be overwritten: after 1 s, 2 s, 4 s, ...
class LoadingTurn {
 public:
  bool Comes(const LoadingEvent& event) {
    if (event.over || event.seconds < next_) return false;
    next_ = std::max(2 * next_, event.seconds);
    return true;
  }

 private:
  double next_ = 0;
};

/// For `yoke train --json`.
class EventProgress : public Observer {
 public:
  explicit EventProgress(Output& out) : out_(out) {}
  void Loading(const LoadingEvent& event) override {
    if (turn_.Comes(event)) out_.RawEvent(ToJson(event));
  }
  void Start(const StartEvent& event) override {
    out_.Advise([run = event.run] { return HowToGoOn(run); });
    out_.RawEvent(ToJson(event));
  }
  void Evaluation(const EvaluationEvent& event) override { out_.RawEvent(ToJson(event)); }
  void Epoch(const EpochEvent& event) override { out_.RawEvent(ToJson(event)); }
  void Message(const std::string& text) override { out_.Event("message", {{"message", text}}); }
  void End(const EndEvent& event) override { out_.RawEvent(ToJson(event)); }

 private:
  Output& out_;
  LoadingTurn turn_;
};

/// Lines for people; the last one is the test accuracy.
class TextProgress : public Observer {
 public:
  explicit TextProgress(Output& out) : out_(out), live_(out.IsTerminal() && !LaunchedByMpi()) {}

  void Loading(const LoadingEvent& event) override {
    if (live_)
      out_.Live(event.over ? "" : ToText(event));
    else if (turn_.Comes(event))
      Line(ToText(event));
  }

  void Start(const StartEvent& event) override {
    out_.Advise([run = event.run] { return HowToGoOn(run); });
    Line(ToText(event));
    Line("run directory " + event.run);
  }

  void Step(const StepEvent& event) override {
    if (!live_ || Now() < next_live_) return;
    next_live_ = Now() + kLiveInterval;
    out_.Live(LiveLine(event, metric_, out_.Columns()));
  }

  void Evaluation(const EvaluationEvent& event) override {
    metric_ = Headline(event.test.empty() ? event.validation : event.test);
    Line(ToText(event));
  }

  void Epoch(const EpochEvent& event) override {
    metric_ = Headline(event.test.empty() ? event.validation : event.test);
    Line(ToText(event));
    for (const std::string& line : LayerLines(event.layers)) Line(line);
  }

  void Message(const std::string& text) override { Line(text); }

  void End(const EndEvent& event) override {
    out_.Live("");
    if (event.exit_status == 3) return;  // the error message follows
    std::string ended = fmt::format("{} after {:.4g} {}", Reason(event.reason), event.epochs,
                                    event.epochs == 1 ? "epoch" : "epochs");
    if (event.virtual_seconds == 0) ended += ", " + Duration(event.seconds);
    Line(ended);
    if (!event.sentence.empty()) Line(event.sentence);
    if (const std::string memory = ToText(event.memory); !memory.empty()) Line(memory);
    if (event.virtual_seconds > 0) Line(Simulated(event));
    if (const std::string metric = Headline(event.test); !metric.empty()) Line("test " + metric);
  }

 private:
  void Line(const std::string& text) { out_.Text(OneLine(text)); }

  static std::string Reason(const std::string& reason) {
    if (reason == "target") return "target reached";
    if (reason == "early_stopping") return "stopped early";
    if (reason == "time_limit") return "time limit reached";
    if (reason == "step_limit") return "step limit reached";
    if (reason == "replan") return "paused";
    return reason;
  }

  static std::string Simulated(const EndEvent& event) {
    const double all = event.virtual_seconds, trials = event.lost_trials;
    const double after = all - trials - event.seconds;  // it has trained
    std::string text = fmt::format("simulated time {:.4g} s", all);
    if (trials > 1e-3 * all)
      text += fmt::format(", {:.4g} s of it in trials that are lost", trials);
    if (after > 1e-3 * all) text += fmt::format(", {:.4g} s of it after the last step", after);
    if (event.cost > 0) text += fmt::format(", cost {:.4g}", event.cost);
    if (event.lost > 0)
      text += fmt::format(", {} node{} lost", event.lost, event.lost == 1 ? "" : "s");
    return text;
  }

  Output& out_;
  bool live_;
  LoadingTurn turn_;
  double next_live_ = 0;
  std::string metric_;
};

/// "[=====>    ]" of `width` characters in all.
std::string Bar(double share, int width) {
  const int inside = width - 2;
  const int done = std::clamp(static_cast<int>(std::lround(share * inside)), 0, inside);
  std::string bar(static_cast<size_t>(inside), ' ');
  std::fill_n(bar.begin(), done, '=');
  if (done > 0 && done < inside) bar[static_cast<size_t>(done) - 1] = '>';
  return "[" + bar + "]";
}

}  // namespace

std::string Headline(const Metrics& metrics) {
  for (const char* name : {"accuracy", "p_at_1", "rmse", "loss"})
    for (const auto& [known, value] : metrics)
      if (known == name) return fmt::format("{} {:.4f}", name, value);
  return "";
}

std::string LiveLine(const StepEvent& step, const std::string& metric, int columns) {
  const double share = step.epochs > 0 ? step.epoch / static_cast<double>(step.epochs) : 0;
  const auto current = std::min(static_cast<int64_t>(step.epoch) + 1, step.epochs);
  std::string line = fmt::format("epoch {}/{}", current, step.epochs);
  // Most important part first.
  const std::string parts[] = {
      fmt::format("loss {}", Metric(step.loss)),
      step.seconds_left > 0 ? Duration(std::round(step.seconds_left)) + " left" : "",
      metric,
      fmt::format("{} examples/s", Count(std::llround(step.examples_per_second))),
  };
  const auto room = static_cast<size_t>(std::max(columns - 1, 0));
  for (const std::string& part : parts)
    if (!part.empty() && line.size() + 2 + part.size() <= room) line += "  " + part;
  const int bar = std::min(30, static_cast<int>(room) - static_cast<int>(line.size()) - 2);
  if (bar >= 8) line = Bar(share, bar) + "  " + line;
  return line.substr(0, room);
}

std::unique_ptr<Observer> MakeProgress(Output& out) {
  if (out.json()) return std::make_unique<EventProgress>(out);
  return std::make_unique<TextProgress>(out);
}

}  // namespace yoke
