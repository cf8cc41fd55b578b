// Timelines: what a simulation records, that it is bounded, and which ranks have a lane.
#include "comm/simulated/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace yoke {

bool operator==(const TimelineInterval& a, const TimelineInterval& b) {
  return std::abs(a.begin - b.begin) < 5e-3 && std::abs(a.end - b.end) < 5e-3;
}
void PrintTo(const TimelineInterval& interval, std::ostream* out) {
  *out << interval.begin << " to " << interval.end;
}

namespace simulated_timeline_test {

using testing::ElementsAre;
using testing::IsEmpty;
using enum Activity;

double FractionOf(const TimelinePicture& picture, size_t lane, Activity activity) {
  return picture.lanes[lane].fractions[static_cast<size_t>(activity)];
}

const std::vector<TimelineInterval>& Intervals(const TimelinePicture& picture, size_t lane,
                                               Activity activity) {
  return picture.lanes[lane].intervals[static_cast<size_t>(activity)];
}

/// Of a timeline: an activity of rank 0 from begin to end.
void Do(Timeline& timeline, Activity activity, double begin, double end, int rank = 0) {
  timeline.Begin(rank, activity, begin);
  timeline.End(rank, activity, end);
}

TEST(Timeline, JoinsPiecesAndSumsThem) {
  Timeline timeline({.ranks = 1});
  for (int i = 0; i < 100; ++i) Do(timeline, kComputing, 0.01 * i, 0.01 * (i + 1));
  Do(timeline, kWaiting, 1, 2);
  Do(timeline, kComputing, 3, 4);
  timeline.Sends(0, 0.5, 1);
  timeline.Sends(0, 1, 1.5);
  const TimelinePicture picture = timeline.Picture();
  EXPECT_EQ(picture.from, 0);
  EXPECT_EQ(picture.to, 4);
  EXPECT_THAT(Intervals(picture, 0, kComputing),
              ElementsAre(TimelineInterval{0, 1}, TimelineInterval{3, 4}));
  EXPECT_THAT(Intervals(picture, 0, kWaiting), ElementsAre(TimelineInterval{1, 2}));
  EXPECT_THAT(Intervals(picture, 0, kSending), ElementsAre(TimelineInterval{0.5, 1.5}));
  EXPECT_DOUBLE_EQ(FractionOf(picture, 0, kComputing), 0.5);
  EXPECT_DOUBLE_EQ(FractionOf(picture, 0, kWaiting), 0.25);
  EXPECT_DOUBLE_EQ(FractionOf(picture, 0, kSending), 0.25);
}

TEST(Timeline, TheWindowHasWhatWasSentBeforeIt) {
  Timeline timeline({.ranks = 1});
  timeline.Sends(0, 0, 0.5);
  timeline.Sends(0, 0.5, 3);  // queued
  for (int second = 0; second < 4; ++second) {
    Do(timeline, kComputing, second, second + 1);
    timeline.Step(0);
  }
  const TimelinePicture picture = timeline.Picture();
  EXPECT_EQ(picture.from, 1);
  EXPECT_THAT(Intervals(picture, 0, kSending), ElementsAre(TimelineInterval{0, 2}));
}

TEST(Timeline, ARankOfWhichATaskComputesDoesNotWait) {
  Timeline timeline({.ranks = 1});
  timeline.Begin(0, kWaiting, 0);
  timeline.Begin(0, kComputing, 1);
  timeline.Begin(0, kComputing, 2);  // a second task
  timeline.End(0, kComputing, 3);
  timeline.End(0, kComputing, 4);
  timeline.End(0, kWaiting, 5);
  const TimelinePicture picture = timeline.Picture();
  EXPECT_THAT(Intervals(picture, 0, kComputing), ElementsAre(TimelineInterval{1, 4}));
  EXPECT_THAT(Intervals(picture, 0, kWaiting),
              ElementsAre(TimelineInterval{0, 1}, TimelineInterval{4, 5}));
  EXPECT_DOUBLE_EQ(FractionOf(picture, 0, kComputing), 0.6);
}

/// Steps of a second by each of two ranks, half computing and half waiting.
TimelinePicture PictureOfSteps(int steps) {
  Timeline timeline({.ranks = 2});
  for (int i = 0; i < steps; ++i) {
    for (int rank : {0, 1}) timeline.Begin(rank, kComputing, i);
    for (int rank : {0, 1}) timeline.End(rank, kComputing, i + 0.5);
    for (int rank : {0, 1}) timeline.Begin(rank, kWaiting, i + 0.5);
    for (int rank : {0, 1}) timeline.End(rank, kWaiting, i + 1);
    for (int rank : {1, 0}) timeline.Step(rank);
  }
  Do(timeline, kWaiting, steps, steps + 1);  // the end of the run
  return timeline.Picture();
}

TEST(Timeline, TheWindowIsAFewStepsAfterTheFirst) {
  const TimelinePicture picture = PictureOfSteps(100);
  EXPECT_EQ(picture.from, 1);
  EXPECT_EQ(picture.to, 1 + Timeline::kSteps);
  EXPECT_EQ(picture.seconds, 101);
  EXPECT_EQ(Intervals(picture, 0, kComputing).size(), size_t{Timeline::kSteps});
  EXPECT_EQ(Intervals(picture, 0, kComputing)[1], (TimelineInterval{1, 1.5}));
  EXPECT_EQ(picture.lanes[1].steps[1], 1);
  EXPECT_NEAR(FractionOf(picture, 1, kComputing), 50 / 101.0, 1e-9) << "of the whole run";
}

TEST(Timeline, TheWindowWaitsForMostRanks) {
  // As a server's own worker, whose messages take no time.
  Timeline timeline({.ranks = 3});
  for (int i = 1; i <= 200; ++i) {
    Do(timeline, kComputing, i - 1, i);
    timeline.Step(0);
    if (i % 10 != 0) continue;
    for (int rank : {1, 2}) timeline.Sends(rank, i - 9, i);
    for (int rank : {1, 2}) timeline.Step(rank);
  }
  const TimelinePicture picture = timeline.Picture();
  EXPECT_EQ(picture.from, 1);
  EXPECT_EQ(picture.to, 10 * (Timeline::kSteps + 1));
  EXPECT_EQ(picture.lanes[1].steps.size(), size_t{Timeline::kSteps + 1});
  EXPECT_EQ(Intervals(picture, 1, kSending).size(), size_t{Timeline::kSteps + 1});
}

TEST(Timeline, TheWindowDoesNotWaitForRanksThatTakeNoSteps) {
  Timeline timeline({.ranks = 2});
  for (int i = 1; i <= 1000; ++i) {
    Do(timeline, kComputing, i - 1, i, 1);
    timeline.Step(1);
  }
  EXPECT_EQ(timeline.Picture().to, 1 + Timeline::kMostSteps);
}

TEST(Timeline, FewStepsAreAllThatThereIs) {
  const TimelinePicture three = PictureOfSteps(3);
  EXPECT_EQ(three.from, 1);
  EXPECT_EQ(three.to, 3) << "the last step, not the end of the run";
  const TimelinePicture one = PictureOfSteps(1);
  EXPECT_EQ(one.from, 0);
  EXPECT_EQ(one.to, 1);
  EXPECT_THAT(Intervals(one, 1, kWaiting), ElementsAre(TimelineInterval{0.5, 1}));
  EXPECT_EQ(Timeline({.ranks = 1}).Picture().to, 0) << "nothing has happened";
}

TEST(Timeline, IsBounded) {
  constexpr int kRanks = 100'000, kPieces = 5000;
  Timeline timeline({.ranks = kRanks});
  for (int i = 0; i < kPieces; ++i) {
    timeline.Begin(0, i % 2 == 0 ? kComputing : kWaiting, i);
    timeline.End(0, i % 2 == 0 ? kComputing : kWaiting, i + 1);
    timeline.Sends(kRanks - 1, 2 * i, 2 * i + 1.5);
  }
  const TimelinePicture picture = timeline.Picture();
  EXPECT_EQ(picture.ranks, kRanks);
  EXPECT_EQ(picture.lanes.size(), size_t{Timeline::kLanes});
  EXPECT_EQ(picture.lanes.back().drawn.rank, kRanks - 1);
  size_t intervals = 0;
  for (const TimelineLane& lane : picture.lanes)
    for (const auto& of_activity : lane.intervals) intervals += of_activity.size();
  EXPECT_GT(intervals, 0);
  EXPECT_LE(intervals, Timeline::kIntervals);
  EXPECT_DOUBLE_EQ(FractionOf(picture, 0, kComputing), 0.5);
  const ActivitySpread spread = picture.spreads[static_cast<size_t>(kWaiting)];
  EXPECT_EQ(spread.median, 0);
  EXPECT_DOUBLE_EQ(spread.maximum, 0.5);
  EXPECT_EQ(spread.maximum_rank, 0);
}

std::vector<std::byte> Of(int64_t bytes) { return std::vector<std::byte>(bytes); }

/// What this body leaves.
TimelinePicture Recorded(SimulatedRanks ranks,
                         const std::function<void(const Communicator&)>& body) {
  Timeline timeline(ranks);
  const double without = Simulate(ranks, body);
  ranks.timeline = &timeline;
  EXPECT_EQ(Simulate(ranks, body), without) << "recording changes no time";
  return timeline.Picture();
}

const SimulatedRanks kPair = {
    .ranks = 2, .latency = 0.5, .bytes_per_second = 10000, .service = SteadyService(1, 1e18)};

TEST(SimulatedTimeline, RanksComputeWaitAndSend) {
  const TimelinePicture picture = Recorded(kPair, [](const Communicator& world) {
    if (world.rank() == 1) {
      world.Receive(0, 0);
      return static_cast<void>(world.Receive(0, 0));
    }
    world.Charge({.operations = 2});
    world.Send(Of(10000), 1, 0);
    world.Send(Of(10000), 1, 0);  // from 3 s on: the card is busy until then
    world.Charge({.operations = 0.5});
    world.Sleep(0.5);
  });
  EXPECT_DOUBLE_EQ(picture.to, 4.5);
  EXPECT_THAT(Intervals(picture, 0, kComputing), ElementsAre(TimelineInterval{0, 2.5}));
  EXPECT_THAT(Intervals(picture, 0, kWaiting), ElementsAre(TimelineInterval{2.5, 3}));
  EXPECT_THAT(Intervals(picture, 0, kSending), ElementsAre(TimelineInterval{2, 4}));
  EXPECT_THAT(Intervals(picture, 1, kWaiting), ElementsAre(TimelineInterval{0, 4.5}));
  EXPECT_THAT(Intervals(picture, 1, kComputing), IsEmpty());
  EXPECT_DOUBLE_EQ(FractionOf(picture, 0, kSending), 2 / 4.5);
}

TEST(SimulatedTimeline, ThreadsOfARankComputeButDoNotWaitForIt) {
  const TimelinePicture picture = Recorded(kPair, [](const Communicator& world) {
    if (world.rank() == 0) {
      world.Sleep(3);
      return world.Send(Of(0), 1, 0);
    }
    const auto thread = world.Spawn([&world](const Communicator& own) {
      world.For(own).Receive(0, 0);
      own.Charge({.operations = 1});
    });
    world.Charge({.operations = 2});
  });
  EXPECT_THAT(Intervals(picture, 1, kComputing),
              ElementsAre(TimelineInterval{0, 2}, TimelineInterval{3.5, 4.5}));
  EXPECT_THAT(Intervals(picture, 1, kWaiting), ElementsAre(TimelineInterval{2, 3.5}))
      << "for the end of its thread";
}

TEST(SimulatedTimeline, SharedCoresAndCopiesAreComputing) {
  SimulatedRanks ranks = kPair;
  ranks.ranks_per_node = 2;
  ranks.cores = 1;
  ranks.copy_bytes_per_second = 10000;
  const TimelinePicture picture = Recorded(ranks, [](const Communicator& world) {
    if (world.rank() == 0) return world.Send(Of(10000), 1, 0);
    world.Receive(0, 0);
  });
  EXPECT_THAT(Intervals(picture, 0, kComputing), ElementsAre(TimelineInterval{0, 1}));
  EXPECT_THAT(Intervals(picture, 0, kSending), IsEmpty()) << "inside a node";
  EXPECT_THAT(Intervals(picture, 1, kComputing), ElementsAre(TimelineInterval{1, 2}));
  EXPECT_THAT(Intervals(picture, 1, kWaiting), ElementsAre(TimelineInterval{0, 1}));
}

TEST(SimulatedTimeline, FairLinksDoNotTellWhenACardSends) {
  SimulatedRanks ranks = kPair;
  ranks.fair_links = true;
  const TimelinePicture picture = Recorded(ranks, [](const Communicator& world) {
    if (world.rank() == 0) return world.Send(Of(10000), 1, 0);
    world.Receive(0, 0);
  });
  EXPECT_FALSE(picture.sends);
  EXPECT_THAT(Intervals(picture, 1, kWaiting), ElementsAre(TimelineInterval{0, 1.5}));
}

std::vector<int> RanksOf(const std::vector<DrawnRank>& drawn) {
  std::vector<int> ranks(drawn.size());
  std::ranges::transform(drawn, ranks.begin(), &DrawnRank::rank);
  return ranks;
}

TEST(DrawnRanks, AreSpreadEvenly) {
  EXPECT_THAT(RanksOf(DrawnRanks({.ranks = 1}, 4)), ElementsAre(0));
  EXPECT_THAT(RanksOf(DrawnRanks({.ranks = 4}, 4)), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(RanksOf(DrawnRanks({.ranks = 100}, 4)), ElementsAre(0, 33, 66, 99));
}

TEST(DrawnRanks, EachGroupHasOne) {
  SimulatedRanks cluster = {.ranks = 100, .nodes = std::vector<SimulatedNode>(100)};
  cluster.nodes[50].kind = 1;
  const std::vector<DrawnRank> drawn = DrawnRanks(cluster, 7);
  EXPECT_THAT(RanksOf(drawn), ElementsAre(0, 24, 49, 50, 51, 75, 99));
  EXPECT_EQ(drawn[2].group, 0);
  EXPECT_EQ(drawn[3].group, 1);
  EXPECT_EQ(drawn[4].group, 2);
}

TEST(DrawnRanks, OfManyRacksOnlySomeHaveOne) {
  NodeGroups racks = {.group_of = std::vector<int>(100)};
  for (int node = 0; node < 100; ++node) racks.group_of[node] = node / 10;
  SimulatedRanks cluster = {.ranks = 200, .ranks_per_node = 2, .groups = {racks}};
  const std::vector<DrawnRank> drawn = DrawnRanks(cluster, 4);
  EXPECT_THAT(RanksOf(drawn), ElementsAre(0, 66, 132, 199));
  EXPECT_EQ(drawn[1].group, 3);
  EXPECT_EQ(DrawnRanks(cluster, 10).size(), 10U) << "one of each";
  EXPECT_EQ(DrawnRanks(cluster, 10).back().rank, 199);
}

}  // namespace simulated_timeline_test
}  // namespace yoke
