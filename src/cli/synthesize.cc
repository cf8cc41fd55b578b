// yoke synthesize: writes built-in data as files, for other programs and for benchmarks.
#include <filesystem>

#include "base/check.h"
#include "base/options.h"
#include "cli/command.h"
#include "data/reader.h"
#include "data/writers.h"
#include "train/number_format.h"

namespace yoke {
namespace {

/// An option that sets a number of the kind's format.
struct Number {
  const char* option;
  const char* key;
  const char* help;
  bool whole;
};

constexpr Number kNumbers[] = {
    {"--train-size", "train_size", "Training examples (digits: 12000, xmc: 10000)", true},
    {"--test-size", "test_size", "Test examples (2000)", true},
    {"--seed", "seed", "Seed of the data (1)", true},
    {"--features", "features", "xmc: number of features (10000)", true},
    {"--labels", "labels", "xmc: number of labels (1000)", true},
    {"--nonzeros", "nonzeros", "xmc: mean features of an example (75)", false},
    {"--labels-per-example", "labels_per_example", "xmc: mean labels of an example (5)", false},
};

const std::vector<std::string> kKinds = {"digits", "xmc"};

class SynthesizeCommand : public Command {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Place("KIND", &kind_, "digits (idx files) or xmc (XMC text)");
    arguments.Option("--out", "DIR", &folder_, "Folder for the files (default: KIND)");
    for (const Number& number : kNumbers) {
      auto set = [this, key = number.key](const auto& value) { data_.Set(key, Value(value)); };
      if (number.whole)
        arguments.Option(number.option, "N", std::function<void(const int64_t&)>(set), number.help);
      else
        arguments.Option(number.option, "N", std::function<void(const double&)>(set), number.help);
    }
  }

  int Run(Output& out) override {
    Require(!kind_.empty(), "`yoke synthesize` needs a kind of data: digits or xmc");
    if (std::find(kKinds.begin(), kKinds.end(), kind_) == kKinds.end())
      throw UserError(UnknownName("kind of data", kind_, kKinds));
    data_.Set("format", "synthetic-" + kind_);
    const DataSets sets = OpenData(data_, 1);
    if (folder_.empty()) folder_ = kind_;
    std::error_code failed;
    std::filesystem::create_directories(folder_, failed);
    Require(!failed, "cannot make the folder {}: {}", folder_, failed.message());
    Write("train", *sets.train, out);
    if (sets.test) Write("test", *sets.test, out);
    return 0;
  }

 private:
  void Write(const std::string& set, const Reader& reader, Output& out) const {
    std::vector<std::string> files;
    if (kind_ == "xmc") {
      files = {fmt::format("{}/{}.txt", folder_, set)};
      WriteXmc(reader, files[0]);
    } else {
      files = {fmt::format("{}/{}-images-idx3-ubyte", folder_, set),
               fmt::format("{}/{}-labels-idx1-ubyte", folder_, set)};
      WriteIdx(reader, files[0], files[1]);
    }
    out.Event("synthesize", {{"set", set}, {"examples", reader.Size()}, {"files", ListOf(files)}});
    for (const std::string& file : files)
      out.Text(fmt::format("{} ({} examples)", file, Count(reader.Size())));
  }

  std::string kind_;
  std::string folder_;
  Value data_;
};

}  // namespace

CommandEntry synthesize_command() {
  return {"synthesize", "Data", "Write built-in data as files",
          "Examples:\n"
          "  yoke synthesize digits --train-size 60000 --out digits     four idx files\n"
          "  yoke synthesize xmc --features 100000 --labels 200000 --train-size 100000 --out big",
          [] { return std::unique_ptr<Command>(new SynthesizeCommand); }};
}

}  // namespace yoke
