// yoke bench: runs the same job under several choices, side by side.
#include <fmt/ranges.h>
#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <optional>
#include <set>
#include <sstream>

#include "base/algorithms.h"
#include "base/check.h"
#include "base/files.h"
#include "base/registry.h"
#include "cli/command.h"
#include "cli/growth.h"
#include "cli/run_options.h"
#include "cli/signals.h"
#include "data/writers.h"
#include "kernels/threads.h"
#include "node/executor.h"
#include "train/job/devices.h"
#include "train/job/parts.h"
#include "train/number_format.h"
#include "train/record/run_directory.h"
#include "train/trainer.h"

namespace yoke {
namespace {

constexpr const char* kBenchDetails =
    R"(Each choice trains the job from the same seed, in turn. --rounds repeats this and prints medians; use it when
other programs share the cores. Seconds count training only, without evaluation. With --set train.target=... they are
the time to the target.

Examples:
  yoke bench job.toml --executors single,split,hogwild
  yoke bench job.toml --executors single,split --runs runs/bench && yoke report runs/bench/*
  yoke bench job.toml --executors split --with "node.executor=split node.parts=1" --rounds 3
  yoke bench job.toml --with node.threads=1 --with node.threads=2 --set train.epochs=2
  yoke bench job.toml --growth --teams 4,16
  yoke bench job.toml --growth --teams 4,16,64 --output 64.toml --memory-nodes 2    a machine to simulate)";

/// The settings of one row of the table.
struct Choice {
  std::string name;
  Overrides overrides;
};

/// A choice that is not run.
struct LeftOut {
  std::string name, reason;
};

/// The result of one run.
struct Outcome {
  double seconds = 0;  ///< Training time, without evaluation.
  double examples_per_second = 0;
  double epochs = 0;
  double train_loss = 0;  ///< Mean over the last epoch.
  Metrics test;
  std::string reason;
};

/// Collects the figures of epochs.
class Meter : public Observer {
 public:
  void Start(const StartEvent& event) override {
    examples_ = static_cast<double>(event.train_examples);
  }
  void Epoch(const EpochEvent& event) override {
    outcome_.seconds += examples_ / event.examples_per_second;
    outcome_.train_loss = event.train_loss;
    ++outcome_.epochs;
  }
  void End(const EndEvent& event) override {
    if (outcome_.epochs > 0)
      outcome_.examples_per_second = examples_ * outcome_.epochs / outcome_.seconds;
    else
      outcome_.seconds = outcome_.train_loss = std::numeric_limits<double>::quiet_NaN();
    outcome_.test = event.test;
    outcome_.reason = event.reason;
  }
  const Outcome& outcome() const { return outcome_; }

 private:
  double examples_ = 0;
  Outcome outcome_;
};

/// "node.executor=split node.parts=2" as overrides.
Choice ParseChoice(const std::string& text) {
  Choice choice{.name = text, .overrides = {}};
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const size_t equals = word.find('=');
    Require(equals != std::string::npos && equals > 0,
            "--with expects key=value, such as node.executor=split; got '{}'", word);
    choice.overrides.push_back({word.substr(0, equals), word.substr(equals + 1), "--with"});
  }
  Require(!choice.overrides.empty(), "--with expects key=value, got nothing");
  return choice;
}

/// The median of each figure; the reason is the last round's.
Outcome MedianOf(const std::vector<Outcome>& rounds) {
  const auto median = [&](auto number) {
    std::vector<double> values;  // of the rounds that completed an epoch
    for (const Outcome& round : rounds)
      if (round.epochs > 0) values.push_back(number(round));
    return values.empty() ? std::numeric_limits<double>::quiet_NaN() : Median(values);
  };
  Outcome middle = rounds.back();
  middle.seconds = median([](const Outcome& o) { return o.seconds; });
  middle.examples_per_second = median([](const Outcome& o) { return o.examples_per_second; });
  middle.epochs = median([](const Outcome& o) { return o.epochs; });
  middle.train_loss = median([](const Outcome& o) { return o.train_loss; });
  for (size_t i = 0; i < middle.test.size(); ++i)
    middle.test[i].second =
        median([&](const Outcome& o) { return i < o.test.size() ? o.test[i].second : 0; });
  return middle;
}

Table ToTable(const Outcome& outcome) {
  return {{"seconds", outcome.seconds},    {"examples_per_second", outcome.examples_per_second},
          {"epochs", outcome.epochs},      {"train", Table{{"loss", outcome.train_loss}}},
          {"test", TableOf(outcome.test)}, {"reason", outcome.reason}};
}

class BenchCommand : public Command {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Place("JOB", &job_, "The job file (TOML)");
    arguments.Option("--executors", "A,B,...", &executors_, "Executors to compare (default: all)")
        .Commas();
    arguments
        .Option("--with", "\"KEY=VALUE ...\"", &with_,
                "An additional choice: keys of the job, separated by blanks")
        .OneEach();
    arguments
        .Option("--rounds", "N", &rounds_,
                "Runs of each choice, taken in turn; medians are printed")
        .Within(1, 1000);
    arguments.Option("--runs", "DIR", &runs_,
                     "Keep each run in this folder, as CHOICE-ROUND, for `yoke report`");
    arguments.Flag("--growth", &growth_,
                   "Compute instead what a step would take with more threads than there are cores");
    arguments
        .Option("--teams", "N,...", &teams_, "With --growth: threads (default: 1,2,4,8,16,32,64)")
        .Commas();
    arguments.Option("--output", "FILE", &output_,
                     "With --growth: write instead the cluster file of a machine with as many "
                     "cores as the largest team");
    arguments.Option("--memory-nodes", "N", &memory_nodes_, "Of that machine (default: 1)")
        .Within(1, kMostThreads);
    arguments.Option("--memory", "GB/S", &memory_,
                     "Of all its memory (default: 10 for each thread)");
    arguments.Option("--seconds", "S", &seconds_, "With --growth: about the time (default: 20)");
    set_.Declare(arguments);
  }

  int Run(Output& out) override {
    Require(!job_.empty(), "`yoke bench` needs a job file");
    Require(growth_ || (teams_.empty() && seconds_ == 0 && output_.empty()),
            "--teams, --seconds and --output need --growth");
    Require(!output_.empty() || (memory_nodes_ == 1 && memory_ == 0),
            "--memory-nodes and --memory are of the machine that --output describes");
    if (growth_) return Grow(out);
    std::vector<Choice> choices = Choices();
    const std::atomic<int>& signal = CatchStopSignals();
    for (const Choice& choice : choices) CheckChoice(choice);
    const std::vector<LeftOut> left_out = LeaveOut(choices);
    std::vector<std::vector<Outcome>> outcomes(choices.size());
    for (int round = 0; round < rounds_; ++round)
      for (size_t i = 0; i < choices.size(); ++i) {
        if (out.IsTerminal())
          out.Live(fmt::format("round {} of {}: {}", round + 1, rounds_, choices[i].name));
        outcomes[i].push_back(RunOnce(choices[i], round, signal));
        if (signal != 0) return 128 + signal;
      }
    if (out.IsTerminal()) out.Live("");
    Tell(choices, outcomes, left_out, out);
    return 0;
  }

 private:
  int Grow(Output& out) const {
    Require(executors_.empty() && with_.empty() && runs_.empty() && rounds_ == 1,
            "--growth measures the job itself: leave out --executors, --with, --rounds and --runs");
    Require(seconds_ >= 0 && seconds_ <= kLongestGrowth, "--seconds: expected 0 to {}, got {}",
            kLongestGrowth, seconds_);
    const std::vector<int> teams = Teams();
    Require(memory_ >= 0 && memory_ <= kMostMemory, "--memory: expected 0 to {} GB/s, got {}",
            kMostMemory, memory_);
    Require(teams.back() % memory_nodes_ == 0,
            "--memory-nodes: the {} threads of the largest team cannot be divided between {} nodes",
            teams.back(), memory_nodes_);
    LetWaitingThreadsSleep();
    const Job job = Load({});
    std::optional<OutputFile> file;  // refused before anything is measured
    if (!output_.empty()) {
      RequireNoInput(output_, InputsOf(job, job_));
      file.emplace(output_);
    }
    const std::atomic<int>& signal = CatchStopSignals();
    const double seconds = seconds_ > 0 ? seconds_ : kGrowth;
    if (file)
      Write(job, {.teams = teams, .seconds = seconds}, signal, *file, out);
    else
      PrintGrowth(job_, GrowthOf(job, teams, seconds, signal), out);
    return signal == 0 ? 0 : 128 + signal;
  }

  /// The file of the machine.
  void Write(const Job& job, MachineOrder order, const std::atomic<int>& signal, OutputFile& file,
             Output& out) const {
    order.memory = {.nodes = memory_nodes_, .bytes_per_second = kGiga * memory_};
    order.command = CommandOfFile();
    const MeasuredCluster machine = MachineOfGrowth(job, order, signal);
    if (machine.nodes.empty()) return;
    file.Write(FormatCluster(machine));
    file.Commit();
    const SpeedCurve& curve = machine.nodes[0].profile.curve;
    const double times = curve.GrowthOf(curve.threads);
    out.Event("machine",
              {{"job", job_}, {"file", output_}, {"threads", curve.threads}, {"growth", times}});
    out.Text(fmt::format("{}: {} threads take {:.3g} times as many examples a second as one",
                         output_, curve.threads, times));
  }

  /// What writes it, for its first line.
  std::string CommandOfFile() const {
    std::string text = fmt::format("yoke bench {} --growth", job_);
    if (!teams_.empty()) text += fmt::format(" --teams {}", fmt::join(teams_, ","));
    text += fmt::format(" --output {}", output_);
    if (memory_nodes_ > 1) text += fmt::format(" --memory-nodes {}", memory_nodes_);
    if (memory_ > 0) text += fmt::format(" --memory {:g}", memory_);
    if (seconds_ > 0) text += fmt::format(" --seconds {:g}", seconds_);
    return text + WordsOf(set_.Read());
  }

  /// Rising, the first of one thread.
  std::vector<int> Teams() const {
    if (teams_.empty()) return {1, 2, 4, 8, 16, 32, 64};
    std::set<int> teams = {1};
    for (const std::string& text : teams_) {
      int threads = 0;
      const char* const end = text.data() + text.size();
      const auto [stopped, error] = std::from_chars(text.data(), end, threads);
      Require(error == std::errc() && stopped == end && threads >= 1 && threads <= kMostThreads,
              "--teams: expected numbers of threads from 1 to {}, got '{}'", kMostThreads, text);
      teams.insert(threads);
    }
    return {teams.begin(), teams.end()};
  }

  std::vector<Choice> Choices() const {
    std::vector<Choice> choices;
    std::vector<std::string> names = executors_;
    if (names.empty() && with_.empty())
      for (const ExecutorEntry& entry : executors()) names.push_back(entry.name);
    for (const std::string& name : names) {
      FindEntry(executors(), "executor", name);
      choices.push_back({name, {{"node.executor", name, "--executors"}}});
    }
    for (const std::string& text : with_) choices.push_back(ParseChoice(text));
    return choices;
  }

  /// Checks a choice before hours are spent.
  void CheckChoice(const Choice& choice) const {
    Load({});  // the job without a choice
    try {
      Load(choice);
    } catch (const UserError& error) {
      throw UserError(fmt::format("the choice '{}': {}", choice.name, error.what()));
    }
  }

  Job Load(const Choice& choice) const {
    Overrides overrides = set_.Read();
    overrides.insert(overrides.end(), choice.overrides.begin(), choice.overrides.end());
    overrides.push_back({"checkpoint.every_epochs", "0"});
    return LoadJob(job_, overrides);
  }

  static std::string WhyNotItsModel(const ExecutorEntry& entry, const Job& job) {
    if (!entry.trains) return "";
    const DataSets data = OpenData(job.data(), job.seed());
    return entry.trains(BuildModel(job.model(), TaskOf(data.train->Info())));
  }

  /// Takes out the choices whose executor does not support their devices or model.
  std::vector<LeftOut> LeaveOut(std::vector<Choice>& choices) const {
    std::vector<LeftOut> left_out;
    std::erase_if(choices, [&](const Choice& choice) {
      const Job job = Load(choice);
      if (job.node.String("executor") == "auto") return false;
      const ExecutorEntry& entry = FindEntry(executors(), "executor", job.node.String("executor"));
      std::string reason = entry.supports(DevicesOf(job).all());
      if (reason.empty()) reason = WhyNotItsModel(entry, job);
      if (!reason.empty()) left_out.push_back({choice.name, entry.name + " " + reason});
      return !reason.empty();
    });
    Require(!choices.empty(), "no choice is left: {}", left_out.empty() ? "" : left_out[0].reason);
    return left_out;
  }

  /// Below --runs.
  std::string FolderOf(const Choice& choice, int round) const {
    std::string name = choice.name;
    for (char& c : name)
      if (c != '.' && c != '=' && c != '_' && !std::isalnum(static_cast<unsigned char>(c))) c = '-';
    return fmt::format("{}/{}-{}", runs_, name, round + 1);
  }

  Outcome RunOnce(const Choice& choice, int round, const std::atomic<int>& signal) const {
    const Job job = Load(choice);
    const TemporaryFolder folder("yoke-bench");
    const std::string run = runs_.empty() ? folder.path() + "/run" : FolderOf(choice, round);
    Meter meter;
    Train(job, {.run = run, .stop_signal = &signal, .observers = {&meter}});
    return meter.outcome();
  }

  void Tell(const std::vector<Choice>& choices, const std::vector<std::vector<Outcome>>& outcomes,
            const std::vector<LeftOut>& left_out, Output& out) const {
    std::vector<std::vector<std::string>> table = {
        {"choice", "seconds", "examples/s", "epochs", "train loss"}};
    List rows;
    for (size_t i = 0; i < choices.size(); ++i) {
      const Outcome middle = MedianOf(outcomes[i]);
      table.push_back(Row(choices[i].name, middle, table[0]));
      Value settings = Table();
      for (const Override& given : choices[i].overrides) settings.Set(given.key, given.value);
      List runs;
      for (const Outcome& round : outcomes[i]) runs.emplace_back(ToTable(round));
      rows.emplace_back(Join({{"name", choices[i].name}, {"settings", std::move(settings)}},
                             Join(ToTable(middle), {{"runs", std::move(runs)}})));
    }
    Table event = {{"job", job_}, {"rounds", rounds_}, {"choices", std::move(rows)}};
    List refused;
    for (const LeftOut& choice : left_out)
      refused.push_back(Table{{"name", choice.name}, {"reason", choice.reason}});
    if (!refused.empty()) event.emplace_back("left_out", std::move(refused));
    table[0].emplace_back("ended");
    for (const std::string& line : TableLines(table, {1, 2, 3, 4})) out.Text(line);
    for (const LeftOut& choice : left_out)
      out.Text(fmt::format("left out: {} ({})", choice.name, choice.reason));
    out.Event("bench", std::move(event));
  }

  /// A row of the table; adds the run's metrics to the heading.
  static std::vector<std::string> Row(const std::string& name, const Outcome& outcome,
                                      std::vector<std::string>& heading) {
    const bool ended = outcome.epochs > 0;  // completed an epoch
    std::vector<std::string> row = {name, ended ? fmt::format("{:.2f}", outcome.seconds) : "-",
                                    ended ? Count(std::llround(outcome.examples_per_second)) : "-",
                                    ended ? fmt::format("{:g}", outcome.epochs) : "0",
                                    ended ? Metric(outcome.train_loss) : "-"};
    for (const auto& [metric, value] : outcome.test) {
      if (std::find(heading.begin(), heading.end(), "test " + metric) == heading.end())
        heading.push_back("test " + metric);
      row.push_back(ended ? Metric(value) : "-");
    }
    row.resize(std::max(row.size(), heading.size()));
    row.push_back(outcome.reason);
    return row;
  }

  static constexpr double kGrowth = 20, kLongestGrowth = 86400;  // seconds
  static constexpr int kMostThreads = 256;
  static constexpr double kGiga = 1e9, kMostMemory = 1e6;  // GB/s

  std::string job_, runs_, output_;
  std::vector<std::string> executors_, with_, teams_;
  int rounds_ = 1, memory_nodes_ = 1;
  double memory_ = 0;
  bool growth_ = false;
  double seconds_ = 0;
  JobOptions set_;
};

}  // namespace

CommandEntry bench_command() {
  return {"bench", "Look into things", "Train a job under several choices, side by side",
          kBenchDetails, [] { return std::unique_ptr<Command>(new BenchCommand); }};
}

}  // namespace yoke
