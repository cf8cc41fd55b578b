// Drawn ranks: groups are sections of neighbouring ranks; inside a section they are spread evenly.
#include "comm/simulated/drawn_ranks.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace yoke {
namespace {

/// Ranks from `first` to before `end`.
struct Section {
  int first = 0, end = 0;
};

/// Whether two nodes are equal and in one group of each level.
bool AreAlike(const SimulatedRanks& cluster, int a, int b) {
  if (a == b) return true;
  for (const NodeGroups& groups : cluster.groups)
    if (groups.group_of[a] != groups.group_of[b]) return false;
  return cluster.NodeAt(a) == cluster.NodeAt(b);
}

std::vector<Section> SectionsOf(const SimulatedRanks& cluster) {
  std::vector<Section> sections;
  for (int rank = 0; rank < cluster.ranks; ++rank) {
    const int node = cluster.NodeOf(rank);
    if (sections.empty() || !AreAlike(cluster, node, cluster.NodeOf(rank - 1)))
      sections.push_back({.first = rank, .end = rank});
    sections.back().end = rank + 1;
  }
  return sections;
}

/// Appends `count` ranks of a section, its first and last among them; of one, the first, or at the
/// end of the cluster the last.
void Spread(const Section& section, int group, int count, bool at_end,
            std::vector<DrawnRank>& drawn) {
  const int64_t steps = section.end - section.first - 1;
  if (count == 1) return drawn.push_back({at_end ? section.end - 1 : section.first, group});
  for (int i = 0; i < count; ++i)
    drawn.push_back({section.first + static_cast<int>(steps * i / (count - 1)), group});
}

}  // namespace

std::vector<DrawnRank> DrawnRanks(const SimulatedRanks& cluster, int most) {
  const std::vector<Section> sections = SectionsOf(cluster);
  const auto groups = static_cast<int>(sections.size());
  std::vector<DrawnRank> drawn;
  if (groups > most) {
    Spread({.first = 0, .end = cluster.ranks}, 0, most, false, drawn);
    const auto group_of = [&](int rank) {
      const auto next = std::ranges::upper_bound(sections, rank, {}, &Section::first);
      return static_cast<int>(next - sections.begin()) - 1;
    };
    for (DrawnRank& one : drawn) one.group = group_of(one.rank);
    return drawn;
  }
  const int64_t rest = most - groups;
  for (int group = 0; group < groups; ++group) {
    const Section& section = sections[group];
    const int ranks = section.end - section.first;
    const int64_t more = rest * section.end / cluster.ranks - rest * section.first / cluster.ranks;
    const int part = cluster.ranks <= most ? ranks : std::min(ranks, static_cast<int>(1 + more));
    Spread(section, group, part, group + 1 == groups, drawn);
  }
  return drawn;
}

}  // namespace yoke
