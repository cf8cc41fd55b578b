// Trains a hashed layer a few steps in one of several forms, in one thread, and prints how long an
// example took and the last pass's loss, which tells that all forms compute the same. The
// environment (YOKE_ISA, YOKE_HUGE_PAGES) chooses what the forms run on.
//
// usage: slide_ablation FORM OUTPUTS FEATURES BATCH
//   FORM: kernels (those of training), vector or scalar (flat arrays, with the compiler's vectors
//   or none), apart (vector, each row an allocation of its own), maps (the standard library's)
#include <fmt/core.h>

#include <cstdlib>
#include <map>
#include <string>

#include "base/clock.h"
#include "bench/slide_flat.h"

namespace {

using namespace yoke;         // NOLINT(google-build-using-namespace): a program of one file
using namespace yoke::bench;  // NOLINT(google-build-using-namespace): likewise

constexpr int kPasses = 3;
constexpr float kRate = 0.01F;

std::unique_ptr<Step> MakeStep(const std::string& form, int64_t outputs, int64_t features,
                               int64_t batch) {
  if (form == "kernels" || form == "maps") return std::make_unique<Step>(outputs, features, batch);
  const FlatLoops loops = form == "scalar" ? ScalarLoops() : VectorLoops();
  return std::make_unique<FlatStep>(outputs, features, batch, loops, form == "apart");
}

/// Of the thread, by stage.
std::map<std::string, double> TrainPass(Step& step, bool plain) {
  std::map<std::string, double> seconds;
  for (int64_t n = 0; n < kBatches; ++n)
    for (const Stage& stage : step.Stages()) {
      const double began = ThreadCpuSeconds();
      stage.run(n, plain);
      seconds[stage.name] += ThreadCpuSeconds() - began;
      if (stage.name == "backward") step.PassInputGradient(n);
    }
  return seconds;
}

void Measure(const std::string& form, int64_t outputs, int64_t features, int64_t batch) {
  SetKernelThreads(1);
  const auto step = MakeStep(form, outputs, features, batch);
  step->rate = kRate;
  std::map<std::string, double> seconds;
  for (int pass = 0; pass < kPasses; ++pass) seconds = TrainPass(*step, form != "kernels");
  fmt::print("{{\"mean loss\": {:.6f}", step->MeanLoss());
  for (const auto& [stage, time] : seconds)
    fmt::print(", \"{}\": {:.3f}", stage, time * 1e6 / double(batch * kBatches));
  fmt::print("}}\n");
}

}  // namespace

int main(int argc, char** argv) {
  BeginProgram(argv);
  if (argc != 5 || std::atoll(argv[4]) < 64) {
    fmt::print(stderr, "usage: slide_ablation FORM OUTPUTS FEATURES BATCH, BATCH from 64 on\n");
    return 2;
  }
  Measure(argv[1], std::stoll(argv[2]), std::stoll(argv[3]), std::stoll(argv[4]));
  return 0;
}
