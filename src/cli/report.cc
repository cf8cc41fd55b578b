// yoke report: draws runs on an HTML page.
#include "train/report/report.h"

#include <filesystem>

#include "base/check.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "data/writers.h"
#include "train/number_format.h"
#include "train/record/run_directory.h"

namespace yoke {
namespace {

class ReportCommand : public Command {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Place("RUN", &runs_, "Run directories");
    arguments.Option("--output,-o", "FILE", &file_,
                     "The page (default: RUN/report.html, for several ./report.html)");
    arguments.Option("--csv", "FILE.csv", &csv_,
                     "Write the figures as a table instead: a line an epoch of each run");
  }

  int Run(Output& out) override {
    Require(!runs_.empty(), "`yoke report` needs a run directory, such as runs/NAME");
    const std::vector<SeedGroup> groups = SeedGroupsOf(runs_);
    if (!csv_.empty()) {
      Require(file_.empty(), "--csv writes a table and --output a page: leave out one of them");
      Require(csv_.ends_with(".csv"), "{}: expected a name that ends in .csv", csv_);
      Write(csv_, RunsAsCsv(runs_), groups, out);
      return 0;
    }
    if (file_.empty()) file_ = runs_.size() == 1 ? runs_[0] + "/report.html" : "report.html";
    const std::string page = ReportPage(runs_);
    RequireNoInput(file_, {});
    RequirePageName();
    Write(file_, page, groups, out);
    return 0;
  }

 private:
  void Write(const std::string& path, const std::string& text, const std::vector<SeedGroup>& groups,
             Output& out) const {
    RequireNoInput(path, {});
    OutputFile file(path);
    file.Write(text);
    file.Commit();
    List seeds;
    for (const SeedGroup& group : groups) {
      Table figures;
      std::string line = fmt::format("{} runs by seed, {}, ...:", group.runs.size(), group.runs[0]);
      for (const auto& [metric, mean, deviation] : group.figures) {
        figures.emplace_back(metric, Table{{"mean", mean}, {"deviation", deviation}});
        line += fmt::format("  {} {} +- {}", metric, Metric(mean), Metric(deviation));
      }
      seeds.push_back(Table{{"runs", ListOf(group.runs)}, {"metrics", std::move(figures)}});
      out.Text(OneLine(line));
    }
    out.Event("report", {{"file", path}, {"runs", ListOf(runs_)}, {"seeds", std::move(seeds)}});
    out.Text(fmt::format("report written to {}", path));
  }

  /// Devices and pipes take the page under any name.
  void RequirePageName() const {
    std::error_code none;
    const bool in_place =
        std::filesystem::exists(file_, none) && !std::filesystem::is_regular_file(file_, none);
    Require(in_place || file_.ends_with(".html") || file_.ends_with(".htm"),
            "{}: the report is a page, expected a name that ends in .html", file_);
  }

  std::vector<std::string> runs_;
  std::string file_;
  std::string csv_;
};

}  // namespace

CommandEntry report_command() {
  return {"report", "Train and use a model", "Draw one or more runs on one HTML page",
          "The page is self-contained: open it in any browser, or send it.\n\n"
          "Examples:\n"
          "  yoke report runs/lenet\n"
          "  yoke report runs/lenet-* -o comparison.html      several runs in the same axes\n"
          "  yoke report runs/seed-* --csv figures.csv        a table, and mean and deviation over "
          "seeds",
          [] { return std::unique_ptr<Command>(new ReportCommand); }};
}

}  // namespace yoke
