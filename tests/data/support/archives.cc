// Writes through libarchive, which the reader under test reads with.
#include "data/support/archives.h"

#include <archive.h>
#include <archive_entry.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "base/random.h"

namespace yoke::testing_support {
namespace {

la_ssize_t AppendTo(archive*, void* target, const void* bytes, size_t size) {
  static_cast<std::string*>(target)->append(static_cast<const char*>(bytes), size);
  return static_cast<la_ssize_t>(size);
}

void AddEntry(archive* a, const Member& member) {
  archive_entry* entry = archive_entry_new();
  archive_entry_set_pathname(entry, member.name.c_str());
  archive_entry_set_filetype(entry, member.symbolic_link.empty() ? AE_IFREG : AE_IFLNK);
  if (!member.symbolic_link.empty()) archive_entry_set_symlink(entry, member.symbolic_link.c_str());
  if (!member.hard_link.empty()) archive_entry_set_hardlink(entry, member.hard_link.c_str());
  archive_entry_set_size(entry, static_cast<la_int64_t>(member.bytes.size()));
  archive_entry_set_perm(entry, 0644);
  archive_write_header(a, entry);
  archive_write_data(a, member.bytes.data(), member.bytes.size());
  archive_entry_free(entry);
}

}  // namespace

TestFolder::TestFolder() : path_(std::filesystem::temp_directory_path() / "yoke-test-XXXXXX") {
  if (!mkdtemp(path_.data())) throw std::runtime_error("no temporary folder");
}

TestFolder::~TestFolder() { std::filesystem::remove_all(path_); }

std::string TestFolder::Write(const std::string& name, std::string_view bytes) const {
  const std::string path = path_ + "/" + name;
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

std::string Noise(int64_t size) {
  Random random({7});
  std::string text;
  for (int64_t i = 0; i < size; ++i) text += static_cast<char>('a' + random.Below(16));
  return text;
}

std::string Compressed(const std::string& filter, std::string_view bytes) {
  std::string result;
  archive* a = archive_write_new();
  archive_write_add_filter_by_name(a, filter.c_str());
  archive_write_set_format_raw(a);
  archive_write_set_bytes_per_block(a, 0);
  archive_write_open(a, &result, nullptr, AppendTo, nullptr);
  AddEntry(a, {"file", std::string(bytes)});
  archive_write_close(a);
  archive_write_free(a);
  return result;
}

std::string ArchiveOf(const std::string& format, const std::vector<Member>& members) {
  std::string result;
  archive* a = archive_write_new();
  archive_write_set_format_by_name(a, format.c_str());
  if (format == "zip") archive_write_set_bytes_in_last_block(a, 1);
  archive_write_open(a, &result, nullptr, AppendTo, nullptr);
  for (const Member& member : members) AddEntry(a, member);
  archive_write_close(a);
  archive_write_free(a);
  return result;
}

std::string Tar(const std::vector<std::pair<std::string, std::string>>& files) {
  std::vector<Member> members;
  for (const auto& [name, bytes] : files) members.push_back({name, bytes});
  return ArchiveOf("pax", members);
}

}  // namespace yoke::testing_support
