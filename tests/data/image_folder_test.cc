// image-folder: classes, order, sizes, archives and predictions; each kind of bad input is one
// sentence with its file.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/check.h"
#include "base/registry.h"
#include "data/memory_reader.h"
#include "data/support/archives.h"
#include "data/support/images.h"

namespace yoke::image_folder_test {

using testing_support::Jpeg;
using testing_support::PlainImage;
using testing_support::Png;
using testing_support::Tar;
using testing_support::TestFolder;
using Files = std::vector<std::pair<std::string, std::string>>;

// A 4x6 image told by its red value.
std::string Red(int value) { return Png(PlainImage({4, 6}, value, 7, 9)); }

// Three classes; in the order in which a tar may hold them.
Files Mixed() {
  return {{"set/10/b.png", Red(1)},  {"set/9/c.png", Red(2)}, {"set/10/a.png", Red(3)},
          {"set/-1/x.png", Red(4)},  {"set/9/a.png", Red(5)}, {"set/readme.txt", "hello"},
          {"set/9/._a.png", "junk"}, {".cache/1.png", ""},    {"__MACOSX/9/a.png", "junk"}};
}

class ImageFolder : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& bytes) const {
    std::filesystem::create_directories(
        std::filesystem::path(folder_.path() + "/" + name).parent_path());
    return folder_.Write(name, bytes);
  }
  std::string WriteTree(const std::string& root, const Files& files) const {
    for (const auto& [name, bytes] : files) Write(root + "/" + name, bytes);
    return folder_.path() + "/" + root;
  }

  TestFolder folder_;
};

LoadedData Load(const ReadFiles& files, const Table& table = {}) {
  const FormatEntry& format = FindEntry(formats(), "format", "image-folder");
  return format.load(Options("data", table, format.options), files);
}

std::string Failure(const ReadFiles& files, const Table& table = {}) {
  try {
    Load(files, table);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

// The red value of every image.
std::vector<int> Reds(const LoadedData& data, const MemoryData& set) {
  std::vector<int> reds;
  for (int64_t i = 0; i < set.size; ++i) reds.push_back(set.bytes[i * data.info.input.Count()]);
  return reds;
}

std::vector<int> Classes(const MemoryData& set) {
  return {set.classes.span().begin(), set.classes.span().end()};
}

void ExpectMixed(const LoadedData& data) {
  EXPECT_EQ(data.info.input, (Shape{3, 4, 6}));
  EXPECT_EQ(data.info.label_names, (std::vector<std::string>{"-1", "9", "10"}));
  EXPECT_EQ(data.info.outputs, 3);
  EXPECT_DOUBLE_EQ(data.info.normalization.scale, 1.0 / 255);
  EXPECT_EQ(Reds(data, data.train), (std::vector<int>{4, 3, 1, 5, 2}));
  EXPECT_EQ(Classes(data.train), (std::vector<int>{0, 2, 2, 1, 1}));
  // Planes: all red, then all green, then all blue.
  EXPECT_EQ(data.train.bytes[23], 4);
  EXPECT_EQ(data.train.bytes[24], 7);
  EXPECT_EQ(data.train.bytes[48], 9);
}

TEST_F(ImageFolder, FolderTree) {
  ExpectMixed(Load({.train = {WriteTree("root", Mixed())}, .test = {}}));
}

TEST_F(ImageFolder, SaysHowManyFilesWerePassedOver) {
  const std::string root = WriteTree("root", Mixed());
  EXPECT_EQ(Load({.train = {root}, .test = {}}).notes,
            (std::vector<std::string>{
                root + ": 1 file is neither JPEG nor PNG and was passed over: set/readme.txt"}));
  const std::string clean = WriteTree("clean", {{"a/1.png", Red(1)}, {"b/2.png", Red(2)}});
  EXPECT_TRUE(Load({.train = {clean}, .test = {}}).notes.empty());
}

TEST_F(ImageFolder, ArchivesOfAnyCompressionGiveTheSame) {
  const std::string tar = Tar(Mixed());
  ExpectMixed(Load({.train = {Write("a.tar", tar)}, .test = {}}));
  for (const char* filter : {"gzip", "bzip2", "xz", "zstd"})
    ExpectMixed(
        Load({.train = {Write("b", testing_support::Compressed(filter, tar))}, .test = {}}));
}

TEST_F(ImageFolder, ZipArchivesGiveTheSame) {
  std::vector<testing_support::Member> members;
  for (const auto& [name, bytes] : Mixed()) members.push_back({name, bytes});
  ExpectMixed(
      Load({.train = {Write("a.zip", testing_support::ArchiveOf("zip", members))}, .test = {}}));
}

TEST_F(ImageFolder, LinksAreFollowedOrToldOf) {
  namespace fs = std::filesystem;
  const std::string root = WriteTree("root", {{"a/1.png", Red(1)}, {"b/2.png", Red(2)}});
  Write("elsewhere/c/4.png", Red(4));
  fs::create_symlink("../a/1.png", root + "/b/3.png");
  fs::create_directory_symlink("../elsewhere/c", root + "/c");
  fs::create_symlink("../../.git/annex/objects/9", root + "/a/9.png");
  fs::create_symlink("8.png", root + "/a/8.png");
  fs::create_symlink("nothing", root + "/a/.7.png");
  fs::create_directory_symlink(".", root + "/a/a");
  fs::create_directory_symlink("..", root + "/b/up");
  const LoadedData data = Load({.train = {root}, .test = {}});
  EXPECT_EQ(Reds(data, data.train), (std::vector<int>{1, 2, 1, 4}));
  EXPECT_EQ(Classes(data.train), (std::vector<int>{0, 1, 1, 2}));
  EXPECT_EQ(data.notes,
            (std::vector<std::string>{
                root + ": 2 links lead to no file and were passed over; the first is a/8.png",
                root + ": 2 links lead back to a folder around them and were not followed; the "
                       "first is a/a"}));
}

TEST_F(ImageFolder, LinksInArchivesAreFollowedOrToldOf) {
  const std::vector<testing_support::Member> members = {{"b/2.png", Red(2)},
                                                        {"c/3.png", {}, {}, "../a/1.png"},
                                                        {"a/1.png", Red(1)},
                                                        {"b/1.png", {}, "a/1.png"},
                                                        {"a/0.png", {}, {}, "../../annex/9"}};
  const std::string path = Write("a.tar", testing_support::ArchiveOf("gnutar", members));
  const LoadedData data = Load({.train = {path}, .test = {}});
  EXPECT_EQ(Reds(data, data.train), (std::vector<int>{1, 1, 2, 1}));
  EXPECT_EQ(Classes(data.train), (std::vector<int>{0, 1, 1, 2}));
  EXPECT_EQ(
      data.notes,
      (std::vector<std::string>{path + ": 1 link leads to no file and was passed over: a/0.png"}));
}

TEST_F(ImageFolder, SaysWhyNoImageIsThere) {
  const std::string root = WriteTree("root", {{"a/readme", "hello"}});
  std::filesystem::create_symlink("../objects/1", root + "/a/1.png");
  EXPECT_EQ(Failure({.train = {root}, .test = {}}),
            root +
                ": holds no JPEG or PNG image; 1 file is neither JPEG nor PNG and was passed "
                "over: a/readme; 1 link leads to no file and was passed over: a/1.png");
}

// A hole of the disk in place of content.
TEST_F(ImageFolder, FilesTooLargeForAnImageAreRefused) {
  const std::string root = WriteTree("root", {{"a/1.png", Red(1)}, {"b/2.png", Red(2)}});
  std::filesystem::resize_file(root + "/b/2.png", 401'000'000);
  EXPECT_EQ(Failure({.train = {root}, .test = {}}),
            root + "/b/2.png: the file is too large for an image; expected at most 400 MB");
}

TEST_F(ImageFolder, ClassesAreTextsUnlessNumbers) {
  const std::string root = WriteTree("root", {{"dog/1.png", Red(1)}, {"cat/1.png", Red(2)}});
  EXPECT_EQ(Load({.train = {root}, .test = {}}).info.label_names,
            (std::vector<std::string>{"cat", "dog"}));
}

TEST_F(ImageFolder, TestImagesKeepToTheTrainingClasses) {
  const std::string train = WriteTree("train", {{"a/1.png", Red(1)}, {"b/1.png", Red(2)}});
  const std::string test = WriteTree("test", {{"b/1.png", Red(3)}});
  const LoadedData data = Load({.train = {train}, .test = {test}});
  EXPECT_EQ(Classes(data.test), (std::vector<int>{1}));
  const std::string other = WriteTree("other", {{"c/1.png", Red(3)}});
  const std::string sentence = Failure({.train = {train}, .test = {other}});
  EXPECT_NE(sentence.find("other/c/1.png"), std::string::npos) << sentence;
  EXPECT_NE(sentence.find("a, b"), std::string::npos) << sentence;
}

TEST_F(ImageFolder, SizesAreMadeEqualWhenAsked) {
  const Files files = {{"a/1.jpg", Jpeg(PlainImage({40, 30}, 200, 0, 0))},
                       {"b/1.png", Png(PlainImage({4, 4}, 100, 0, 0))},
                       {"b/2.JPG", Jpeg(PlainImage({800, 900}, 50, 0, 0))}};
  const std::string root = WriteTree("root", files);
  const LoadedData data = Load({.train = {root}, .test = {}}, {{"size", List{20, 10}}});
  EXPECT_EQ(data.info.input, (Shape{3, 20, 10}));
  EXPECT_NEAR(Reds(data, data.train)[0], 200, 2);
  EXPECT_EQ(Reds(data, data.train)[1], 100);
  EXPECT_NEAR(Reds(data, data.train)[2], 50, 2);
  const std::string sentence = Failure({.train = {root}, .test = {}});
  EXPECT_NE(sentence.find("data.size"), std::string::npos) << sentence;
  EXPECT_NE(sentence.find("b/1.png"), std::string::npos) << sentence;
}

TEST_F(ImageFolder, GreyOnRequest) {
  const std::string root = WriteTree("root", {{"a/1.png", Red(1)}, {"b/1.png", Red(2)}});
  const LoadedData data = Load({.train = {root}, .test = {}}, {{"channels", 1}});
  EXPECT_EQ(data.info.input, (Shape{1, 4, 6}));
  EXPECT_EQ(data.train.bytes.size(), 2 * 24);
}

TEST_F(ImageFolder, PredictsOneImageOrAFolderWithoutClasses) {
  const LoadedData train = Load({.train = {WriteTree("train", Mixed())}, .test = {}});
  const std::string photo = Write("9/photo.jpg", Jpeg(PlainImage({40, 60}, 250, 0, 0)));
  const std::string folder = WriteTree("box", {{"2.png", Red(8)}, {"1.png", Red(6)}});
  for (const auto& [path, reds] : {std::pair{photo, std::vector<int>{250}}, {folder, {6, 8}}}) {
    const LoadedData data =
        Load({.train = {}, .test = {path}, .like = &train.info, .labels_optional = true});
    EXPECT_EQ(data.info.input, train.info.input);
    EXPECT_EQ(data.info.label_names, train.info.label_names);
    EXPECT_FALSE(data.info.labelled);
    ASSERT_EQ(data.test.size, static_cast<int64_t>(reds.size()));
    for (size_t i = 0; i < reds.size(); ++i) EXPECT_NEAR(Reds(data, data.test)[i], reds[i], 3);
    EXPECT_NE(Failure({.train = {}, .test = {path}, .like = &train.info}), "");
  }
}

TEST_F(ImageFolder, KnownClassesAreKeptWhenPredicting) {
  const LoadedData train = Load({.train = {WriteTree("train", Mixed())}, .test = {}});
  const std::string folder = WriteTree("more", {{"10/1.png", Red(8)}});
  const LoadedData data =
      Load({.train = {}, .test = {folder}, .like = &train.info, .labels_optional = true});
  EXPECT_TRUE(data.info.labelled);
  EXPECT_EQ(Classes(data.test), (std::vector<int>{2}));
}

TEST_F(ImageFolder, ManyImagesInSeveralRounds) {
  Files files;
  for (int i = 0; i < 1300; ++i)
    files.emplace_back(fmt::format("{}/{:04}.png", i % 2, (i * 677) % 1300),
                       Red((i * 677) % 1300 % 251));
  const LoadedData data = Load({.train = {Write("many.tar", Tar(files))}, .test = {}});
  ASSERT_EQ(data.train.size, 1300);
  std::sort(files.begin(), files.end());
  for (int64_t i = 0; i < 1300; ++i) {
    const int number = std::stoi(files[i].first.substr(2));
    ASSERT_EQ(data.train.bytes[i * 72], number % 251) << i;
    ASSERT_EQ(data.train.classes[i], files[i].first[0] - '0');
  }
}

struct BadFolder {
  const char* what;
  Files files;
  const char* named;  // the file that the sentence must name
};

TEST_F(ImageFolder, BadInputIsOneSentenceThatNamesTheFile) {
  const std::string jpeg = Jpeg(PlainImage({50, 50}, 1, 2, 3)), png = Red(1);
  const std::string tar = Tar({{"a/1.png", Red(1)}, {"b/2.png", Red(2)}});
  const BadFolder cases[] = {
      {"empty folder", {{".hidden", ""}}, "root"},
      {"no image", {{"a/readme.txt", "hello"}, {"b/notes", ""}}, "root"},
      {"no classes", {{"1.png", png}, {"2.png", png}}, "1.png"},
      {"zero bytes", {{"a/1.png", png}, {"b/2.png", ""}}, "b/2.png"},
      {"wrong magic", {{"a/1.png", png}, {"b/2.jpeg", "GIF89a"}}, "b/2.jpeg"},
      {"cut JPEG", {{"a/1.jpg", jpeg}, {"b/2.jpg", jpeg.substr(0, jpeg.size() - 60)}}, "b/2.jpg"},
      {"cut PNG", {{"a/1.png", png}, {"b/2.png", png.substr(0, png.size() - 20)}}, "b/2.png"},
      {"bomb",
       {{"a/1.png", png}, {"b/2.png", testing_support::PngThatPromises(50000, 50000)}},
       "b/2.png"},
  };
  for (const BadFolder& bad : cases) {
    const std::string root = WriteTree("root", bad.files);
    std::vector<std::string> sentences = {Failure({.train = {root}, .test = {}})};
    const std::string archive = Write("root.tar", Tar(bad.files));
    sentences.push_back(Failure({.train = {archive}, .test = {}}));
    for (const std::string& sentence : sentences) {
      EXPECT_NE(sentence.find(bad.named), std::string::npos) << bad.what << ": " << sentence;
      EXPECT_EQ(std::count(sentence.begin(), sentence.end(), '\n'), 0) << bad.what;
    }
    EXPECT_EQ(sentences[1].find(archive), 0U) << bad.what << ": " << sentences[1];
    std::filesystem::remove_all(root);
  }
}

TEST_F(ImageFolder, ClassesAreUtf8) {
  const std::string tree = WriteTree("latin", {{"caf\xE9/1.png", Red(1)}, {"tea/1.png", Red(2)}});
  EXPECT_EQ(Failure({.train = {tree}}),
            tree + "/caf\xE9/1.png: the class name 'caf\xE9' is not UTF-8; rename the folder");
}

TEST_F(ImageFolder, BadArchivesAndOptions) {
  const std::string tar = Tar({{"a/1.png", Red(1)}, {"b/2.png", Red(2)}});
  const std::string cut = Write("cut.tar", tar.substr(0, 1200));
  const std::string packed = testing_support::Compressed("xz", tar);
  const std::string cut_xz = Write("cut.tar.xz", packed.substr(0, packed.size() / 2));
  const std::string noise = Write("noise.tar", std::string(3000, 'x'));
  const std::string nothing = Write("nothing.tar", "");
  for (const std::string& path : {cut, cut_xz, noise, nothing, folder_.path() + "/absent"})
    EXPECT_EQ(Failure({.train = {path}, .test = {}}).find(path), 0U) << path;
  const std::string good = Write("good.tar", tar);
  EXPECT_EQ(Failure({.train = {good}, .test = {}}), "");
  EXPECT_NE(Failure({.train = {good}, .test = {}}, {{"size", List{3}}}), "");
  EXPECT_NE(Failure({.train = {good}, .test = {}}, {{"size", List{0, 3}}}), "");
  EXPECT_NE(Failure({.train = {good}, .test = {}}, {{"channels", 2}}), "");
}

}  // namespace yoke::image_folder_test
