// Refuses a processor that lacks the instructions all other sources are compiled to (x86-64-v3). It
// is compiled for any x86-64, and runs before the constructors of other sources may use those
// instructions; so it calls only what the system's libraries have.
#include <cpuid.h>
#include <unistd.h>

#include <string_view>

namespace {

[[gnu::constructor(101)]] void RefuseOldProcessor() {
  unsigned a = 0, b = 0, ecx = 0, more_ecx = 0, d = 0;
  __get_cpuid(1, &a, &b, &ecx, &d);
  __get_cpuid(0x80000001, &a, &b, &more_ecx, &d);
  constexpr unsigned kBasic = bit_MOVBE | bit_F16C;
  __builtin_cpu_init();  // which also asks whether the system keeps wide registers
  if ((ecx & kBasic) == kBasic && (more_ecx & bit_LZCNT) != 0 && __builtin_cpu_supports("avx2") &&
      __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
      __builtin_cpu_supports("bmi2"))
    return;
  constexpr std::string_view kSentence =
      "yoke: this processor lacks AVX2, FMA, BMI2, LZCNT, MOVBE or F16C, which yoke needs: take a "
      "machine with an Intel "
      "Haswell (2013), an AMD Zen (2017) or newer, and let a virtual machine show its processor\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kSentence.data(), kSentence.size());
  _exit(1);
}

}  // namespace
