// Refuses a processor that lacks the instructions all other sources are compiled to (x86-64-v3). It
// is compiled for any x86-64, and runs before the constructors of other sources may use those
// instructions; so it calls only what the system's libraries have.
#include <unistd.h>

#include <string_view>

namespace {

[[gnu::constructor(101)]] void RefuseOldProcessor() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2"))
    return;
  constexpr std::string_view kSentence =
      "yoke: this processor lacks AVX2, FMA or BMI2, which yoke needs: take a machine with an "
      "Intel "
      "Haswell (2013), an AMD Zen (2017) or newer, and let a virtual machine show its processor\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kSentence.data(), kSentence.size());
  _exit(1);
}

}  // namespace
