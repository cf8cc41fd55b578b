// Every way in which a file can be bad, for every format: one line that names the file, the place
// and what was expected.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/check.h"
#include "base/random.h"
#include "data/support/archives.h"
#include "data/support/binary_files.h"
#include "data/support/memory_files.h"

namespace yoke::testing_support::bad_input_test {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// A training file and how the message about it must begin.
struct BadFile {
  const char* format;
  const char* what;
  std::string content;
  const char* begins;
  Table options = {};
};

void PrintTo(const BadFile& bad, std::ostream* out) { *out << bad.format << ", " << bad.what; }

std::vector<BadFile> BadLibsvm() {
  const std::string good = "-1 1:1 2:0.5\n";
  return {{"libsvm", "a word as value", good + "+1 3:x\n", "train:2: expected 'id:value'"},
          {"libsvm", "a negative id", good + "+1 -3:1\n", "train:2: expected 'id:value'"},
          {"libsvm", "not a number", good + "+1 3:nan\n", "train:2: expected 'id:value'"},
          {"libsvm", "infinity", good + "+1 3:inf\n", "train:2: expected 'id:value'"},
          {"libsvm", "overflow", good + "+1 3:1e999\n", "train:2: expected 'id:value'"},
          {"libsvm", "overflow of f32", good + "+1 3:1e39\n", "train:2: expected 'id:value'"},
          {"libsvm", "a word as label", good + "label 1:1\n",
           "train:2: expected a label that is a number, got 'label'"},
          {"libsvm", "nan as label", good + "nan 1:1\n", "train:2: expected a label"},
          {"libsvm", "no label", good + "1:1 2:1\n", "train:2: expected a label"},
          {"libsvm", "no colon", good + "+1 3\n", "train:2: expected 'id:value'"},
          {"libsvm", "no value", good + "+1 3:\n", "train:2: expected 'id:value'"},
          {"libsvm", "no id", good + "+1 3:1 :2\n", "train:2: expected 'id:value'"},
          {"libsvm", "a fraction as id", good + "+1 3.5:1\n", "train:2: expected 'id:value'"},
          {"libsvm", "an id too large", good + "+1 99999999999999999999:1\n",
           "train:2: expected 'id:value'"},
          {"libsvm", "an id beyond 32 bits", good + "+1 2147483648:1\n",
           "train:2: expected 'id:value'"},
          {"libsvm", "an id that makes a model too large", good + "+1 2147483646:1\n",
           "train:2: feature 2147483646 would make"},
          {"libsvm", "UTF-16", {"\xFF\xFE\x31\0 \0", 6}, "train:1: the file is UTF-16 text"},
          {"libsvm", "text behind a value", good + "+1 3:1x\n", "train:2: expected 'id:value'"},
          {"libsvm", "an id twice", good + "+1 3:1 3:2\n", "train:2: 3 occurs twice"},
          {"libsvm", "an id twice, apart", good + "+1 3:1 1:1 3:1\n", "train:2: 3 occurs twice"},
          {"libsvm", "a blank line inside", good + "\n" + good, "train:3: line 2 above is blank"},
          {"libsvm",
           "a feature outside",
           good + "1 9:1\n",
           "train:2: feature 9 is outside",
           {{"features", 8}}},
          {"libsvm", "zero bytes", std::string("\0\0\n", 3), "train:1: expected a label"},
          {"libsvm", "no feature at all", "1\n2\n", "train: no line holds a feature"},
          {"libsvm", "empty", "", "train: the file is empty"},
          {"libsvm", "only blank lines", "\n \n", "train: the file is empty"}};
}

std::vector<BadFile> BadXmc() {
  return {
      {"xmc", "empty", "", "train: the file is empty"},
      {"xmc", "no header", "1 0:1\n", "train:1: expected three whole numbers"},
      {"xmc", "two numbers", "1 5\n", "train:1: expected three whole numbers"},
      {"xmc", "four numbers", "1 5 5 5\n1 1:1\n", "train:1: expected three whole numbers"},
      {"xmc", "negative counts", "-1 5 5\n1 1:1\n", "train:1: expected three whole numbers"},
      {"xmc", "zero features", "1 0 5\n1 1:1\n", "train:1: expected three whole numbers"},
      {"xmc", "counts too large", "1 5 99999999999\n1 1:1\n",
       "train:1: expected three whole numbers"},
      {"xmc", "too few lines", "3 5 5\n1 1:1\n1 1:1\n", "train:3: the file ends after 2 examples"},
      {"xmc", "a promise too large", "2000000000 5 5\n1 1:1\n",
       "train:2: the file ends after 1 examples"},
      {"xmc", "too many lines", "1 5 5\n1 1:1\n1 1:1\n",
       "train:3: expected the end after 1 examples"},
      {"xmc", "a label outside", "1 5 5\n5 1:1\n", "train:2: label 5 is outside"},
      {"xmc", "a feature outside", "1 5 5\n1 5:1\n", "train:2: feature 5 is outside"},
      {"xmc", "a negative label", "1 5 5\n-1 1:1\n", "train:2: expected labels"},
      {"xmc", "a label that overflows", "1 5 5\n99999999999999999999 1:1\n",
       "train:2: expected labels"},
      {"xmc", "a word as label", "1 5 5\nx 1:1\n", "train:2: expected labels"},
      {"xmc", "a fraction as label", "1 5 5\n1.5 1:1\n", "train:2: expected labels"},
      {"xmc", "a comma too many", "1 5 5\n1, 1:1\n", "train:2: expected labels"},
      {"xmc", "no blank before features", "1 5 5\n1:1\n", "train:2: expected labels"},
      {"xmc", "a label twice", "1 5 5\n1,2,1 1:1\n", "train:2: 1 occurs twice"},
      {"xmc", "a feature twice", "1 5 5\n1 1:1 1:2\n", "train:2: 1 occurs twice"},
      {"xmc", "a word as value", "1 5 5\n1 1:x\n", "train:2: expected 'feature:value'"},
      {"xmc", "not a number", "1 5 5\n1 1:nan\n", "train:2: expected 'feature:value'"},
      {"xmc", "infinity", "1 5 5\n1 1:-inf\n", "train:2: expected 'feature:value'"},
      {"xmc", "overflow", "1 5 5\n1 1:1e999\n", "train:2: expected 'feature:value'"},
      {"xmc", "no colon", "1 5 5\n1 1\n", "train:2: expected 'feature:value'"},
      {"xmc", "a negative feature", "1 5 5\n1 -1:1\n", "train:2: expected 'feature:value'"}};
}

std::vector<BadFile> BadCsv() {
  return {
      {"csv", "empty", "", "train: the file holds no example"},
      {"csv", "UTF-16 without a mark", {"1\0,\0\n", 5}, "train:1: the file is UTF-16 text"},
      {"csv", "UTF-16, big-endian", {"\0001\0,\0\n", 6}, "train:1: the file is UTF-16 text"},
      {"csv", "UTF-32", {"\xFF\xFE\0\0\x31\0\0\0", 8}, "train:1: the file is UTF-32 text"},
      {"csv", "only names", "a,b\n", "train: the file holds no example"},
      {"csv", "one column", "1\n", "train:1: 0 columns besides the label"},
      {"csv", "a row too short", "1,2,3\n1,2\n", "train:2: 2 columns; expected 3"},
      {"csv", "a row too long", "1,2,3\n1,2,3,4\n", "train:2: 4 columns; expected 3"},
      {"csv", "a label in Latin-1", "1,2,tea\n1,2,caf\xE9\n",
       "train:2: the label 'caf\\xe9' is not UTF-8; convert the file"},
      {"csv", "a word", "1,2,3\n1,x,3\n", "train:2: column 1: expected a finite number, got 'x'"},
      {"csv", "infinity", "1,2,3\ninf,2,3\n", "train:2: column 0: expected a finite number"},
      {"csv", "overflow", "1,2,3\n1e999,2,3\n", "train:2: column 0: expected a finite number"},
      {"csv", "no class", "1,2,3\n1,2,\n", "train:2: expected a class or number in column 2"},
      {"csv", "an open quote", "1,2,3\n1,2,\"3\n", "train:2: a quote is not closed"},
      {"csv", "text behind a quote", "1,2,3\n1,\"2\"2,3\n", "train:2: expected the delimiter"},
      {"csv", "a blank line inside", "1,2\n\n1,2\n", "train:3: line 2 above is blank"},
      {"csv",
       "a label column outside",
       "1,2\n",
       "train:1: 2 columns; expected a label in column 5",
       {{"label", 5}}}};
}

std::vector<BadFile> BadIdx() {
  return {
      {"idx", "empty", "", "train: the file is empty"},
      {"idx", "wrong magic", "\x89PNG rest", "train: wrong magic number at byte 0"},
      {"idx", "an unknown type", Idx(7, {1, 1}, "x"), "train: wrong magic number"},
      {"idx", "no axis", Idx(8, {}, "x"), "train: wrong magic number"},
      {"idx", "cut in the magic", std::string("\0\0\x08", 3), "train: wrong magic number"},
      {"idx", "cut in the header", Idx(8, {2, 2}, "").substr(0, 9),
       "train: the file ends in its header at byte 9"},
      {"idx", "cut in the numbers", Idx(8, {3, 2}, "abc"), "train: the file ends at byte 15"},
      {"idx", "bytes behind the numbers", Idx(8, {1, 2}, "abc"),
       "train: more bytes follow at byte 14"},
      {"idx", "an axis of 0", Idx(8, {0, 2}, ""), "train: its header says 0x2 numbers"},
      {"idx", "axes that overflow", Idx(8, {4000000000, 4000000000, 4000000000}, "abc"),
       "train: its header says"},
      {"idx", "a promise too large", Idx(8, {2000000000, 28, 28}, "abc"),
       "train: the file ends at byte 19"},
      {"idx", "infinity", Idx(0x0D, {1, 1}, {"\x7f\x80\0\0", 4}),
       "train: the number at byte 12 is inf"},
      {"idx", "not a number", Idx(0x0E, {1, 1}, {"\x7f\xf8\0\0\0\0\0\0", 8}),
       "train: the number at byte 12 is nan"},
      {"idx", "images without labels", Idx(8, {1, 2, 2}, "abcd"), "train: 1 examples but 0 labels"},
      {"idx", "labels without images", Idx(8, {1}, "a"), "train: only labels"}};
}

std::vector<BadFile> BadCifar() {
  return {{"cifar", "empty", "", "train: the file is empty"},
          {"cifar", "a label outside", CifarRecord({10}),
           "train: record 0 (byte 0): label 10; expected 0 to 9"},
          {"cifar", "cut in a record", CifarRecord({1}) + CifarRecord({1}).substr(0, 99),
           "train: the file is truncated in the record at byte 3073"},
          {"cifar",
           "a fine label outside",
           CifarRecord({1, 100}),
           "train: record 0 (byte 0): label 100",
           {{"label_bytes", 2}}}};
}

std::vector<BadFile> BadSkipGram() {
  return {{"skip-gram", "empty", "", "train: the file is empty; expected text"},
          {"skip-gram", "only blanks", " \n\n\t", "train: the file is empty; expected text"},
          {"skip-gram", "zero bytes", {"a b\nc\0d e\n", 10}, "train:2: 'c\\x00d' is no word"},
          {"skip-gram", "Latin-1", "tea\ncaf\xE9 tea\n", "train:2: 'caf\\xe9' is no word"},
          {"skip-gram", "UTF-16", {"\xFF\xFE\x31\0 \0", 6}, "train:1: '\\xff"},
          {"skip-gram", "no blanks", std::string(5000, 'x'), "train:1: a word of more than 4096"},
          {"skip-gram", "a blank too late", std::string(5000, 'x') + " y\n",
           "train:1: a word of more than 4096"},
          {"skip-gram", "only a byte order mark", "\xEF\xBB\xBF\n",
           "train: the file is empty; expected text"},
          {"skip-gram", "rare words", "a a a a a b b b b\n",
           "train: too few different words occur 5 times or more: 1; expected two"},
          {"skip-gram",
           "one word in all",
           "a a a\n",
           "train: too few different words occur 1 times or more: 1; expected two",
           {{"min_count", 1}}},
          {"skip-gram",
           "nothing left",
           "a b a b a b\n",
           "train: fewer than two words are left",
           {{"min_count", 1}, {"subsample", 1e-12}}}};
}

class BadInput : public ::testing::TestWithParam<BadFile> {};

TEST_P(BadInput, IsAnsweredWithOneLine) {
  const BadFile& bad = GetParam();
  for (const size_t piece : {size_t{7}, size_t{1} << 20}) {
    LoadCase load = TrainCase(bad.format, bad.content, bad.options);
    load.piece = piece;
    const std::string error = LoadError(load);
    EXPECT_THAT(error, StartsWith(bad.begins));
    EXPECT_EQ(error.find('\n'), error.npos);
    EXPECT_LT(error.size(), 300U);
  }
}

INSTANTIATE_TEST_SUITE_P(Libsvm, BadInput, ::testing::ValuesIn(BadLibsvm()));
INSTANTIATE_TEST_SUITE_P(Xmc, BadInput, ::testing::ValuesIn(BadXmc()));
INSTANTIATE_TEST_SUITE_P(Csv, BadInput, ::testing::ValuesIn(BadCsv()));
INSTANTIATE_TEST_SUITE_P(Idx, BadInput, ::testing::ValuesIn(BadIdx()));
INSTANTIATE_TEST_SUITE_P(Cifar, BadInput, ::testing::ValuesIn(BadCifar()));
INSTANTIATE_TEST_SUITE_P(SkipGram, BadInput, ::testing::ValuesIn(BadSkipGram()));

// What holds for whatever format reads files: through OpenData, with files on the disk.
class AnyFormat : public ::testing::TestWithParam<std::string> {
 protected:
  std::string Error(const std::string& path) const {
    try {
      OpenData(Table{{"format", GetParam()}, {"train", path}}, 1);
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  }
  TestFolder folder_;
};

TEST_P(AnyFormat, NamesMissingFilesAndDirectories) {
  EXPECT_THAT(Error(folder_.path() + "/none"), HasSubstr("none: there is no such file"));
  EXPECT_THAT(Error(folder_.path()), HasSubstr("this is a directory"));
}

TEST_P(AnyFormat, NamesEmptyFilesNoiseAndCutArchives) {
  Random random({1});
  std::string noise;
  for (int i = 0; i < 4000; ++i) noise += static_cast<char>(random.Below(256));
  for (const auto& [name, bytes] :
       MemoryFiles{{"empty", ""},
                   {"noise", noise},
                   {"noise.xz", Compressed("xz", noise)},
                   {"cut.gz", Compressed("gzip", noise).substr(0, 3000)}}) {
    const std::string error = Error(folder_.Write(name, bytes));
    EXPECT_THAT(error, HasSubstr(name));
    EXPECT_EQ(error.find('\n'), error.npos);
  }
}

INSTANTIATE_TEST_SUITE_P(All, AnyFormat,
                         ::testing::Values("idx", "cifar", "libsvm", "xmc", "xmc-binary", "csv",
                                           "skip-gram"));

}  // namespace yoke::testing_support::bad_input_test
