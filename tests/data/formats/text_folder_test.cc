// text-folder: classes, the vocabulary of the training texts alone, hashes; what is no text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/check.h"
#include "base/registry.h"
#include "data/memory_reader.h"
#include "data/support/archives.h"
#include "data/support/memory_files.h"

namespace yoke::testing_support::text_folder_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TextFolder : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& bytes) const {
    std::filesystem::create_directories(
        std::filesystem::path(folder_.path() + "/" + name).parent_path());
    folder_.Write(name, bytes);
    return folder_.path();
  }
  TestFolder folder_;
};

LoadedData Load(const ReadFiles& files, const Table& table = {}) {
  const FormatEntry& format = FindEntry(formats(), "format", "text-folder");
  return format.load(Options("data", table, format.options), files);
}

TEST_F(TextFolder, CountsTheMostFrequentWordsOfTheTrainingTexts) {
  Write("set/train/cat/1.txt", "Purr, purr; MILK");
  Write("set/train/dog/1.txt", "bark milk milk");
  const std::string root = Write("set/test/dog/1.txt", "test test test bark milk");
  const LoadedData data = Load({.train = {root}}, {{"vocabulary", 3}});
  EXPECT_TRUE(data.info.sparse);
  EXPECT_EQ(data.info.input, (Shape{3}));
  EXPECT_THAT(data.info.encodings[0].words, ElementsAre("milk", "purr", "bark"));
  EXPECT_THAT(data.info.label_names, ElementsAre("cat", "dog"));
  EXPECT_EQ(RowText(data.train.sparse, 0), "0:0.4472136 1:0.8944272");
  EXPECT_EQ(RowText(data.test.sparse, 0), "0:0.70710677 2:0.70710677");
  EXPECT_THAT(data.test.classes.span(), ElementsAre(1));
  const LoadedData like = Load({.test = {root + "/set/train"}, .like = &data.info});
  EXPECT_EQ(RowText(like.test.sparse, 0), RowText(data.train.sparse, 0));
}

TEST_F(TextFolder, HashesWordsAlikeEverywhere) {
  const std::string root = Write("a/1", "one two two");
  Write("b/1", "two two ONE");
  const LoadedData data = Load({.train = {root}}, {{"hashes", 1000}});
  EXPECT_EQ(data.info.input, (Shape{1000}));
  EXPECT_EQ(RowText(data.train.sparse, 0), RowText(data.train.sparse, 1));
  EXPECT_EQ(data.train.sparse.ids.size(), 4);
}

TEST_F(TextFolder, SaysWhatIsNoText) {
  const std::string root = Write("a/1", "caf\xE9");
  Write("b/1", std::string("\0", 1));
  try {
    Load({.train = {root}});
    FAIL();
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("a/1: 'caf\\xe9' is not UTF-8"));
  }
  Write("a/1", "fine");
  EXPECT_THAT(Load({.train = {root}}).notes[0],
              HasSubstr("1 file is not text and was passed over"));
}

}  // namespace yoke::testing_support::text_folder_test
