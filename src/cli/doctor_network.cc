// Prints tables of pairs and collectives, and a verdict.
#include "cli/doctor.h"

#include <fmt/core.h>

#include "base/check.h"
#include "comm/launcher.h"
#include "comm/network_benchmark.h"
#include "comm/threads.h"

namespace yoke {
namespace {

constexpr int kDefaultReplicas = 2;

std::string Microseconds(double seconds) { return fmt::format("{:.1f}", seconds * 1e6); }
std::string Megabytes(double bytes) {
  return bytes > 0 ? fmt::format("{:.0f}", bytes / 1e6) : std::string("-");
}

Table ToTable(const NetworkReport& report, const std::string& world) {
  List pairs, collectives;
  for (const PairSpeed& pair : report.pairs)
    pairs.push_back(Table{{"ranks", List{pair.first, pair.second}},
                          {"one_machine", pair.one_machine},
                          {"latency", pair.latency},
                          {"bytes_per_second", pair.bytes_per_second}});
  for (const CollectiveSpeed& one : report.collectives)
    collectives.push_back(Table{{"name", one.name},
                                {"bytes", one.bytes},
                                {"seconds", one.seconds},
                                {"algorithm_bandwidth", one.algorithm_bandwidth},
                                {"bus_bandwidth", one.bus_bandwidth}});
  return {{"world", world},
          {"ranks", report.ranks},
          {"machines", ListOf(report.machines)},
          {"pairs", pairs},
          {"collectives", collectives},
          {"median_latency", report.median_latency},
          {"median_bytes_per_second", report.median_bytes_per_second},
          {"verdict", Verdict(report)}};
}

void PrintTables(const NetworkReport& report, Output& out) {
  std::vector<std::vector<std::string>> rows = {{"pair", "latency us", "MB/s", "machines"}};
  for (const PairSpeed& pair : report.pairs)
    rows.push_back({fmt::format("{} - {}", pair.first, pair.second), Microseconds(pair.latency),
                    Megabytes(pair.bytes_per_second),
                    pair.one_machine
                        ? report.machines[pair.first]
                        : report.machines[pair.first] + " - " + report.machines[pair.second]});
  for (const std::string& line : TableLines(rows, {1, 2})) out.Text(line);
  out.Text("");
  rows = {{"collective", "bytes", "us", "MB/s", "bus MB/s"}};
  for (const CollectiveSpeed& one : report.collectives)
    rows.push_back({one.name, std::to_string(one.bytes), Microseconds(one.seconds),
                    Megabytes(one.algorithm_bandwidth), Megabytes(one.bus_bandwidth)});
  for (const std::string& line : TableLines(rows, {1, 2, 3, 4})) out.Text(line);
}

void Print(const NetworkReport& report, const std::string& world, Output& out) {
  out.Event("doctor", {{"network", ToTable(report, world)}});
  if (!report.pairs.empty()) PrintTables(report, out);
  if (!report.pairs.empty()) out.Text("");
  out.Text("-> " + Verdict(report));
}

}  // namespace

void ReportNetwork(const NetworkRequest& request, Output& out) {
  const Launch launch = FindLaunch();
  const bool launched = !launch.launcher.empty();
  Require(!launched || !request.replicas, "{} sets the number of ranks: leave out --replicas",
          launch.launcher);
  const int replicas = request.replicas.value_or(kDefaultReplicas);
  Require(replicas >= 2, "--replicas: messages need 2 ranks or more, got {}", replicas);
  const std::string world = launched ? "processes of " + launch.launcher : "threads of one process";
  const auto measure = [&](const Communicator& ranks) {
    if (ranks.rank() == 0) out.Text(fmt::format("{} ranks, {}\n", ranks.size(), world));
    const NetworkReport report = MeasureNetwork(ranks);
    if (ranks.rank() == 0) Print(report, world, out);
  };
  if (launched) return RunMpi({.timeout = request.timeout}, measure);
  RunThreads({.ranks = replicas, .timeout = request.timeout}, measure);
}

}  // namespace yoke
