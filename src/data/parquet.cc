// Loads the library beside the program, or where it was installed.
#include "data/parquet.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>

#include "base/check.h"

namespace yoke {
namespace {

namespace fs = std::filesystem;

/// YOKE_PARQUET_LIBRARY, else the one that is there.
fs::path LibraryPath() {
  const char* const given = std::getenv("YOKE_PARQUET_LIBRARY");
  if (given && *given) return given;
  std::error_code unknown;
  const fs::path program = fs::read_symlink("/proc/self/exe", unknown).parent_path();
  const fs::path beside = program / "yoke-parquet" / "arrow.so";
  if (fs::exists(beside, unknown)) return beside;
  return program.parent_path() / "libexec" / "yoke-parquet" / "arrow.so";
}

const ParquetLibrary& Load(const std::string& path) {
  void* const library = dlopen(LibraryPath().c_str(), RTLD_NOW | RTLD_LOCAL);
  void* const found = library ? dlsym(library, kParquet) : nullptr;
  Require(found != nullptr,
          "{}: Parquet files need Apache Arrow, which this yoke was built without or no longer "
          "finds: run `tools/setup python` and build yoke again, or write CSV with pandas: "
          "read_parquet(path).to_csv(path, index=False) ({})",
          path, dlerror());
  return *static_cast<const ParquetLibrary*>(found);
}

}  // namespace

std::unique_ptr<ByteSource> OpenParquet(const std::string& path, char delimiter) {
  Require(fs::exists(path), "{}: there is no such file", path);
  return Load(path).open(path, delimiter);
}

std::unique_ptr<ParquetWriter> WriteParquet(const std::string& path,
                                            const std::vector<ParquetColumn>& columns) {
  return Load(path).create(path, columns);
}

void RequireParquet(const std::string& path) { Load(path); }

}  // namespace yoke
