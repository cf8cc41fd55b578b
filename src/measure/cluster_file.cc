// ClusterFile: reads the tables one by one, each checked against its keys.
#include "measure/cluster_file.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/options.h"
#include "measure/cluster_keys.h"

namespace yoke {
namespace {

using enum OptionType;
using namespace cluster_keys;  // NOLINT(google-build-using-namespace): the kinds of keys

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
  const auto speeds = std::make_shared<NodeSpeeds>(kinds, seed);
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
    const NodeKind kind = cluster.kinds.emplace_back(ReadNodes(table, path));
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
