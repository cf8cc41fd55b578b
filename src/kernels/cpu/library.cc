// Library: asks oneDNN about itself.
#include <fmt/core.h>

#include <dnnl.hpp>
#include <string>

#include "kernels/instructions.h"
#include "kernels/threads.h"

namespace yoke {
namespace {

/// Of the loaded library: "3.2.0".
std::string OneDnnVersion() {
  const dnnl_version_t* version = dnnl_version();
  return fmt::format("{}.{}.{}", version->major, version->minor, version->patch);
}

/// The instruction set it uses, limited by ONEDNN_MAX_CPU_ISA.
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
    default:
      return "newer than avx512_core_amx";
  }
}

}  // namespace

KernelLibrary DescribeKernelLibrary() {
  return {.name = "oneDNN",
          .version = OneDnnVersion(),
          .isa = OneDnnInstructions(),
          .fast_bf16 = cpu::HasAvx512Bf16()};
}

namespace {

/// Whether the instruction set in effect has those of `least`, one of AVX-512.
bool Has(dnnl::cpu_isa least) {
  const auto isa = dnnl::get_effective_cpu_isa();
  return isa != dnnl::cpu_isa::avx2_vnni_2 && isa >= least;  // which is numbered above them
}

}  // namespace

bool cpu::HasAvx512() {
  static const bool has = Has(dnnl::cpu_isa::avx512_core);  // hot loops ask
  return has;
}

bool cpu::HasAvx512Bf16() {
  static const bool has = Has(dnnl::cpu_isa::avx512_core_bf16);
  return has;
}

}  // namespace yoke
