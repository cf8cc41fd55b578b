// Machine: from /proc/cpuinfo and the version calls of the libraries.
#include "train/record/machine.h"

#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string_view>

#include "base/json.h"
#include "base/topology.h"
#include "base/version.h"
#include "data/archive.h"
#include "kernels/threads.h"

namespace yoke {
namespace {

/// The number in the line "key: n" of a file in /proc.
int64_t NumberIn(const char* file, std::string_view key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(key)) return std::strtoll(line.c_str() + key.size(), nullptr, 10);
  return 0;
}
int64_t StatusBytes(std::string_view key) { return NumberIn("/proc/self/status", key) * 1024; }

/// The text after the first "key : " in /proc/cpuinfo.
std::string CpuInfo(std::string_view key) {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (line.rfind(key, 0) != 0) continue;
    const size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "";
}

}  // namespace

std::string HostName() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

std::string LocalTime(const char* format) {
  const std::time_t now = std::time(nullptr);
  std::tm parts = {};
  localtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, format, &parts);
  return text;
}

std::string CpuModel() {
  const std::string model = CpuInfo("model name");
  return model.empty() ? "unknown" : model;
}

std::vector<std::string> CpuFeatures() {
  static constexpr std::array kTelling = {
      "avx",         "avx2",        "fma",      "f16c",     "avx_vnni", "avx512f", "avx512_vnni",
      "avx512_bf16", "avx512_fp16", "amx_tile", "amx_bf16", "asimd",    "sve",     "bf16"};
  const std::string flags =
      " " + CpuInfo("flags") + CpuInfo("Features") + " ";  // x86-64's, arm64's
  std::vector<std::string> found;
  for (const std::string name : kTelling)
    if (flags.find(" " + name + " ") != std::string::npos) found.push_back(name);
  return found;
}

int64_t ResidentMemory() { return StatusBytes("VmRSS:"); }
int64_t PeakMemory() { return StatusBytes("VmHWM:"); }
int64_t BytesRead() { return NumberIn("/proc/self/io", "rchar:"); }

int64_t BytesReadByOthers() { return BytesRead() - NumberIn("/proc/thread-self/io", "rchar:"); }

Table Conditions() {
  return {{"version", std::string(Version())},
          {"commit", std::string(Commit())},
          {"cpu", CpuModel()},
          {"features", ListOf(CpuFeatures())},
          {"isa", DescribeKernelLibrary().level}};
}

std::vector<std::pair<std::string, std::string>> Libraries() {
  std::vector<std::pair<std::string, std::string>> all = {
      {"oneDNN", DescribeKernelLibrary().version}};
  for (auto& library : DataLibraries()) all.push_back(std::move(library));
  all.emplace_back("hwloc", HwlocVersion());
  all.emplace_back("fmt", fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100,
                                      FMT_VERSION % 100));
  all.emplace_back("nlohmann-json", JsonVersion());
  return all;
}

}  // namespace yoke
