// yoke convert: converts extreme classification data between its formats.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/clock.h"
#include "base/options.h"
#include "base/registry.h"
#include "cli/command.h"
#include "cli/output_path.h"
#include "data/memory_reader.h"
#include "data/writers.h"
#include "data/xmc_binary.h"
#include "train/number_format.h"

namespace yoke {
namespace {

const std::string kText = "xmc";
const std::string kBinary = "xmc-binary";
const std::vector<std::string> kForms = {kText, kBinary};

/// Detects a file's format from its first bytes.
std::string FormatOf(const std::string& path) {
  const std::array<char, 8> magic = XmcBinaryHeader().magic;
  std::array<char, 8> first{};
  const auto source = OpenSource(path);
  BinaryInput(*source).Read(first.data(), first.size());
  return first == magic ? kBinary : kText;
}

LoadedData LoadFile(const std::string& format_name, const std::string& path) {
  const FormatEntry& format = FindEntry(formats(), "format", format_name);
  constexpr int64_t kLargeArrays = 4;  // ids and values of features, ids of labels, offsets
  return format.load(
      Options("data", Table{{"format", format_name}}, common_data_options()),
      ReadFiles{.train = {path}, .memory_limit = DefaultMemoryLimit() / kLargeArrays});
}

class ConvertCommand : public Command {
 public:
  void Declare(CLI::App& app) override {
    app.add_option("IN", input_, "File to read, compressed or not")->option_text(" ");
    app.add_option("OUT", output_, "File to write")->option_text(" ");
    app.add_option("--from", from_, "xmc or xmc-binary (default: what the file begins with)")
        ->option_text("FORMAT");
    app.add_option("--to", to_, "xmc or xmc-binary (default: the other one)")
        ->option_text("FORMAT");
  }

  int Run(Output& out) override {
    Require(!input_.empty() && !output_.empty(),
            "`yoke convert` needs a file to read and a file to write");
    RequireNoInput(output_, {input_});
    if (from_.empty()) from_ = FormatOf(input_);
    if (to_.empty()) to_ = from_ == kText ? kBinary : kText;
    for (const std::string& form : {from_, to_})
      if (std::ranges::find(kForms, form) == kForms.end())
        throw UserError(UnknownName("form of data", form, kForms));
    const double start = Now();
    LoadedData loaded = LoadFile(from_, input_);
    const Json counts = {{"examples", loaded.train.size},
                         {"features", loaded.info.input[0]},
                         {"labels", loaded.info.outputs},
                         {"feature_entries", loaded.train.sparse.ids.size()},
                         {"label_entries", loaded.train.labels.ids.size()}};
    const double loaded_at = Now();
    const int64_t bytes = Write(std::move(loaded));
    Report(counts, bytes, {loaded_at - start, Now() - start}, out);
    return 0;
  }

 private:
  struct Seconds {
    double load, all;
  };

  /// Returns the number of bytes.
  int64_t Write(LoadedData loaded) const {
    if (to_ == kBinary) return WriteXmcBinary(loaded.info, loaded.train, output_);
    return WriteXmc(MemoryReader(loaded.info, std::move(loaded.train)), output_);
  }

  void Report(const Json& counts, int64_t bytes, const Seconds& seconds, Output& out) const {
    Json event = {{"input", input_}, {"output", output_}, {"from", from_}, {"to", to_}};
    event.update(counts);
    event.update({{"bytes", bytes}, {"load_seconds", seconds.load}, {"seconds", seconds.all}});
    out.Event("convert", event);
    out.Text(fmt::format("{} ({}): {} examples, {} features, {} labels, {} in {}", output_, to_,
                         Count(counts["examples"]), Count(counts["features"]),
                         Count(counts["labels"]), Bytes(static_cast<double>(bytes)),
                         Duration(seconds.all)));
  }

  std::string input_, output_, from_, to_;
};

}  // namespace

CommandEntry convert_command() {
  return {"convert", "Data", "Convert XMC text to a binary form that loads at once, and back",
          "Reads extreme classification data whole and writes it in another form; the file appears "
          "when it is complete.\n"
          "Examples:\n"
          "  yoke convert train.txt.gz train.xmcb               text into xmc-binary\n"
          "  yoke convert train.xmcb train.txt                  and back, every number unchanged\n"
          "  yoke convert train.txt.gz sorted.txt --to xmc      ids sorted, numbers as short as "
          "possible",
          [] { return std::unique_ptr<Command>(new ConvertCommand); }};
}

}  // namespace yoke
