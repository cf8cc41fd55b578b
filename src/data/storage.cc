// Grows memory by mremap: no copy, and untouched pages cost nothing.
#include "data/storage.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>

#include "base/check.h"
#include "base/resources.h"

namespace yoke {
namespace {

constexpr int64_t kFirstBytes = 1 << 16;

std::string TemporaryFolder() {
  const char* folder = std::getenv("TMPDIR");
  return folder && *folder ? folder : "/tmp";
}

int NewTemporaryFile() {
  std::string name = TemporaryFolder() + "/yoke-data-XXXXXX";
  const int file = mkstemp(name.data());
  Require(file >= 0, "{}: no temporary file can be made there: {} (TMPDIR names another folder)",
          TemporaryFolder(), std::strerror(errno));
  unlink(name.c_str());
  return file;
}

// Reserves disk space before writing: a full disk is then an error here and not a signal later.
void Enlarge(int file, int64_t bytes) {
  const int status = posix_fallocate(file, 0, bytes);
  if (status == 0) return;
  throw Error(fmt::format("no room for {} MB of data in {}: {} (TMPDIR names another folder)",
                          bytes >> 20, TemporaryFolder(), std::strerror(status)));
}

void* CheckMapping(void* memory, int64_t bytes) {
  if (memory != MAP_FAILED) return memory;
  throw Error(fmt::format("no memory for {} MB of data: {}", bytes >> 20, std::strerror(errno)));
}

void* Map(int64_t bytes, int file) {
  const int flags = file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  return CheckMapping(
      mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE, flags, file, 0), bytes);
}

struct CloseFile {
  int file;
  ~CloseFile() { close(file); }
};

}  // namespace

SharedBytes MapFile(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  Require(file >= 0, "{}: cannot be read: {}", path, std::strerror(errno));
  const CloseFile close_file{file};
  struct stat status {};
  Require(fstat(file, &status) == 0, "{}: cannot be read: {}", path, std::strerror(errno));
  const auto size = static_cast<size_t>(status.st_size);
  if (size == 0) return {};
  void* const memory = mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED)
    throw Error(fmt::format("{}: cannot be mapped: {}", path, std::strerror(errno)));
  madvise(memory, size, MADV_WILLNEED);
  return {{static_cast<const char*>(memory), size},
          {memory, [size](void* mapped) { munmap(mapped, size); }}};
}

GrowingMemory& GrowingMemory::operator=(GrowingMemory&& other) noexcept {
  std::swap(limit_, other.limit_);
  std::swap(data_, other.data_);
  std::swap(capacity_, other.capacity_);
  std::swap(file_, other.file_);
  std::swap(owner_, other.owner_);
  return *this;
}

GrowingMemory::~GrowingMemory() {
  if (data_ && !owner_) munmap(data_, static_cast<size_t>(capacity_));
  if (file_ >= 0) close(file_);
}

void GrowingMemory::Reserve(int64_t bytes) {
  if (bytes <= capacity_) return;
  if (owner_) return CopyAdopted(bytes);
  const int64_t page = sysconf(_SC_PAGESIZE);
  const int64_t wanted = std::max({bytes, capacity_ + capacity_ / 2, kFirstBytes});
  const int64_t rounded = (wanted + page - 1) / page * page;
  if (file_ < 0 && bytes > limit_) {
    MoveToFile(rounded);
  } else {
    Grow(rounded);
  }
  capacity_ = rounded;
}

void GrowingMemory::Adopt(const void* data, int64_t bytes, std::shared_ptr<const void> owner) {
  Check(owner != nullptr, "adopted bytes need an owner");
  *this = GrowingMemory(limit_);
  data_ = const_cast<void*>(data);
  capacity_ = bytes;
  owner_ = std::move(owner);
}

void GrowingMemory::CopyAdopted(int64_t bytes) {
  GrowingMemory own(limit_);
  own.Reserve(bytes);
  if (capacity_ > 0) std::memcpy(own.data_, data_, static_cast<size_t>(capacity_));
  *this = std::move(own);
}

void GrowingMemory::Grow(int64_t bytes) {
  if (file_ >= 0) Enlarge(file_, bytes);
  if (!data_) {
    data_ = Map(bytes, file_);
    return;
  }
  data_ = CheckMapping(
      mremap(data_, static_cast<size_t>(capacity_), static_cast<size_t>(bytes), MREMAP_MAYMOVE),
      bytes);
}

void GrowingMemory::MoveToFile(int64_t bytes) {
  GrowingMemory moved(limit_);
  moved.file_ = NewTemporaryFile();
  Enlarge(moved.file_, bytes);
  moved.data_ = Map(bytes, moved.file_);
  moved.capacity_ = bytes;
  if (data_) std::memcpy(moved.data_, data_, static_cast<size_t>(capacity_));
  *this = std::move(moved);
}

int64_t DefaultMemoryLimit() { return UsableMemory() / 2; }

}  // namespace yoke
