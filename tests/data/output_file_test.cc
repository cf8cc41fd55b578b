// OutputFile: a file appears whole under its name; devices, pipes and links stay what they are.
#include "data/writers.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "base/check.h"
#include "base/files.h"

namespace yoke::output_file_test {

namespace fs = std::filesystem;

class OutputFileTest : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return folder_.path() + "/" + name; }
  static std::string TextOf(const std::string& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static void Write(const std::string& path, const std::string& text) {
    OutputFile file(path);
    file.Write(text);
    EXPECT_EQ(file.bytes(), std::ssize(text));
    file.Commit();
  }
  std::string Refusal(const std::string& path) const {
    try {
      OutputFile file(path);
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  }
  int64_t Files() const { return std::distance(fs::directory_iterator(folder_.path()), {}); }

  TemporaryFolder folder_{"yoke-output-file"};
};

TEST_F(OutputFileTest, ReplacesAFileWhenItIsCompleteAndKeepsItsPermissions) {
  Write(Path("a"), "old");
  chmod(Path("a").c_str(), 0600);
  {
    OutputFile file(Path("a"));
    file.Write("new");
    EXPECT_EQ(TextOf(Path("a")), "old");
    EXPECT_EQ(Files(), 2);
    file.Commit();
  }
  EXPECT_EQ(TextOf(Path("a")), "new");
  EXPECT_EQ(fs::status(Path("a")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  { OutputFile given_up(Path("a")); }
  EXPECT_EQ(TextOf(Path("a")), "new");
  EXPECT_EQ(Files(), 1);
}

TEST_F(OutputFileTest, ALinkStaysALink) {
  fs::create_directory(Path("there"));
  fs::create_symlink("there/a", Path("link"));
  for (const char* text : {"made", "replaced"}) {
    Write(Path("link"), text);
    EXPECT_TRUE(fs::is_symlink(Path("link")));
    EXPECT_EQ(TextOf(Path("there/a")), text);
  }
}

TEST_F(OutputFileTest, ADeviceIsWrittenInPlace) {
  Write("/dev/null", "nothing");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(OutputFileTest, APipeIsWrittenInPlace) {
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] { got = TextOf(Path("pipe")); });
  Write(Path("pipe"), "through");
  reader.join();
  EXPECT_EQ(got, "through");
  EXPECT_TRUE(fs::is_fifo(Path("pipe")));
}

TEST_F(OutputFileTest, RefusesFoldersAndSockets) {
  EXPECT_EQ(Refusal(folder_.path()),
            folder_.path() +
                ": cannot be written: expected a file, a device or a pipe, and it is a folder");
  const int socket_file = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  Path("socket").copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(bind(socket_file, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_NE(Refusal(Path("socket")).find("it is a socket"), std::string::npos);
  close(socket_file);
}

}  // namespace yoke::output_file_test
