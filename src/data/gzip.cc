// zlib compares each member's checksum and length in the same pass, which libarchive's filter does
// not; this file handles the bytes between and after members.
#include "data/archive.h"

#include <zlib.h>

#include <vector>

#include "base/check.h"

namespace yoke {
namespace {

constexpr size_t kGzipPieceBytes = 1 << 18;
constexpr char kFirstByte = '\x1F';

class GzipSource : public ByteSource {
 public:
  explicit GzipSource(std::unique_ptr<ByteSource> compressed)
      : compressed_(std::move(compressed)), piece_(kGzipPieceBytes) {
    constexpr int kGzipOnly = 16;
    Check(inflateInit2(&stream_, MAX_WBITS + kGzipOnly) == Z_OK, "zlib has no memory");
  }
  ~GzipSource() override { inflateEnd(&stream_); }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;

  std::string_view Next() override {
    size_t filled = 0;
    while (filled < piece_.size() && FindMember()) filled += Inflate(filled);
    return {piece_.data(), filled};
  }

  const std::string& Name() const override { return compressed_->Name(); }

 private:
  // Ensures that input of a member is available; false at the end of the file.
  bool FindMember() {
    while (!in_member_) {
      if (!HasInput()) return false;
      const char next = rest_.front();
      in_member_ = next == kFirstByte && !padded_;
      Require(in_member_ || next == 0, "{}: bytes that are not gzip follow the compressed data",
              Name());
      padded_ = padded_ || next == 0;
      if (next == 0) rest_.remove_prefix(1);
    }
    Require(HasInput(), "{}: the gzip file is truncated; expected a whole one", Name());
    return true;
  }

  bool HasInput() {
    if (rest_.empty()) rest_ = compressed_->Next();
    return !rest_.empty();
  }

  // Fills the piece from `filled` on; returns the number of bytes added.
  size_t Inflate(size_t filled) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(rest_.data()));
    stream_.avail_in = static_cast<uInt>(rest_.size());
    stream_.next_out = reinterpret_cast<Bytef*>(piece_.data() + filled);
    stream_.avail_out = static_cast<uInt>(piece_.size() - filled);
    const int status = inflate(&stream_, Z_NO_FLUSH);
    Require(status == Z_OK || status == Z_STREAM_END || status == Z_BUF_ERROR,
            "{}: the gzip file is damaged ({}); expected a whole one", Name(),
            stream_.msg ? stream_.msg : "unknown reason");
    rest_.remove_prefix(rest_.size() - stream_.avail_in);
    if (status == Z_STREAM_END) {
      in_member_ = false;
      inflateReset(&stream_);
    }
    return piece_.size() - filled - stream_.avail_out;
  }

  std::unique_ptr<ByteSource> compressed_;
  std::string_view rest_;    // rest of the compressed piece
  std::vector<char> piece_;  // decompressed bytes
  z_stream stream_ = {};
  bool in_member_ = true;  // an empty file counts as truncated
  bool padded_ = false;
};

}  // namespace

bool IsGzip(std::string_view head) { return head.starts_with("\x1F\x8B"); }

std::unique_ptr<ByteSource> Gunzip(std::unique_ptr<ByteSource> compressed) {
  return std::make_unique<GzipSource>(std::move(compressed));
}

}  // namespace yoke
