// ClusterNodes: reads [[nodes]]; draws slow nodes and jitter.
#include "measure/cluster_nodes.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "base/check.h"
#include "base/options.h"
#include "measure/cluster_keys.h"

namespace yoke {
namespace {

using namespace cluster_keys;  // NOLINT(google-build-using-namespace): the kinds of keys

constexpr int64_t kFull = int64_t{1} << 40;  // examples that keep every device busy

/// A path in quotes, or a table in place of the file.
OptionSpec Curve(const Value& nodes) {
  const Value* given = nodes.Find("curve");
  OptionSpec curve = Text("curve", "The speed of the device that computes, or a file with it.");
  if (given && given->AsTable()) curve.type = OptionType::kTable;
  return curve;
}
/// A path of the file, relative to its folder.
std::string PathFrom(const std::string& file, const std::string& path) {
  return std::filesystem::absolute(file).parent_path() / path;
}

void TakeJitter(const Value& table, NodeKind& kind) {
  const std::vector<OptionSpec> specs = {
      {.name = "kind",
       .help = "constant, exponential or lognormal.",
       .choices = {"constant", "exponential", "lognormal"},
       .required = true},
      Positive("sigma", "Of the logarithm of a lognormal time.")};
  const Options options("nodes.jitter", table, specs);
  kind.jitter = options.String("kind");
  const bool lognormal = kind.jitter == "lognormal";
  Require(lognormal == options.Has("sigma"), "{}: {}", options.Where(lognormal ? "kind" : "sigma"),
          lognormal ? "lognormal needs a sigma, such as sigma = 0.2"
                    : fmt::format("belongs to lognormal, and this jitter is {}", kind.jitter));
  if (lognormal) kind.sigma = options.Float("sigma");
}

void TakeSlow(const Value& table, NodeKind& kind) {
  OptionSpec fraction = Needed(Number("fraction", "Of the nodes, from 0 to 1."));
  OptionSpec factor = Needed(Number("factor", "How many times as long they take."));
  fraction.maximum = 1;
  factor.minimum = 1;
  const std::vector<OptionSpec> specs = {fraction, factor};
  const Options options("nodes.slow", table, specs);
  kind.slow_fraction = options.Float("fraction");
  kind.slow_factor = options.Float("factor");
}

/// Either the two rates, or one curve, or a curve a device.
void TakeSpeed(const Options& options, const Value& table, const std::string& file,
               NodeKind& kind) {
  const bool curve = options.Has("curve"), curves = options.Has("curves");
  for (const char* rate : {"operations_per_second", "bytes_per_second"}) {
    const bool has = options.Has(rate);
    Require(has || curve || curves,
            "{}: nodes: the key '{}' is missing: how fast a replica computes, beside it or by a "
            "curve = \"FILE\" of examples/devices",
            table.place(), rate);
    Require(!has || (!curve && !curves),
            "{}: the node has a curve, which says its speed: leave one of them out",
            options.Where(rate));
  }
  Require(!curve || !curves, "{}: the node has a curve too: leave one of them out",
          options.Where("curves"));
  if (curve)
    kind.curves[""] = table.Find("curve")->AsTable()
                          ? SpeedCurveOf(options.Raw("curve"), "nodes.curve")
                          : ReadSpeedCurve(PathFrom(file, options.String("curve")));
  if (curves) {
    for (const auto& [device, path] : *options.Raw("curves").AsTable()) {
      Require(path.AsString(), "{}: nodes.curves.{}: expected a path in quotes, got {}",
              path.place(), device, FormatValue(path));
      kind.curves[device] = ReadSpeedCurve(PathFrom(file, *path.AsString()));
    }
    Require(kind.curves.size() == 1 || kind.curves.contains("cpu"),
            "{}: expected one for the cpu, which does the arithmetic of strategies",
            options.Where("curves"));
  }
  if (curve || curves) return;
  kind.operations_per_second = options.Float("operations_per_second");
  kind.bytes_per_second = options.Float("bytes_per_second");
}

/// Where arithmetic on values is done: on the only device, or the CPU.
const SpeedCurve& Host(const NodeKind& kind) {
  const auto cpu = kind.curves.find("cpu");
  return cpu == kind.curves.end() ? kind.curves.begin()->second : cpu->second;
}

}  // namespace

NodeKind ReadNodes(const Value& table, const std::string& file) {
  const std::vector<OptionSpec> specs = {
      Whole("count", 1, 1, "Nodes like this one."),
      Text("title", "What they are."),
      Whole("ranks", 1, 1, "Replicas on each."),
      Whole("cores", 0, 0, "Of a node: pieces of work that run at once; 0: any number."),
      Whole("threads", 0, 0, "Of a replica's CPU; 0: its curve's, or 1."),
      Rate("operations_per_second", "Floating-point operations of a replica."),
      Rate("bytes_per_second", "Of a replica's memory."),
      Curve(table),
      Sub("curves", "Such a file for each of several devices, by its name in the job."),
      Sub("jitter", "How the time of equal work varies."),
      Sub("slow", "Stragglers."),
      Rate("network_bytes_per_second", "Of a node's card, if it is not the network's."),
      Number("price_per_hour", "Of a node."),
      Positive("mean_time_between", "Of a node's failures, in seconds.")};
  const Options options("nodes", table, specs);
  NodeKind kind = {.count = static_cast<int>(options.Int("count")),
                   .ranks = static_cast<int>(options.Int("ranks")),
                   .cores = static_cast<int>(options.Int("cores")),
                   .threads = static_cast<int>(options.Int("threads"))};
  TakeSpeed(options, table, file, kind);
  const bool cpu = !kind.curves.empty() && Host(kind).link_bytes_per_second == 0;
  const int most = cpu ? Host(kind).threads : 1;
  Require(!cpu || kind.threads <= most, "{}: the curve is of {} threads, got {}",
          options.Where("threads"), most, kind.threads);
  if (kind.threads == 0) kind.threads = most;
  if (options.Has("jitter")) TakeJitter(options.Raw("jitter"), kind);
  if (options.Has("slow")) TakeSlow(options.Raw("slow"), kind);
  if (options.Has("network_bytes_per_second"))
    kind.network_bytes_per_second = options.Float("network_bytes_per_second");
  if (options.Has("price_per_hour")) kind.price_per_hour = options.Float("price_per_hour");
  if (options.Has("mean_time_between")) kind.mean_time_between = options.Float("mean_time_between");
  return kind;
}

namespace {

/// Arithmetic on values (place.examples is 0) is done by the host, and fills it.
double Mean(const NodeKind& kind, const Cost& cost, const WorkPlace& place) {
  if (kind.curves.empty()) {
    Require(place.device == "cpu",
            "the cluster file does not know the speed of device {}: name "
            "a curve for it in nodes.curves",
            place.device);
    return (cost.operations / kind.operations_per_second + cost.bytes / kind.bytes_per_second) *
           std::max(1, place.threads);
  }
  if (place.examples == 0) return Host(kind).Seconds(cost, {.examples = kFull});
  const auto any = kind.curves.find("");
  const auto own = any == kind.curves.end() ? kind.curves.find(place.device) : any;
  Require(own != kind.curves.end(), "the cluster file has no curve of device {} in nodes.curves",
          place.device);
  return own->second.Seconds(cost, place);
}

}  // namespace

NodeSpeeds::NodeSpeeds(const std::vector<NodeKind>& kinds, uint64_t seed) : kinds_(kinds) {
  for (size_t i = 0; i < kinds_.size(); ++i) {
    const NodeKind& kind = kinds_[i];
    const auto slow = std::llround(kind.slow_fraction * kind.count);
    const std::vector<int64_t> order =
        Permutation(kind.count, Random({seed, Word(Draw::kCluster), i}));
    for (int node = 0; node < kind.count * kind.ranks; ++node)
      ranks_.push_back({.kind = i,
                        .factor = order[node / kind.ranks] < slow ? kind.slow_factor : 1,
                        .random = Random({seed, ranks_.size()})});
  }
}

double NodeSpeeds::Seconds(int rank, const Cost& cost, const WorkPlace& place) {
  const NodeKind& kind = kinds_[ranks_[rank].kind];
  const double mean = ranks_[rank].factor * Mean(kind, cost, place);
  if (mean == 0 || kind.jitter == "constant") return mean;
  Random& random = ranks_[rank].random;
  return mean * (kind.jitter == "exponential" ? ExponentialFactor(random)
                                              : LogNormalFactor(kind.sigma, random));
}

}  // namespace yoke
