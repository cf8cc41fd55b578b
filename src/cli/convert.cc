// yoke convert: converts extreme classification data between its formats, and writes a job's data.
#include <algorithm>
#include <array>
#include <filesystem>

#include "base/check.h"
#include "base/clock.h"
#include "base/options.h"
#include "base/registry.h"
#include "cli/command.h"
#include "data/memory_reader.h"
#include "data/writers.h"
#include "data/xmc_binary.h"
#include "train/job/job.h"
#include "train/number_format.h"
#include "train/record/run_directory.h"

namespace yoke {
namespace {

const std::string kText = "xmc";
const std::string kBinary = "xmc-binary";
const std::vector<std::string> kFormats = {kText, kBinary};

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
  void Declare(Arguments& arguments) override {
    arguments.Place("IN", &input_, "File to read, compressed or not, or a job (NAME.toml)");
    arguments.Place("OUT", &output_, "File to write; of a job a folder for its data sets");
    arguments.Option("--from", "FORMAT", &from_,
                     "xmc or xmc-binary (default: what the file begins with)");
    arguments.Option("--to", "FORMAT", &to_, "xmc or xmc-binary (default: the other one)");
  }

  int Run(Output& out) override {
    Require(!input_.empty() && !output_.empty(),
            "`yoke convert` needs a file to read and a file to write");
    if (input_.ends_with(".toml")) return ConvertJob(out);
    RequireNoInput(output_, {input_});
    if (from_.empty()) from_ = FormatOf(input_);
    if (to_.empty()) to_ = from_ == kText ? kBinary : kText;
    for (const std::string& format : {from_, to_})
      if (std::ranges::find(kFormats, format) == kFormats.end())
        throw UserError(UnknownName("format", format, kFormats));
    const double start = Now();
    LoadedData loaded = LoadFile(from_, input_);
    const double loaded_at = Now();
    const int64_t examples = loaded.train.size, features = loaded.info.input[0],
                  labels = loaded.info.outputs;
    const Table entries = {{"feature_entries", loaded.train.sparse.ids.size()},
                           {"label_entries", loaded.train.labels.ids.size()}};
    const int64_t bytes = Write(std::move(loaded));
    const double seconds = Now() - start;
    out.Event("convert",
              Join(Join({{"input", input_},
                         {"output", output_},
                         {"from", from_},
                         {"to", to_},
                         {"examples", examples},
                         {"features", features},
                         {"labels", labels}},
                        entries),
                   {{"bytes", bytes}, {"load_seconds", loaded_at - start}, {"seconds", seconds}}));
    out.Text(fmt::format("{} ({}): {} examples, {} features, {} labels, {} in {}", output_, to_,
                         Count(examples), Count(features), Count(labels),
                         Bytes(static_cast<double>(bytes)), Duration(seconds)));
    return 0;
  }

 private:
  /// Returns the number of bytes.
  int64_t Write(LoadedData loaded) const {
    if (to_ == kBinary) return WriteXmcBinary(loaded.info, loaded.train, output_);
    return WriteXmc(MemoryReader(loaded.info, std::move(loaded.train)), output_);
  }

  int ConvertJob(Output& out) const {
    Require(from_.empty() && to_.empty(),
            "a job's data become XMC text: leave out --from and --to");
    const Job job = LoadJob(input_, {});
    const DataSets sets = OpenData(job.data(), job.seed());
    const DataInfo& info = sets.train->Info();
    Require(info.sparse && info.multi_label,
            "{}: XMC text holds sparse examples with several labels, and the data of format {} are "
            "of another kind",
            input_, *job.data().Find("format")->AsString());
    std::error_code failed;
    std::filesystem::create_directories(output_, failed);
    Require(!failed, "cannot make the folder {}: {}", output_, failed.message());
    WriteSet("train", *sets.train, job, out);
    if (sets.validation) WriteSet("validation", *sets.validation, job, out);
    if (sets.test) WriteSet("test", *sets.test, job, out);
    return 0;
  }

  void WriteSet(const std::string& set, const Reader& reader, const Job& job, Output& out) const {
    const std::string file = fmt::format("{}/{}.txt", output_, set);
    RequireNoInput(file, InputsOf(job, input_));
    const int64_t bytes = WriteXmc(reader, file);
    const DataInfo& info = reader.Info();
    out.Event("convert", {{"input", input_},
                          {"output", file},
                          {"to", kText},
                          {"examples", reader.Size()},
                          {"features", info.input[0]},
                          {"labels", info.outputs},
                          {"bytes", bytes}});
    out.Text(fmt::format("{} ({}): {} examples, {} features, {} labels, {}", file, kText,
                         Count(reader.Size()), Count(info.input[0]), Count(info.outputs),
                         Bytes(static_cast<double>(bytes))));
  }

  std::string input_, output_, from_, to_;
};

}  // namespace

CommandEntry convert_command() {
  return {"convert", "Data", "Convert XMC text to a binary format that loads at once, and back",
          "Reads extreme classification data whole and writes it in another format; the file "
          "appears when it is complete. Of a job whose data are sparse with a set of labels, such "
          "as text, it writes the sets as XMC text for other programs.\n"
          "Examples:\n"
          "  yoke convert train.txt.gz train.xmcb               text into xmc-binary\n"
          "  yoke convert train.xmcb train.txt                  and back, every number unchanged\n"
          "  yoke convert train.txt.gz sorted.txt --to xmc      ids sorted, numbers as short as "
          "possible\n"
          "  yoke convert examples/skip-gram.toml examples      a word and the words around it: "
          "examples/train.txt and test.txt, and validation.txt with a validation share",
          [] { return std::unique_ptr<Command>(new ConvertCommand); }};
}

}  // namespace yoke
