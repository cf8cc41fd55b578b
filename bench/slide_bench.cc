// Measures the stages of a hashed layer's training step: plain loops against the kernels that
// training uses, each stage's share of the step, how far it is from what memory and arithmetic of
// this machine allow in the same run, and what of it only one thread does. Prints a table in
// Markdown.
//
// usage: slide_bench OUTPUTS FEATURES BATCH THREADS
#include <fmt/core.h>
#include <omp.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "base/algorithms.h"
#include "bench/slide_step.h"
#include "measure/team_record.h"

namespace {

using namespace yoke;         // NOLINT(google-build-using-namespace): a program of one file
using namespace yoke::bench;  // NOLINT(google-build-using-namespace): likewise

constexpr int kRounds = 5;

/// Seconds a batch: the median over rounds of a pass over some batches.
double Seconds(const Stage& stage, bool plain, int64_t batches) {
  std::vector<double> times;
  for (int round = 0; round < kRounds; ++round) {
    const double began = Now();
    for (int64_t b = 0; b < batches; ++b) stage.run(b, plain);
    times.push_back((Now() - began) / static_cast<double>(batches));
  }
  return Median(times);
}

/// Of these, the seconds of one thread outside of parallel regions.
double SerialSeconds(const Stage& stage, int64_t batches) {
  std::vector<double> times;
  TeamRecord record;
  for (int round = 0; round < kRounds; ++round) {
    record.Take();
    for (int64_t b = 0; b < batches; ++b) stage.run(b, false);
    double sum = 0;
    for (const auto& [work, runs] : record.Take())
      if (work.function.empty()) sum += runs[0][0][0].fixed;
    times.push_back(sum / static_cast<double>(batches));
  }
  return Median(times);
}

/// Bytes a second of reading and writing a large array in order.
double Bandwidth() {
  const int64_t count = 64 << 20;
  const Buffer values = RandomValues(count, 1, 4);
  auto* x = values.As<float>();
  return 8.0 * double(count) * Rate(0.5, [&] {
#pragma omp parallel for simd schedule(static)
           for (int64_t i = 0; i < count; ++i) x[i] *= 0.999F;
         });
}

void Measure(int64_t outputs, int64_t features, int64_t batch, int threads) {
  SetKernelThreads(threads);
  Step step(outputs, features, batch);
  const double bandwidth = Bandwidth(), peak = GemmPeak();
  std::vector<Stage> stages = step.Stages();
  std::vector<double> plain, alone, team, serial;
  for (Stage& stage : stages) {
    SetKernelThreads(1);
    plain.push_back(Seconds(stage, true, 4));
    alone.push_back(Seconds(stage, false, kBatches));
    SetKernelThreads(threads);
    team.push_back(Seconds(stage, false, kBatches));
    serial.push_back(SerialSeconds(stage, kBatches));
    if (stage.name == "update") stage.bytes = step.UpdateBytes();
  }
  const double us = 1e6 / double(batch);
  const double sum = std::accumulate(team.begin(), team.end(), 0.0);
  fmt::print("{} outputs, {} features, batch {}: {}\n", outputs, features, batch,
             layer::Explain(step.settings()));
  fmt::print(
      "memory {:.1f} GB/s read and written in order, product {:.0f} GF/s f32, {} threads\n\n",
      bandwidth / 1e9, peak / 1e9, threads);
  fmt::print(
      "| stage, microseconds an example | plain, 1 thread | ours, 1 thread | times | {} threads "
      "| serial, of 1 thread | share | of the limit |\n|---|---|---|---|---|---|---|---|\n",
      threads);
  for (size_t i = 0; i < stages.size(); ++i) {
    const double limit = std::max(stages[i].bytes / bandwidth, stages[i].operations / peak);
    fmt::print("| {} | {:.2f} | {:.2f} | {:.1f} | {:.2f} | {:.2f} % | {:.0f} % | {} |\n",
               stages[i].name, plain[i] * us, alone[i] * us, plain[i] / alone[i], team[i] * us,
               100 * serial[i] / alone[i], 100 * team[i] / sum,
               limit > 0 ? fmt::format("{:.0f} %", 100 * limit / team[i]) : "in the cache");
  }
  const double all_plain = std::accumulate(plain.begin(), plain.end(), 0.0);
  const double all_alone = std::accumulate(alone.begin(), alone.end(), 0.0);
  const double share = std::accumulate(serial.begin(), serial.end(), 0.0) / all_alone;
  fmt::print("| all | {:.2f} | {:.2f} | {:.1f} | {:.2f} | {:.2f} % | 100 % | |\n\n", all_plain * us,
             all_alone * us, all_plain / all_alone, sum * us, 100 * share);
  fmt::print("by Amdahl's law 16 threads can be {:.1f} times as fast as 1\n",
             1 / (share + (1 - share) / 16));
  // Gather (what the forward stage takes beyond its products), merge and update are paid by row,
  // products and loss by score; the backward stage is two thirds of the products.
  const double rows = step.OutputRows(), scores = rows * double(step.settings().group);
  const auto of = [&](const char* name) {
    return team[std::ranges::find(stages, name, &Stage::name) - stages.begin()];
  };
  const double products = 6 * scores * kHidden / peak;
  const double by_score = (products + of("loss")) / scores;
  const double by_row =
      (of("forward") + of("backward") - products + of("update") * rows / step.TouchedRows()) / rows;
  fmt::print(
      "an active row costs {:.0f} ns a group, a score {:.1f} ns: equal in groups of {:.0f}\n",
      by_row * 1e9, by_score * 1e9, by_row / by_score);
  const Stage dense{.name = "dense", .run = [&](int64_t, bool) { step.UpdateAll(); }};
  fmt::print(
      "update: {:.0f} rows touched a batch; a dense optimizer's pass over all {} rows would "
      "take {:.1f} times as long\n",
      step.TouchedRows(), outputs + features, Seconds(dense, false, 1) / team.back());
}

}  // namespace

int main(int argc, char** argv) {
  BeginProgram(argv);
  if (argc != 5 || std::atoll(argv[3]) < 64) {
    fmt::print(stderr, "usage: slide_bench OUTPUTS FEATURES BATCH THREADS, BATCH from 64 on\n");
    return 2;
  }
  Measure(std::stoll(argv[1]), std::stoll(argv[2]), std::stoll(argv[3]), std::stoi(argv[4]));
  return 0;
}
