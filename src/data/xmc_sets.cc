// Loads the files of both sets, and takes the maximum widths.
#include "data/xmc.h"

#include <algorithm>

#include "base/check.h"

namespace yoke {
namespace {

int64_t TopOf(const Options& options, int64_t features) {
  if (!options.Has("features")) return features;
  Require(options.Int("features") >= features,
          "{}: the files have {} features; expected at least as many", options.Where("features"),
          features);
  return options.Int("features");
}

}  // namespace

LoadedData LoadXmcSets(const Options& options, const ReadFiles& files, ReadXmcFile read) {
  LoadedData loaded(files.memory_limit);
  XmcWidths most;
  auto read_all = [&](const std::vector<std::string>& paths, MemoryData& data) {
    for (const std::string& path : paths) {
      const auto source = files.open(path);
      const XmcWidths widths = read(*source, files, data);
      most.features = std::max(most.features, widths.features);
      most.labels = std::max(most.labels, widths.labels);
    }
  };
  read_all(files.train, loaded.train);
  read_all(files.test, loaded.test);
  loaded.info = {.input = {files.like ? files.like->input[0] : TopOf(options, most.features)},
                 .sparse = true,
                 .multi_label = true,
                 .outputs = files.like ? files.like->outputs : most.labels};
  return loaded;
}

}  // namespace yoke
