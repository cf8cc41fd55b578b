// Timeline: a picture shows what fills most of a cell. Cells are joined until intervals are few. Of
// very many ranks it shows some: groups are sections of neighbouring ranks; inside a section the
// drawn ones are spread evenly.
#include "comm/simulated/timeline.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace yoke {
namespace {

constexpr size_t kComputing = static_cast<size_t>(Activity::kComputing);
constexpr size_t kWaiting = static_cast<size_t>(Activity::kWaiting);
constexpr size_t kSending = static_cast<size_t>(Activity::kSending);

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

/// Adds an interval; one that touches the last prolongs it.
void AddInterval(double begin, double end, std::vector<TimelineInterval>& intervals) {
  if (!intervals.empty() && intervals.back().end == begin)
    intervals.back().end = end;
  else
    intervals.push_back({.begin = begin, .end = end});
}

/// Of one lane up to `length` seconds after the origin.
ByActivity<std::vector<TimelineInterval>> IntervalsOf(const ActivityCells& cells, size_t lane,
                                                      double length) {
  ByActivity<std::vector<TimelineInterval>> intervals;
  const double width = cells.width();
  for (size_t cell = 0; cell < ActivityCells::kCells; ++cell) {
    const double begin = static_cast<double>(cell) * width;
    if (begin >= length) break;
    const double end = std::min(static_cast<double>(cell + 1) * width, length);
    const double computing = cells.At(lane, cell, Activity::kComputing);
    const double waiting = cells.At(lane, cell, Activity::kWaiting);
    const double nothing = end - begin - computing - waiting;
    if (std::max(computing, waiting) > nothing)
      AddInterval(begin, end, intervals[computing >= waiting ? kComputing : kWaiting]);
    if (cells.At(lane, cell, Activity::kSending) > (end - begin) / 2)
      AddInterval(begin, end, intervals[kSending]);
  }
  return intervals;
}

size_t TakeIntervals(const ActivityCells& cells, double length, std::vector<TimelineLane>& lanes) {
  size_t count = 0;
  for (size_t lane = 0; lane < lanes.size(); ++lane) {
    lanes[lane].intervals = IntervalsOf(cells, lane, length);
    for (const auto& of_activity : lanes[lane].intervals) count += of_activity.size();
  }
  return count;
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

Timeline::Timeline(const SimulatedRanks& cluster)
    : sends_(!cluster.fair_links),
      drawn_(DrawnRanks(cluster, kLanes)),
      states_(cluster.ranks),
      steps_(drawn_.size()),
      cells_(drawn_.size()),
      start_(0),
      first_sends_(drawn_.size()) {
  for (size_t lane = 0; lane < drawn_.size(); ++lane)
    states_[drawn_[lane].rank].lane = static_cast<int>(lane);
}

void Timeline::Change(int rank, Activity activity, int by, double now) {
  State& state = states_[rank];
  latest_ = std::max(latest_, now);
  if (state.computing > 0)
    Note(state, Activity::kComputing, state.since, now);
  else if (state.waiting > 0)
    Note(state, Activity::kWaiting, state.since, now);
  state.since = std::max(state.since, now);
  (activity == Activity::kComputing ? state.computing : state.waiting) += by;
}

void Timeline::Sends(int rank, double begin, double end) {
  State& state = states_[rank];
  begin = std::max(begin, state.sends_until);
  state.sends_until = std::max(state.sends_until, end);
  Note(state, Activity::kSending, begin, end);
  if (paced_by_ < 0 && state.lane >= 0 && end > begin)
    AddInterval(begin, end, first_sends_[state.lane]);
}

void Timeline::Note(State& state, Activity activity, double begin, double end) {
  if (end <= begin) return;
  state.seconds[static_cast<size_t>(activity)] += end - begin;
  if (state.lane >= 0 && begin < to_)
    cells_.Add(static_cast<size_t>(state.lane), activity, begin, std::min(end, to_));
}

void Timeline::Step(int rank) {
  const int lane = states_[rank].lane;
  if (lane < 0 || latest_ > to_) return;
  if (paced_by_ < 0) OpenWindow(rank);
  std::vector<double>& its = steps_[lane];
  if (its.size() < kStepsOfALane) its.push_back(latest_);
  paces_ += rank == paced_by_;
  done_ += its.size() == kSteps + 1;
  if (done_ > drawn_.size() / 2 || paces_ > kMostSteps) to_ = latest_;
}

/// A card may be busy for long with what was sent before.
void Timeline::OpenWindow(int rank) {
  paced_by_ = rank;
  start_ = std::exchange(cells_, ActivityCells(drawn_.size(), latest_));
  for (size_t lane = 0; lane < first_sends_.size(); ++lane)
    for (const auto& [begin, end] : std::exchange(first_sends_[lane], {}))
      cells_.Add(lane, Activity::kSending, begin, end);
}

TimelinePicture Timeline::Picture() const {
  const bool only_start = paces_ == 1;
  ActivityCells cells = only_start ? start_ : cells_;
  TimelinePicture picture = {.from = cells.origin(),
                             .to = only_start ? cells_.origin() : std::min(to_, LastTime()),
                             .seconds = latest_,
                             .ranks = static_cast<int>(states_.size()),
                             .sends = sends_};
  for (size_t a = 0; a < kActivities; ++a) picture.spreads[a] = SpreadOf(a);
  for (size_t lane = 0; lane < drawn_.size(); ++lane) {
    TimelineLane& drawn = picture.lanes.emplace_back(TimelineLane{.drawn = drawn_[lane]});
    for (size_t a = 0; a < kActivities; ++a)
      drawn.fractions[a] = Fraction(states_[drawn_[lane].rank], a);
    for (const double end : steps_[lane])
      if (end >= picture.from && end <= picture.to) drawn.steps.push_back(end - picture.from);
  }
  while (TakeIntervals(cells, picture.to - picture.from, picture.lanes) > kIntervals)
    cells.Coarsen();
  return picture;
}

/// The last end of a step, or without any the end of the run.
double Timeline::LastTime() const {
  double last = 0;
  for (const std::vector<double>& ends : steps_)
    if (!ends.empty()) last = std::max(last, ends.back());
  return paced_by_ < 0 ? latest_ : last;
}

double Timeline::Fraction(const State& state, size_t activity) const {
  return latest_ > 0 ? std::min(1.0, state.seconds[activity] / latest_) : 0;
}

ActivitySpread Timeline::SpreadOf(size_t activity) const {
  std::vector<double> fractions;
  for (const State& state : states_) fractions.push_back(Fraction(state, activity));
  const auto [least, most] = std::ranges::minmax_element(fractions);
  ActivitySpread spread = {.minimum = *least,
                           .maximum = *most,
                           .minimum_rank = static_cast<int>(least - fractions.begin()),
                           .maximum_rank = static_cast<int>(most - fractions.begin())};
  const auto middle = fractions.begin() + static_cast<std::ptrdiff_t>(fractions.size() / 2);
  std::ranges::nth_element(fractions, middle);
  spread.median = *middle;
  return spread;
}

}  // namespace yoke
