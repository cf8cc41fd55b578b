// What gzip holds comes out whole, or a sentence says that it has been changed or cut.
#include "data/archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/check.h"
#include "data/support/archives.h"

namespace yoke::gzip_test {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing_support::Compressed;

constexpr char kText[] = "label,width\n1,0.25\n0,17\n1,3.5\n1,3.5\n1,3.5\n";
constexpr size_t kNameFlag = 3;  // the byte of the flags

std::string Gunzipped(std::string_view bytes, size_t piece = 1 << 20) {
  return ReadAll(*Gunzip(MemorySource(bytes, "x.gz", piece)));
}

std::string ErrorOf(std::string_view bytes, size_t piece = 1 << 20) {
  try {
    Gunzipped(bytes, piece);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

// The same member with a name in its head, and with a checksum of that head.
std::string WithName(std::string gz) {
  gz[kNameFlag] = '\x08';
  return gz.insert(10, std::string("data.csv\0", 9));
}

TEST(Gunzip, GivesWhatWasCompressed) {
  std::string large;
  while (large.size() < 900000) large += kText + std::to_string(large.size());
  for (const std::string& text : {std::string(), std::string(kText), large})
    for (const size_t piece : {1, 7, 1 << 20}) {
      EXPECT_EQ(Gunzipped(Compressed("gzip", text), piece), text);
      EXPECT_EQ(Gunzipped(WithName(Compressed("gzip", text)), piece), text);
    }
}

TEST(Gunzip, ReadsMembersAndZerosBehindThem) {
  const std::string one = Compressed("gzip", kText), none = Compressed("gzip", "");
  for (const size_t piece : {1, 7, 1 << 20}) {
    EXPECT_EQ(Gunzipped(one + none + one, piece), std::string(kText) + kText);
    EXPECT_EQ(Gunzipped(one + std::string(2000, '\0'), piece), kText);
  }
}

TEST(Gunzip, RefusesOtherBytesBehindMembers) {
  const std::string one = Compressed("gzip", kText);
  for (const std::string& behind : {std::string("x"), std::string("\0x", 2), '\0' + one})
    EXPECT_EQ(ErrorOf(one + behind), "x.gz: bytes that are not gzip follow the compressed data");
}

TEST(Gunzip, RefusesEveryCut) {
  const std::string whole = WithName(Compressed("gzip", kText));
  const std::string two = whole + whole;
  for (size_t length = 0; length < two.size(); ++length) {
    if (length == whole.size()) continue;  // one whole member
    for (const size_t piece : {1, 1 << 20})
      EXPECT_EQ(ErrorOf(two.substr(0, length), piece),
                "x.gz: the gzip file is truncated; expected a whole one")
          << length;
  }
}

// Flags that name no part of the head, time, and system are not protected, and change no content.
TEST(Gunzip, RefusesEveryChangedBitOrGivesTheSame) {
  const std::string one = Compressed("gzip", kText);
  for (const std::string& gz : {one, WithName(one), one + one}) {
    const std::string expected = Gunzipped(gz);
    int64_t harmless = 0;
    for (size_t bit = 0; bit < gz.size() * 8; ++bit) {
      std::string changed = gz;
      changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
      const std::string error = ErrorOf(changed);
      if (error.empty()) {
        EXPECT_EQ(Gunzipped(changed), expected) << bit;
        ++harmless;
      } else {
        EXPECT_THAT(error, StartsWith("x.gz: "));
      }
    }
    EXPECT_LE(harmless, 2 * (1 + 6 + 1) * 8 + 72);  // flags, time, system; the name
  }
}

TEST(Gunzip, SaysThatContentWasChanged) {
  std::string gz = Compressed("gzip", kText);
  gz[gz.size() - 8] ^= 1;
  EXPECT_THAT(ErrorOf(gz), HasSubstr("the gzip file is damaged (incorrect data check)"));
  gz[gz.size() - 8] ^= 1, gz[gz.size() - 4] ^= 1;
  EXPECT_THAT(ErrorOf(gz), HasSubstr("the gzip file is damaged (incorrect length check)"));
}

TEST(IsGzip, KnowsTwoBytes) {
  EXPECT_TRUE(IsGzip(Compressed("gzip", "")));
  EXPECT_FALSE(IsGzip("\x1F"));
  EXPECT_FALSE(IsGzip("PK"));
}

}  // namespace yoke::gzip_test
