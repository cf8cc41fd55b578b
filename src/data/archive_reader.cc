// No exception passes through libarchive: those of its source are stored and rethrown after it
// returns.
#include "data/archive_reader.h"

#include <archive.h>
#include <archive_entry.h>

#include <cerrno>

#include "base/check.h"

namespace yoke {
namespace {

constexpr size_t kPieceBytes = 1 << 18;

}  // namespace

void ArchiveReader::Close::operator()(archive* a) const { archive_read_free(a); }

ArchiveReader::ArchiveReader(Content content, std::string name)
    : name_(std::move(name)), archive_(archive_read_new()) {
  archive* a = archive_.get();
  Check(a != nullptr, "libarchive has no memory");
  archive_read_support_filter_bzip2(a);
  archive_read_support_filter_xz(a);
  archive_read_support_filter_zstd(a);
  if (content == Content::kOneFile) {
    archive_read_support_format_raw(a);
    archive_read_support_format_empty(a);
  } else {
    archive_read_support_format_tar(a);
    archive_read_support_format_zip_seekable(a);  // only the zip directory marks links
  }
}

ArchiveReader::ArchiveReader(const std::string& path, Content content)
    : ArchiveReader(content, path) {
  if (archive_read_open_filename(archive_.get(), path.c_str(), kPieceBytes) != ARCHIVE_OK) Fail();
}

ArchiveReader::ArchiveReader(std::unique_ptr<ByteSource> source, Content content)
    : ArchiveReader(content, source->Name()) {
  source_ = std::move(source);
  constexpr auto kRead = [](archive* a, void* self, const void** bytes) -> la_ssize_t {
    auto* reader = static_cast<ArchiveReader*>(self);
    try {
      const std::string_view piece = reader->source_->Next();
      *bytes = piece.data();
      return static_cast<la_ssize_t>(piece.size());
    } catch (...) {
      reader->failure_ = std::current_exception();
      archive_set_error(a, EIO, "its source failed");
      return -1;
    }
  };
  if (archive_read_open(archive_.get(), this, nullptr, kRead, nullptr) != ARCHIVE_OK) Fail();
}

bool ArchiveReader::NextEntry() {
  const int status = archive_read_next_header(archive_.get(), &entry_);
  if (status == ARCHIVE_EOF) return false;
  if (status < ARCHIVE_WARN) Fail();
  return true;
}

ArchiveReader::Kind ArchiveReader::EntryKind() const {
  if (archive_entry_hardlink(entry_) || archive_entry_hardlink_utf8(entry_))
    return archive_entry_size(entry_) > 0 ? Kind::kFile : Kind::kHardLink;
  switch (archive_entry_filetype(entry_)) {
    case AE_IFREG:
      return Kind::kFile;
    case AE_IFLNK:
      return Kind::kSymbolicLink;
    default:
      return Kind::kOther;
  }
}

// libarchive returns names in the locale's encoding if possible, otherwise in UTF-8.
std::string ArchiveReader::Converted(const char* native, const char* utf8) const {
  Require(native || utf8, "{}: a name in this archive is no text; expected UTF-8", name_);
  return native ? native : utf8;
}

std::string ArchiveReader::EntryName() const {
  return Converted(archive_entry_pathname(entry_), archive_entry_pathname_utf8(entry_));
}

std::string ArchiveReader::LinkTarget() const {
  if (EntryKind() == Kind::kHardLink)
    return Converted(archive_entry_hardlink(entry_), archive_entry_hardlink_utf8(entry_));
  return Converted(archive_entry_symlink(entry_), archive_entry_symlink_utf8(entry_));
}

int64_t ArchiveReader::EntrySize() const {
  return archive_entry_size_is_set(entry_) ? archive_entry_size(entry_) : -1;
}

std::string_view ArchiveReader::Next() {
  Require(!archive_entry_is_encrypted(entry_),
          "{}:{}: is encrypted; expected an archive without a password", name_, EntryName());
  piece_.resize(kPieceBytes);
  const la_ssize_t size = archive_read_data(archive_.get(), piece_.data(), piece_.size());
  if (size < 0) Fail();
  return {piece_.data(), static_cast<size_t>(size)};
}

bool ArchiveReader::IsCompressed() const {
  return archive_filter_code(archive_.get(), 0) != ARCHIVE_FILTER_NONE;
}

bool ArchiveReader::IsPlainTar() const {
  const int format = archive_format(archive_.get()) & ARCHIVE_FORMAT_BASE_MASK;
  return !source_ && !IsCompressed() && format == ARCHIVE_FORMAT_TAR;
}

void ArchiveReader::Fail() const {
  if (failure_) std::rethrow_exception(failure_);
  const char* reason = archive_error_string(archive_.get());
  Require(!reason || std::string_view(reason) != "Unrecognized archive format",
          "{}: this is no archive; expected a tar or zip file", name_);
  throw UserError(fmt::format("{}: the file is damaged or truncated{}; expected a whole one", name_,
                              reason ? fmt::format(" ({})", reason) : ""));
}

}  // namespace yoke
