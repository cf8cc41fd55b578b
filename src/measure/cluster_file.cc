// ClusterFile: reads the tables one by one, each checked against its keys.
#include "measure/cluster_file.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/options.h"
#include "base/random.h"

namespace yoke {
namespace {

using enum OptionType;

constexpr double kMost = 1e30;
constexpr int64_t kFull = int64_t{1} << 40;  // examples that keep every device busy

OptionSpec Text(const char* name, const char* help) { return {.name = name, .help = help}; }
OptionSpec Whole(const char* name, int fallback, int minimum, const char* help) {
  return {.name = name,
          .type = kInt,
          .fallback = fallback,
          .help = help,
          .minimum = static_cast<double>(minimum),
          .maximum = kMostRanks};
}
/// A number above 0, which may be absent; likewise the next one.
OptionSpec Positive(const char* name, const char* help) {
  return {.name = name,
          .type = kFloat,
          .help = help,
          .minimum = 0,
          .maximum = kMost,
          .exclusive_minimum = true};
}
OptionSpec Rate(const char* name, const char* help) {
  OptionSpec rate = Positive(name, help);
  rate.minimum = 1;
  rate.exclusive_minimum = false;
  return rate;
}
/// A number of at least 0.
OptionSpec Number(const char* name, const char* help) {
  return {.name = name, .type = kFloat, .help = help, .minimum = 0, .maximum = kMost};
}
OptionSpec Sub(const char* name, const char* help) {
  return {.name = name, .type = kTable, .help = help};
}
/// A path in quotes, or a table in place of the file.
OptionSpec Curve(const Value& nodes) {
  const Value* given = nodes.Find("curve");
  OptionSpec curve = Text("curve", "The speed of the device that computes, or a file with it.");
  if (given && given->AsTable()) curve.type = kTable;
  return curve;
}
OptionSpec Needed(OptionSpec spec) {
  spec.required = true;
  return spec;
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

NodeKind ReadKind(const Value& table, const std::string& file) {
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

/// The group of each node: equal groups of neighbours, or as many in each as the list says.
std::vector<int> GroupOf(const Options& options, int nodes) {
  std::vector<int64_t> sizes = options.Ints("nodes");
  if (options.Raw("nodes").AsInt())
    sizes = std::vector<int64_t>((nodes + sizes[0] - 1) / sizes[0], sizes[0]);
  else
    Require(std::accumulate(sizes.begin(), sizes.end(), int64_t{0}) == nodes,
            "{}: the groups {} have not as many nodes as the cluster, {}", options.Where("nodes"),
            FormatValue(options.Raw("nodes")), nodes);
  std::vector<int> group_of;
  for (size_t group = 0; group < sizes.size(); ++group)
    group_of.insert(group_of.end(), std::min<int64_t>(sizes[group], nodes - std::ssize(group_of)),
                    static_cast<int>(group));
  return group_of;
}

OptionSpec GroupSizes() {
  return {.name = "nodes",
          .type = kInts,
          .help = "Neighbouring nodes of a group, or a list with the size of each.",
          .minimum = 1,
          .maximum = kMostRanks,
          .required = true};
}

NodeGroups ReadRacks(const Value& table, const std::vector<double>& cards) {
  OptionSpec latency = Number("latency", "Seconds that a message between racks takes longer.");
  latency.fallback = 0.0;
  const std::vector<OptionSpec> specs = {
      GroupSizes(), Rate("uplink_bytes_per_second", "Of a rack, in each direction."),
      Positive("oversubscription", "The cards of a rack together, divided by its uplink."),
      latency};
  const Options options("network.racks", table, specs);
  const bool uplink = options.Has("uplink_bytes_per_second");
  Require(uplink != options.Has("oversubscription"),
          "{}: network.racks: expected either uplink_bytes_per_second or oversubscription",
          table.place());
  NodeGroups racks = {.group_of = GroupOf(options, static_cast<int>(cards.size())),
                      .bytes_per_second = {},
                      .latency = options.Float("latency")};
  racks.bytes_per_second.resize(racks.group_of.back() + 1);
  for (size_t node = 0; node < cards.size(); ++node) {
    double& speed = racks.bytes_per_second[racks.group_of[node]];
    speed = uplink ? options.Float("uplink_bytes_per_second")
                   : speed + cards[node] / options.Float("oversubscription");
  }
  return racks;
}

NodeGroups ReadRegions(const Value& table, int nodes) {
  const std::vector<OptionSpec> specs = {
      GroupSizes(), Needed(Rate("bytes_per_second", "From a region to the others, and back.")),
      Needed(Number("latency", "Seconds that a message between regions takes longer."))};
  const Options options("network.regions", table, specs);
  NodeGroups regions = {.group_of = GroupOf(options, nodes),
                        .bytes_per_second = {},
                        .latency = options.Float("latency")};
  regions.bytes_per_second.assign(regions.group_of.back() + 1, options.Float("bytes_per_second"));
  return regions;
}

void RequireRacksInsideRegions(const Options& network, const ClusterFile& cluster) {
  if (cluster.groups.size() < 2) return;
  const std::vector<int>& rack = cluster.groups[0].group_of;
  const std::vector<int>& region = cluster.groups[1].group_of;
  for (size_t node = 1; node < rack.size(); ++node)
    Require(rack[node] != rack[node - 1] || region[node] == region[node - 1],
            "{}: expected racks inside one region each, but nodes {} and {} (from 0) are in one "
            "rack and two regions",
            network.Where("racks"), node - 1, node);
}

void TakeNetwork(const Value& table, ClusterFile& cluster) {
  const std::vector<OptionSpec> specs = {
      Needed(Number("latency", "Seconds from card to card.")),
      Needed(Rate("bytes_per_second", "Of a node's card, in each direction.")),
      {.name = "fair_links",
       .type = kBool,
       .fallback = false,
       .help = "Messages share a card evenly, in place of one after another."},
      Rate("copy_bytes_per_second", "At which a core copies a message that is sent or received."),
      {.name = "polling",
       .type = kFloat,
       .fallback = 0.0,
       .help = "Part of a core that a replica's waiting thread takes where no core is free.",
       .minimum = 0,
       .maximum = 0.9},
      Sub("racks", "Racks whose nodes share an uplink."),
      Sub("regions", "Regions whose nodes share a link of a WAN.")};
  const Options options("network", table, specs);
  cluster.latency = options.Float("latency");
  cluster.fair_links = options.Bool("fair_links");
  cluster.polling = options.Float("polling");
  if (options.Has("copy_bytes_per_second"))
    cluster.copy_bytes_per_second = options.Float("copy_bytes_per_second");
  std::vector<double> cards;
  for (NodeKind& kind : cluster.kinds) {
    if (kind.network_bytes_per_second == 0)
      kind.network_bytes_per_second = options.Float("bytes_per_second");
    cards.insert(cards.end(), kind.count, kind.network_bytes_per_second);
  }
  if (options.Has("racks")) cluster.groups.push_back(ReadRacks(options.Raw("racks"), cards));
  if (options.Has("regions"))
    cluster.groups.push_back(ReadRegions(options.Raw("regions"), cluster.Nodes()));
  RequireRacksInsideRegions(options, cluster);
  Require(!cluster.fair_links ||
              (cluster.groups.empty() && std::ranges::count(cards, cards[0]) == std::ssize(cards)),
          "{}: shares the cards of equal nodes only: leave out racks, regions and "
          "network_bytes_per_second",
          options.Where("fair_links"));
}

/// The speed of each rank, with its draws.
class Speeds {
 public:
  Speeds(const std::vector<NodeKind>& kinds, uint64_t seed) : kinds_(kinds) {
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

  double Seconds(int rank, const Cost& cost, const WorkPlace& place) {
    const NodeKind& kind = kinds_[ranks_[rank].kind];
    const double mean = ranks_[rank].factor * Mean(kind, cost, place);
    if (mean == 0 || kind.jitter == "constant") return mean;
    Random& random = ranks_[rank].random;
    return mean * (kind.jitter == "exponential" ? ExponentialFactor(random)
                                                : LogNormalFactor(kind.sigma, random));
  }

 private:
  struct Rank {
    size_t kind = 0;
    double factor = 1;
    Random random;
  };

  /// Arithmetic on values (place.examples is 0) is done by the host, and fills it.
  static double Mean(const NodeKind& kind, const Cost& cost, const WorkPlace& place) {
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

  std::vector<NodeKind> kinds_;
  std::vector<Rank> ranks_;
};

}  // namespace

int ClusterFile::Nodes() const {
  int nodes = 0;
  for (const NodeKind& kind : kinds) nodes += kind.count;
  return nodes;
}

int ClusterFile::Ranks() const {
  int ranks = 0;
  for (const NodeKind& kind : kinds) ranks += kind.count * kind.ranks;
  return ranks;
}

double ClusterFile::PricePerHour() const {
  double sum = 0;
  for (const NodeKind& kind : kinds) sum += kind.price_per_hour.value_or(0) * kind.count;
  return sum;
}

std::string ClusterFile::PriceNote() const {
  int without = 0;
  for (const NodeKind& kind : kinds) without += kind.price_per_hour ? 0 : kind.count;
  if (without == 0 || PricePerHour() == 0) return "";
  return fmt::format("{} of {} nodes have no price_per_hour: the cost is that of the others",
                     without, Nodes());
}

SimulatedRanks ClusterFile::Simulated(uint64_t seed) const {
  SimulatedRanks cluster = {.ranks = Ranks(),
                            .latency = latency,
                            .fair_links = fair_links,
                            .polling = polling,
                            .copy_bytes_per_second = copy_bytes_per_second,
                            .groups = groups};
  cluster.bytes_per_second = kinds[0].network_bytes_per_second;  // with fair_links all nodes'
  for (const NodeKind& kind : kinds)
    for (int node = 0; node < kind.count; ++node) {
      cluster.node_of.insert(cluster.node_of.end(), kind.ranks,
                             static_cast<int>(cluster.nodes.size()));
      cluster.nodes.push_back({.cores = kind.cores,
                               .cpu_threads = kind.threads,
                               .bytes_per_second = kind.network_bytes_per_second,
                               .kind = static_cast<int>(&kind - kinds.data())});
    }
  std::vector<double> lives;
  for (const NodeKind& kind : kinds)
    lives.insert(lives.end(), kind.count,
                 kind.mean_time_between.value_or(failures.mean_time_between));
  cluster.failures = yoke::Simulated(failures, std::move(lives), seed);
  const auto speeds = std::make_shared<Speeds>(kinds, seed);
  cluster.service = [speeds](int rank, const Cost& cost) {
    return speeds->Seconds(rank, cost, {});
  };
  cluster.devices = [speeds](int rank, const Cost& cost, const WorkPlace& place) {
    return speeds->Seconds(rank, cost, place);
  };
  return cluster;
}

ClusterFile ClusterOf(const Value& root, const std::string& path) {
  const Value* nodes = root.Find("nodes");
  Require(!nodes || !nodes->AsTable(), "{}: expected [[nodes]] in double brackets, got [nodes]",
          nodes ? nodes->place() : "");
  const std::vector<OptionSpec> specs = {
      Text("title", "What the cluster is."),
      Text("source", "Where the figures are from."),
      {.name = "nodes", .type = kTables, .help = "The nodes, as [[nodes]].", .required = true},
      Needed(Sub("network", "The network, as [network].")),
      Sub("failures", "How nodes fail, as [failures].")};
  const Options options("cluster", root, specs);
  const List& kinds = *options.Raw("nodes").AsList();
  Require(!kinds.empty(), "{}: the list of nodes is empty", options.Where("nodes"));
  ClusterFile cluster;
  if (options.Has("title")) cluster.title = options.String("title");
  double ranks = 0;
  for (const Value& table : kinds) {
    const NodeKind kind = cluster.kinds.emplace_back(ReadKind(table, path));
    ranks += static_cast<double>(kind.count) * kind.ranks;
    Require(ranks <= kMostRanks, "{}: nodes: expected at most {} replicas in all, got {}",
            table.place(), kMostRanks, ranks);
  }
  TakeNetwork(options.Raw("network"), cluster);
  if (options.Has("failures"))
    cluster.failures = ReadFailures(options.Raw("failures"), cluster.Nodes());
  return cluster;
}

ClusterFile ReadCluster(const std::string& path) { return ClusterOf(ReadToml(path), path); }

}  // namespace yoke
