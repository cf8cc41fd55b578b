// Library: asks oneDNN about itself, and sets which instructions it and our own loops may use.
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <processor_levels.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <dnnl.hpp>
#include <string>
#include <vector>

#include "base/check.h"
#include "kernels/instructions.h"
#include "kernels/threads.h"

namespace yoke {
namespace {

/// Of the loaded library: "3.2.0".
std::string OneDnnVersion() {
  const dnnl_version_t* version = dnnl_version();
  return fmt::format("{}.{}.{}", version->major, version->minor, version->patch);
}

/// The instruction set it uses, limited by YOKE_ISA or ONEDNN_MAX_CPU_ISA.
std::string OneDnnInstructions() {
  switch (dnnl_get_effective_cpu_isa()) {
    case dnnl_cpu_isa_sse41:
      return "sse4.1";
    case dnnl_cpu_isa_avx:
      return "avx";
    case dnnl_cpu_isa_avx2:
      return "avx2";
    case dnnl_cpu_isa_avx2_vnni:
    case dnnl_cpu_isa_avx2_vnni_2:
      return "avx2_vnni";
    case dnnl_cpu_isa_avx512_core:
      return "avx512_core";
    case dnnl_cpu_isa_avx512_core_vnni:
      return "avx512_core_vnni";
    case dnnl_cpu_isa_avx512_core_bf16:
      return "avx512_core_bf16";
    case dnnl_cpu_isa_avx512_core_fp16:
      return "avx512_core_fp16";
    case dnnl_cpu_isa_avx512_core_amx:
      return "avx512_core_amx";
    case dnnl_cpu_isa_default:  // no x86-64
      return "what it finds";
    default:
      return "newer than avx512_core_amx";
  }
}

/// Whether the instruction set in effect has those of `least`, a level above the first.
bool Has(dnnl::cpu_isa least) {
  const auto wanted = static_cast<unsigned>(least);  // a set of bits
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & wanted) == wanted;
}

const Level& LevelInEffect() {
  return *std::find_if(kLevels.rbegin(), kLevels.rend() - 1,
                       [](const Level& level) { return Has(level.isa); });
}

std::string AskedLevel() {
  const char* variable = std::getenv("YOKE_ISA");
  return variable ? variable : "";
}

/// The level that YOKE_ISA names; null: none.
const Level* FindAsked() {
  const auto* const at = std::find_if(kLevels.begin(), kLevels.end(), [](const Level& level) {
    return AskedLevel() == level.name;
  });
  return at == kLevels.end() ? nullptr : at;
}

/// The library accepts a limit only before its first other call, so it is set before main.
const bool limited = [] {
  const Level* asked = FindAsked();
  return asked && dnnl::set_max_cpu_isa(asked->isa) == dnnl::status::success;
}();

}  // namespace

void RequireInstructions() {
  const std::string asked = AskedLevel();
  if (asked.empty()) return;
  std::vector<std::string> names;
  for (const Level& level : kLevels) names.emplace_back(level.name);
  const Level* level = FindAsked();
  Require(level, "the environment variable YOKE_ISA is '{}', expected one of {}", asked,
          fmt::join(names, ", "));
  Require(limited && level->name == std::string(LevelInEffect().name),
          "the environment variable YOKE_ISA asks for {}, but this processor has only {}", asked,
          LevelInEffect().name);
}

KernelLibrary DescribeKernelLibrary() {
  return {.name = "oneDNN",
          .version = OneDnnVersion(),
          .isa = OneDnnInstructions(),
          .level = LevelInEffect().name,
          .limited = !AskedLevel().empty(),
          .fast_bf16 = cpu::HasAvx512Bf16()};
}

bool cpu::HasAvx512() {
  static const bool has =
      (RequireInstructions(), Has(dnnl::cpu_isa::avx512_core));  // hot loops ask
  return has;
}

bool cpu::HasAvx512Bf16() {
  static const bool has = Has(dnnl::cpu_isa::avx512_core_bf16);
  return has;
}

bool cpu::HasAmx() {
  static const bool has = Has(dnnl::cpu_isa::avx512_core_amx);
  return has;
}

}  // namespace yoke
