// Topology: hwloc for the machine, the environment for ranks, and the rule by which threads get
// places.
#include "base/topology.h"

#include <fmt/core.h>
#include <hwloc.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <thread>

#include "base/resources.h"

namespace yoke {
namespace {

struct FreeTopology {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
using Loaded = std::unique_ptr<hwloc_topology, FreeTopology>;

Loaded LoadTopology() {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) return nullptr;
  Loaded owner(topology);
  hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  if (hwloc_topology_load(topology) != 0) return nullptr;
  return owner;
}

std::vector<Place> PlacesOf(hwloc_topology_t topology) {
  std::vector<Place> places;
  for (hwloc_obj_t o = nullptr; (o = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, o));) {
    const hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_CORE, o);
    const int node = o->nodeset ? hwloc_bitmap_first(o->nodeset) : 0;
    const hwloc_obj_t cache = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_L3CACHE, o);
    places.push_back({.id = static_cast<int>(o->os_index),
                      .core = static_cast<int>(core ? core->logical_index : o->logical_index),
                      .node = std::max(0, node),
                      .cache = static_cast<int>(cache ? cache->logical_index : 0)});
  }
  std::stable_sort(places.begin(), places.end(),
                   [](const Place& a, const Place& b) { return a.node < b.node; });
  return places;
}

std::vector<CacheInfo> CachesOf(hwloc_topology_t topology) {
  std::vector<CacheInfo> caches;
  for (hwloc_obj_t o = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PU, 0); o; o = o->parent)
    if (hwloc_obj_type_is_dcache(o->type))
      caches.push_back({.level = static_cast<int>(o->attr->cache.depth),
                        .bytes = static_cast<int64_t>(o->attr->cache.size),
                        .shared_by = hwloc_bitmap_weight(o->cpuset),
                        .count = hwloc_get_nbobjs_by_type(topology, o->type)});
  return caches;
}

/// Every processor a core on one memory node.
Topology PlainTopology() {
  Topology plain;
  const int count = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  for (int id = 0; id < count; ++id) plain.places.push_back({.id = id, .core = id});
  plain.allowed = plain.cores = count;
  plain.nodes = 1;
  return plain;
}

/// The number that an environment variable begins with ("4(x2),3" is 4).
std::optional<int> NumberIn(const char* variable) {
  const char* text = std::getenv(variable);
  if (!text || *text < '0' || *text > '9') return {};
  return std::atoi(text);
}

std::vector<int> MaskOf(pid_t thread) {
  std::vector<int> ids;
  cpu_set_t set;
  if (sched_getaffinity(thread, sizeof set, &set) == 0)
    for (int id = 0; id < CPU_SETSIZE; ++id)
      if (CPU_ISSET(id, &set)) ids.push_back(id);
  return ids;
}

std::vector<int> ThisThreadsMask() { return MaskOf(0); }

bool SetMask(const std::vector<int>& ids) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int id : ids) CPU_SET(id, &set);
  return sched_setaffinity(0, sizeof set, &set) == 0;
}

/// The mask's places, the first of each core before the second ones.
std::vector<Place> CoresFirst(const Topology& topology, const std::vector<int>& mask) {
  std::map<int, int> seen;  // hardware threads so far, by core
  std::vector<std::pair<int, Place>> ordered;
  for (const Place& place : topology.places)
    if (std::find(mask.begin(), mask.end(), place.id) != mask.end())
      ordered.emplace_back(seen[place.core]++, place);
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Place> places;
  places.reserve(ordered.size());
  for (const auto& [sibling, place] : ordered) places.push_back(place);
  return places;
}

int CountCores(const std::vector<Place>& places) {
  std::set<int> cores;
  for (const Place& place : places) cores.insert(place.core);
  return static_cast<int>(cores.size());
}

/// How many of the machine's ranks share this mask: those that would not fit side by side.
int Sharers(const Topology& topology, int mask, const LocalRank& rank) {
  const int allowed = std::max({topology.allowed, mask, 1});
  return std::clamp((mask * rank.size + allowed - 1) / allowed, 1, rank.size);
}

/// The places of the cores that are rank `r`'s when `sharers` divide the mask's cores evenly.
std::vector<Place> BlockOf(const std::vector<Place>& places, int cores, int r, int sharers) {
  if (sharers == 1) return places;
  const int each = cores / sharers;
  std::set<int> mine;
  for (int i = r * each; i < (r + 1) * each; ++i) mine.insert(places[i].core);
  std::vector<Place> block;
  for (const Place& place : places)
    if (mine.contains(place.core)) block.push_back(place);
  return block;
}

/// "3 threads" and so on.
std::string Plural(int count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

/// What speaks against binding, or "".
struct Situation {
  const ThreadRequest& request;
  const Allowance& allowance;
  int threads, sharers, cores, block_cores, block_places;
};
std::string Obstacle(const Situation& s) {
  if (!s.request.pin) return "Not pinned: node.pin is false.";
  if (s.allowance.mask.empty() || s.cores == 0)
    return "Not pinned: the system does not report which cores this process may use.";
  if (s.sharers > 1 && s.sharers < s.allowance.rank.size)
    return fmt::format("Not pinned: {} ranks share these cores, and their division is unknown.",
                       s.sharers);
  if (s.allowance.quota > 0 && s.allowance.quota < s.cores)
    return fmt::format("Not pinned: a quota of {} leaves room for other programs on these {}.",
                       Plural(s.allowance.quota, "core"), Plural(s.cores, "core"));
  if (s.threads > s.block_places)
    return fmt::format("Not pinned: {} would share {}.", Plural(s.threads, "thread"),
                       Plural(s.block_places, "processor"));
  if (s.threads < s.block_cores && s.sharers == 1)
    return fmt::format("Not pinned: {} leave {} free, and the scheduler avoids busy cores.",
                       Plural(s.threads, "thread"), Plural(s.block_cores - s.threads, "core"));
  return "";
}

void SortByNode(std::vector<Place>& places) {
  std::stable_sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
    return std::pair(a.node, a.core) < std::pair(b.node, b.core);
  });
}

std::vector<int> IdsOf(const std::vector<Place>& places) {
  std::vector<int> ids;
  ids.reserve(places.size());
  for (const Place& place : places) ids.push_back(place.id);
  return ids;
}

/// For each thread the places that share its own one's node and cache. Nothing where all do, or
/// where threads have no places of their own.
std::vector<std::vector<int>> Neighbourhoods(const ThreadPlan& plan) {
  if (plan.threads != std::ssize(plan.places)) return {};
  std::map<std::pair<int, int>, std::vector<int>> groups;
  for (const Place& place : plan.places) groups[{place.node, place.cache}].push_back(place.id);
  if (groups.size() == 1) return {};
  std::vector<std::vector<int>> of_threads;
  for (const Place& place : plan.places) of_threads.push_back(groups[{place.node, place.cache}]);
  return of_threads;
}

/// The bindings that this thread holds, the innermost last. Tasks that take turns on a thread may
/// end them in any order.
thread_local std::vector<const Binding*> bindings;
/// Where a binding has placed this thread of a team; empty: nowhere.
thread_local std::vector<int> taken;

}  // namespace

Topology FindTopology() {
  const Loaded loaded = LoadTopology();
  if (!loaded) return PlainTopology();
  Topology found{.places = PlacesOf(loaded.get()),
                 .allowed = hwloc_bitmap_weight(hwloc_topology_get_allowed_cpuset(loaded.get())),
                 .cores = hwloc_get_nbobjs_by_type(loaded.get(), HWLOC_OBJ_CORE),
                 .nodes = hwloc_get_nbobjs_by_type(loaded.get(), HWLOC_OBJ_NUMANODE),
                 .caches = CachesOf(loaded.get())};
  return found.places.empty() ? PlainTopology() : found;
}

std::string HwlocVersion() {
  const unsigned version = hwloc_get_api_version();
  return fmt::format("{}.{}.{}", version >> 16, (version >> 8) & 0xFF, version & 0xFF);
}

LocalRank FindLocalRank() {
  constexpr const char* kNames[][2] = {{"OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
                                       {"MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
                                       {"SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE"}};
  for (const auto& [rank, size] : kNames) {
    const std::optional<int> r = NumberIn(rank), n = NumberIn(size);
    if (r && n && *n > *r) return {.rank = *r, .size = *n};
  }
  return {};
}

LocalRank OnThisMachine(const LocalRank& inside) {
  const LocalRank process = FindLocalRank();
  return {.rank = process.rank * inside.size + inside.rank, .size = process.size * inside.size};
}

Allowance FindAllowance() {
  return {.mask = ThisThreadsMask(), .quota = QuotaCores(), .rank = FindLocalRank()};
}

ThreadPlan PlanThreads(const Topology& topology, const Allowance& allowance,
                       const ThreadRequest& request) {
  const std::vector<Place> places = CoresFirst(topology, allowance.mask);
  const int cores = CountCores(places);
  const int sharers = Sharers(topology, static_cast<int>(places.size()), allowance.rank);
  int free = cores / sharers;
  if (allowance.quota > 0) free = std::min(free, allowance.quota / allowance.rank.size);
  ThreadPlan plan{.threads = request.threads > 0 ? request.threads : std::max(1, free),
                  .places = {},
                  .reason = {}};
  const std::vector<Place> block = BlockOf(places, cores, allowance.rank.rank, sharers);
  plan.reason = Obstacle({.request = request,
                          .allowance = allowance,
                          .threads = plan.threads,
                          .sharers = sharers,
                          .cores = cores,
                          .block_cores = CountCores(block),
                          .block_places = static_cast<int>(block.size())});
  if (!plan.reason.empty()) return plan;
  const int block_cores = CountCores(block);
  plan.places.assign(block.begin(), block.begin() + std::max(plan.threads, block_cores));
  SortByNode(plan.places);
  plan.reason = sharers > 1 ? fmt::format("Pinned to the share of local rank {} of {}.",
                                          allowance.rank.rank, allowance.rank.size)
                            : "Pinned: the threads fill the cores that this process may use.";
  if (!Neighbourhoods(plan).empty())
    plan.reason += " Each stays on the cores that share its memory node and last cache.";
  return plan;
}

ThreadPlan PlanThreads(const ThreadRequest& request) {
  static const Topology topology = FindTopology();  // a machine does not change
  Allowance allowance = FindAllowance();
  allowance.rank = OnThisMachine(request.inside);
  return PlanThreads(topology, allowance, request);
}

std::vector<ThreadPlan> Divide(const ThreadPlan& plan, int parts) {
  std::vector<ThreadPlan> teams;
  for (int part = 0; part < parts; ++part) {
    const int begin = plan.threads * part / parts, end = plan.threads * (part + 1) / parts;
    ThreadPlan team{.threads = std::max(1, end - begin), .places = {}, .reason = plan.reason};
    const auto places = std::ssize(plan.places);
    if (places > 0 && end > begin)
      team.places.assign(plan.places.begin() + places * begin / plan.threads,
                         plan.places.begin() + places * end / plan.threads);
    teams.push_back(std::move(team));
  }
  return teams;
}

Binding::Binding(const ThreadPlan& plan) : all_(IdsOf(plan.places)) {
  if (all_.empty()) return;
  std::vector<int> before = ThisThreadsMask();
  if (!SetMask(all_)) return;
  before_ = std::move(before);
  of_threads_ = Neighbourhoods(plan);
  bindings.push_back(this);
}

Binding::~Binding() {
  if (before_.empty()) return;
  std::erase(bindings, this);
  SetMask(before_);
}

const Binding* Binding::OfTeam() {
  return bindings.empty() || bindings.back()->of_threads_.empty() ? nullptr : bindings.back();
}

const std::vector<int>& Binding::PlacesOf(int number) const {
  const bool apart = number > 0 && number < std::ssize(of_threads_);
  return apart ? of_threads_[number] : all_;
}

void Binding::TakePlace(int number) const {
  const std::vector<int>& places = PlacesOf(number);
  if (number == 0 || places == taken) return;
  SetMask(places);
  taken = places;
}

void LeavePlace(int leader) {
  if (!taken.empty() && SetMask(MaskOf(leader))) taken.clear();
}

}  // namespace yoke
