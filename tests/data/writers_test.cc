// Writers: what is written reads back as it was; a failure leaves nothing behind.
#include "data/writers.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <numeric>

#include "base/registry.h"
#include "data/digits.h"
#include "data/memory_reader.h"
#include "data/xmc.h"

namespace yoke::writers_test {

class WritersTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              fmt::format("yoke_writers_{}_{}", getpid(),
                          testing::UnitTest::GetInstance()->random_seed());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string Path(const std::string& name) const { return folder_ / name; }
  size_t Files() const {
    return std::distance(std::filesystem::directory_iterator(folder_),
                         std::filesystem::directory_iterator());
  }

  std::filesystem::path folder_;
};

LoadedData Load(const std::string& format_name, const std::vector<std::string>& paths) {
  const FormatEntry& format = FindEntry(formats(), "format", format_name);
  std::vector<OptionSpec> specs = common_data_options();
  specs.insert(specs.end(), format.options.begin(), format.options.end());
  ReadFiles files;
  files.train = paths;
  return format.load(Options("data", Table{{"format", format_name}}, specs), files);
}

template <typename T>
std::vector<T> Items(const GrowingArray<T>& array) {
  return {array.span().begin(), array.span().end()};
}

MemoryReader XmcReader() {
  DataInfo info;
  info.input = {300};
  info.sparse = info.multi_label = true;
  info.outputs = 40;
  MemoryData data;
  GenerateXmc({.features = 300, .labels = 40}, false, 1500, data);
  data.labels.EndRow(), data.sparse.EndRow();  // neither label nor feature
  ++data.size;
  return {info, std::move(data)};
}

MemoryReader DigitsReader(int64_t size) {
  DataInfo info;
  info.input = {1, kDigitSide, kDigitSide};
  info.outputs = 10;
  info.normalization = {.scale = 1.0 / 255, .mean = {0.1}, .deviation = {0.3}};
  for (int i = 0; i < 10; ++i) info.label_names.push_back(std::to_string(i));
  MemoryData data;
  data.size = size;
  data.bytes.Extend(size * kDigitPixels), data.classes.Extend(size);
  for (int64_t i = 0; i < size; ++i)
    data.classes[i] = DrawDigit({.index = i}, data.bytes.data() + i * kDigitPixels);
  return {info, std::move(data)};
}

Batch ReadAllOf(const Reader& reader) {
  std::vector<int64_t> examples(reader.Size());
  std::iota(examples.begin(), examples.end(), 0);
  Batch batch;
  reader.Read({.examples = examples}, batch);
  return batch;
}

TEST_F(WritersTest, XmcReadsBackExactly) {
  const MemoryReader reader = XmcReader();
  WriteXmc(reader, Path("a.txt"));
  const LoadedData data = Load("xmc", {Path("a.txt")});
  const Batch batch = ReadAllOf(reader);
  EXPECT_EQ(data.info.input[0], 300);
  EXPECT_EQ(data.info.outputs, 40);
  EXPECT_EQ(Items(data.train.sparse.offsets), batch.sparse.offsets);
  EXPECT_EQ(Items(data.train.sparse.ids), batch.sparse.ids);
  EXPECT_EQ(Items(data.train.sparse.values), batch.sparse.values);
  EXPECT_EQ(Items(data.train.labels.offsets), batch.labels.offsets);
  EXPECT_EQ(Items(data.train.labels.ids), batch.labels.ids);
}

TEST_F(WritersTest, IdxReadsBackExactly) {
  WriteIdx(DigitsReader(1100), Path("images"), Path("labels"));
  const LoadedData data = Load("idx", {Path("images"), Path("labels")});
  EXPECT_EQ(data.info.input, (Shape{1, kDigitSide, kDigitSide}));
  ASSERT_EQ(data.train.size, 1100);
  std::vector<uint8_t> image(kDigitPixels);
  for (int64_t i = 0; i < 1100; ++i) {
    const int digit = DrawDigit({.index = i}, image.data());
    EXPECT_EQ(data.info.label_names[data.train.classes[i]], std::to_string(digit));
    ASSERT_TRUE(
        std::ranges::equal(image, data.train.bytes.span().subspan(i * kDigitPixels, kDigitPixels)));
  }
}

TEST_F(WritersTest, RefusesDataOfAnotherKind) {
  EXPECT_THROW(WriteXmc(DigitsReader(1), Path("a")), UserError);
  EXPECT_THROW(WriteIdx(XmcReader(), Path("a"), Path("b")), UserError);
  EXPECT_EQ(Files(), 0U);
}

TEST_F(WritersTest, SaysWhereItCannotWrite) {
  const std::string path = Path("absent/a.txt");
  try {
    WriteXmc(XmcReader(), path);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find(path), std::string::npos);
  }
}

/// Fails after the first block, as a full disk would.
class Failing : public Reader {
 public:
  const DataInfo& Info() const override { return reader_.Info(); }
  int64_t Size() const override { return reader_.Size(); }
  void Read(const ReadRequest& request, Batch& batch) const override {
    if (request.examples[0] > 0) throw Error("no more");
    reader_.Read(request, batch);
  }

 private:
  MemoryReader reader_ = XmcReader();
};

TEST_F(WritersTest, FailureKeepsTheFileThatWasThere) {
  const std::string path = Path("a.txt");
  WriteXmc(XmcReader(), path);
  const auto before = std::filesystem::file_size(path);
  EXPECT_THROW(WriteXmc(Failing(), path), Error);
  EXPECT_EQ(std::filesystem::file_size(path), before);
  EXPECT_EQ(Files(), 1U);
}

// A limit on the size of files stands for a full disk.
TEST_F(WritersTest, FullDiskIsSaidAndLeavesNothing) {
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small = {.rlim_cur = 10000, .rlim_max = before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  std::string sentence;
  try {
    WriteXmc(XmcReader(), Path("a.txt"));
  } catch (const Error& error) {
    sentence = error.what();
  }
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_NE(sentence.find("a.txt: cannot be written"), std::string::npos) << sentence;
  EXPECT_EQ(Files(), 0U);
}

}  // namespace yoke::writers_test
