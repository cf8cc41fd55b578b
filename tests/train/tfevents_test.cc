// Event files: framing and encoding byte by byte (TensorBoard's own reader checks them in
// tfevents_test.py).
#include "train/record/tfevents.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/check.h"

namespace yoke::tfevents_test {

using namespace std::string_literals;

TEST(Crc32cTest, KnowsPublishedValues) {
  EXPECT_EQ(Crc32c("123456789"), 0xE3069283U);            // the check value of CRC-32C
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8A9136AAU);  // RFC 3720, B.4
  EXPECT_EQ(Crc32c(""), 0U);
}

TEST(TfRecordTest, FramesLengthAndPayload) {
  const std::string record = TfRecord("abc");
  ASSERT_EQ(record.size(), 8 + 4 + 3 + 4);
  EXPECT_EQ(record.substr(0, 8), "\x03\0\0\0\0\0\0\0"s);
  EXPECT_EQ(record.substr(12, 3), "abc");
  // masked_crc32c of TensorFlow: the sum rotated right by 15, plus a constant.
  const uint32_t crc = Crc32c("abc");
  const uint32_t masked = ((crc >> 15) | (crc << 17)) + 0xA282EAD8U;
  uint32_t stored = 0;
  record.copy(reinterpret_cast<char*>(&stored), 4, 15);
  EXPECT_EQ(stored, masked);
}

TEST(EventFileTest, WritesOneRecordAnEvent) {
  const std::string folder = testing::TempDir() + "/events";
  std::filesystem::create_directories(folder);
  EventFile file(folder, 1700000000.25);
  EXPECT_NE(file.path().find("events.out.tfevents.1700000000."), std::string::npos);
  file.Add({.wall_time = 1.5, .step = 300, .scalars = {{"loss/train", 0.5}}});
  std::ifstream in(file.path(), std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  EXPECT_NE(text.str().find("brain.Event:2"), std::string::npos);
  // step = 2 as varint 300, then summary = 5 of 19 bytes, value = 1 of 17: tag, simple_value 0.5f.
  const std::string event =
      "\x09\0\0\0\0\0\0\xF8\x3F\x10\xAC\x02\x2A\x13\x0A\x11\x0A\x0Aloss/train\x15\0\0\0\x3F"s;
  EXPECT_NE(text.str().find(TfRecord(event)), std::string::npos);
}

TEST(EventFileTest, SaysWhereItCannotWrite) { EXPECT_THROW(EventFile("/proc/nowhere", 0), Error); }

}  // namespace yoke::tfevents_test
