// yoke report: draws runs on an HTML page.
#include "train/report/report.h"

#include "api/no_input.h"
#include "base/check.h"
#include "cli/command.h"
#include "data/writers.h"

namespace yoke {
namespace {

class ReportCommand : public Command {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Place("RUN", &runs_, "Run directories");
    arguments.Option("--output,-o", "FILE", &file_,
                     "The page (default: RUN/report.html, for several ./report.html)");
  }

  int Run(Output& out) override {
    Require(!runs_.empty(), "`yoke report` needs a run directory, such as runs/NAME");
    if (file_.empty()) file_ = runs_.size() == 1 ? runs_[0] + "/report.html" : "report.html";
    const std::string page = ReportPage(runs_);
    RequireNoInput(file_, {});
    OutputFile file(file_);
    file.Write(page);
    file.Commit();
    out.Event("report", {{"file", file_}, {"runs", ListOf(runs_)}});
    out.Text(fmt::format("report written to {}", file_));
    return 0;
  }

 private:
  std::vector<std::string> runs_;
  std::string file_;
};

}  // namespace

CommandEntry report_command() {
  return {"report", "Train and use a model", "Draw one or more runs on one HTML page",
          "The page is self-contained: open it in any browser, or send it.\n\n"
          "Examples:\n"
          "  yoke report runs/lenet\n"
          "  yoke report runs/lenet-* -o comparison.html      several runs in the same axes",
          [] { return std::unique_ptr<Command>(new ReportCommand); }};
}

}  // namespace yoke
