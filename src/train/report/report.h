// Report: one or several runs as one HTML page that needs nothing else.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace yoke {

/// The page for run directories: page/, which draws, around RunsAsJson. Throws UserError with a
/// folder that is not a run.
std::string ReportPage(const std::vector<std::string>& runs);

/// What the page draws: {"yoke": version, "runs": [...]}. A run has its name (less the folder that
/// all have in common), its job as keys and as text, the events of metrics.jsonl that tell what was
/// trained, and, where it has them, timeline.json and plan.toml. Lines that are damaged are left
/// out.
std::string RunsAsJson(const std::vector<std::string>& runs);

/// The figures as a table in CSV: a line for each epoch, evaluation between epochs and end of each
/// run. A metric is a column, such as test_accuracy.
std::string RunsAsCsv(const std::vector<std::string>& runs);

/// Runs whose jobs differ in the seed alone, and their last test metrics (of the validation data,
/// where there are no test data).
struct SeedGroup {
  struct Figure {
    std::string metric;
    double mean = 0, deviation = 0;  ///< The standard deviation of a sample.
  };
  std::vector<std::string> runs;
  std::vector<Figure> figures;
};
/// The groups of two runs and more.
std::vector<SeedGroup> SeedGroupsOf(const std::vector<std::string>& runs);

/// The template of the page: the build makes it out of page/ (cmake/embed.cmake).
std::string_view ReportTemplate();

}  // namespace yoke
