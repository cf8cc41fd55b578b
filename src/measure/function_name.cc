// FunctionName: the table of symbols of the ELF file that the address was loaded from.
#include "measure/team_record.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace yoke {
namespace {

/// Names of functions by their offset in a file.
using Names = std::map<uint64_t, std::string>;

/// `count` items at an offset of a file's bytes; fewer where it ends.
template <typename Item>
std::vector<Item> ItemsAt(const std::string& bytes, uint64_t offset, uint64_t count) {
  std::vector<Item> items;
  if (offset > bytes.size()) return items;
  items.resize(std::min(count, (bytes.size() - offset) / sizeof(Item)));
  if (!items.empty()) std::memcpy(items.data(), bytes.data() + offset, items.size() * sizeof(Item));
  return items;
}

Names NamesIn(const std::string& path) {
  Names names;
  std::ifstream file(path, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  const auto header = ItemsAt<Elf64_Ehdr>(bytes, 0, 1);
  if (header.empty() || std::memcmp(header[0].e_ident, ELFMAG, SELFMAG) != 0) return names;
  const auto sections = ItemsAt<Elf64_Shdr>(bytes, header[0].e_shoff, header[0].e_shnum);
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_SYMTAB || section.sh_link >= sections.size()) continue;
    const uint64_t texts = sections[section.sh_link].sh_offset;
    for (const auto& symbol :
         ItemsAt<Elf64_Sym>(bytes, section.sh_offset, section.sh_size / sizeof(Elf64_Sym)))
      if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && texts + symbol.st_name < bytes.size())
        names[symbol.st_value] = bytes.c_str() + texts + symbol.st_name;
  }
  return names;
}

std::string Readable(std::string name) {
  name = name.substr(0, name.find("._omp_fn"));
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  if (text) name = text.get();
  for (const std::string part : {"yoke::", "(anonymous namespace)::", "dnnl::impl::"})
    for (size_t at; (at = name.find(part)) != std::string::npos;) name.erase(at, part.size());
  name = name.substr(0, name.find('('));
  if (const size_t space = name.rfind(' ', name.find('<')); space != std::string::npos)
    name.erase(0, space + 1);  // the type of a template's result
  return name.substr(0, name.find('<'));
}

}  // namespace

std::string FunctionName(const void* function) {
  static std::mutex mutex;
  static std::map<std::string, Names> files;
  Dl_info info = {};
  if (!dladdr(function, &info) || !info.dli_fname) return "?";
  const std::lock_guard lock(mutex);
  auto known = files.find(info.dli_fname);
  if (known == files.end()) known = files.emplace(info.dli_fname, NamesIn(info.dli_fname)).first;
  const auto offset = static_cast<uint64_t>(static_cast<const char*>(function) -
                                            static_cast<const char*>(info.dli_fbase));
  const auto found = known->second.find(offset);
  return found == known->second.end() ? "?" : Readable(found->second);
}

}  // namespace yoke
