// compute_groups: means inside a group, a server's order between groups.
#include "strategy/support/served_tests.h"
#include "strategy/support/small_part.h"

namespace yoke::compute_groups_test {

test::LabSettings Settings(int groups) {
  return {.strategy = "compute_groups",
          .options = {{"groups", groups}},
          .rule = "momentum",
          .rate = 0.03};
}

TEST(ComputeGroups, CompressTheirMeansOnTheWayToTheServer) {
  const auto compressed = [](int groups) {
    test::LabSettings settings = Settings(groups);
    settings.options.insert(settings.options.end(), {{"compression", "topk"}, {"top_share", 0.2}});
    return settings;
  };
  test::ExpectAsTold({.settings = compressed(3),
                      .story = {.seconds = {1, 1.3717, 0.4931},
                                .steps = 12,
                                .rate = 0.01,
                                .momentum = 0.9,
                                .arrives = test::ArrivesWhereLargest},
                      .team = 2});
  test::ExpectGoesOnFromACheckpoint(compressed(2), {1, 1, 1.3717, 1.3717});
}

test::LabSettings LayerByLayer(int groups) {
  test::LabSettings settings = Settings(groups);
  settings.options.emplace_back("bucket_mb", 0.0);
  return settings;
}

TEST(ComputeGroups, DoTheSameLayerByLayer) {
  for (const int team : {1, 2}) {
    test::LabSettings settings = LayerByLayer(3);
    test::ExpectAsTold(
        {.settings = settings,
         .story = {.seconds = {1, 1.3717, 0.4931}, .steps = 12, .rate = 0.01, .momentum = 0.9},
         .team = team});
    settings.options.insert(settings.options.end(), {{"compression", "topk"}, {"top_share", 0.2}});
    test::ExpectAsTold({.settings = settings,
                        .story = {.seconds = {1, 1.3717, 0.4931},
                                  .steps = 12,
                                  .rate = 0.01,
                                  .momentum = 0.9,
                                  .arrives = test::ArrivesWhereLargest},
                        .team = team});
  }
  test::ExpectGoesOnFromACheckpoint(LayerByLayer(2), {1, 1, 1.3717, 1.3717});
  test::ExpectEstimatedTraffic(LayerByLayer(2), 6);
  test::ExpectEstimatedTraffic(LayerByLayer(3), 3);
  test::ExpectEstimatedTrafficCompressed(LayerByLayer(2), 6);
  test::ExpectFailureEndsAll(LayerByLayer(2), 4);
}

TEST(ComputeGroups, HaveTheSameBitsLayerByLayer) {
  const auto model = [](test::LabSettings settings) {
    settings.gradient = test::PullToRank;
    settings.clip_norm = 0.5;
    settings.steps = 12;
    std::vector<float> values;
    RunThreads({.ranks = 3}, [&](const Communicator& world) {
      test::Lab lab(world, settings);
      lab.Steps();
      const std::vector<float> mine = lab.Model();
      if (world.rank() == 0) values = mine;
    });
    return values;
  };
  EXPECT_EQ(model(LayerByLayer(1)), model(Settings(1)));
}

/// What leaves layer by layer is copied from the device before: the large bucket's message, which
/// is the first and takes longer than any copy, hides none of them.
TEST(ComputeGroups, CopyEachBucketFromTheDeviceBeforeItLeaves) {
  constexpr double kLink = 1e6, kNetwork = 1e5;
  constexpr int64_t kElements = 100000, kSteps = 4;
  double seconds[2] = {}, waiting[2] = {};
  for (const bool behind_link : {false, true})
    seconds[behind_link] =
        Simulate({.ranks = 2,
                  .bytes_per_second = kNetwork,
                  .device_bytes_per_second = behind_link ? kLink : 0},
                 [&](const Communicator& world) {
                   test::SmallPart part(world, {.strategy = "compute_groups",
                                                .options = {{"servers", 1}, {"bucket_mb", 0.0}},
                                                .slices = {{.name = "a", .shape = {16}},
                                                           {.name = "b", .shape = {kElements}}}});
                   if (world.rank() == 1) {
                     for (int64_t step = 0; step < kSteps; ++step) part.Step(step);
                     waiting[behind_link] = part.strategy->Counts().seconds_waiting;
                   }
                   part.strategy->Finish();
                 });
  const double copy = kSteps * 4.0 * kElements / kLink;
  EXPECT_NEAR((seconds[1] - seconds[0]) / copy, 2, 0.01);  // values to the device, too
  EXPECT_NEAR((waiting[1] - waiting[0]) / copy, 2, 0.01);
}

/// Seconds of a step of eight ranks in four groups: two of a forward pass, one backward through
/// each of four layers, and a fifth to send a layer.
double SecondsOfAStep(Table options) {
  constexpr int64_t kElements = 10000, kSteps = 20;
  options.emplace_back("groups", 4);
  const ServiceTime passes_only = [](int, const Cost& cost) {
    return cost.bytes > 0 ? 0 : cost.operations;
  };
  std::vector<Slice> slices;
  for (const char* name : {"a", "b", "c", "d"})
    slices.push_back({.name = name, .shape = {kElements}});
  const auto body = [&](const Communicator& world) {
    test::SmallPart part(world,
                         {.strategy = "compute_groups", .options = options, .slices = slices});
    for (int64_t step = 0; step < kSteps; ++step) {
      const StrategyStep given = {
          .step = step, .learning_rate = 0.1, .examples = 1, .team_examples = 2};
      part.strategy->View(given);
      world.Charge({.operations = 2});
      for (int layer = 3; layer >= 0; --layer) {
        world.Charge({.operations = 1});
        part.strategy->GradientReady(layer);
      }
      part.strategy->Step(given);
    }
    part.strategy->Finish();
  };
  return Simulate({.ranks = 8,
                   .timeout = 1e6,
                   .bytes_per_second = kElements * 4 / 0.2,
                   .service = passes_only},
                  body) /
         kSteps;
}

TEST(ComputeGroups, SendLayerByLayerBesideThePassInThePapersForm) {
  const double layers = SecondsOfAStep({{"form", "paper"}});
  const double whole = SecondsOfAStep({{"form", "paper"}, {"bucket_mb", 1.0}});
  EXPECT_LT(layers, 0.85 * whole);
  EXPECT_EQ(SecondsOfAStep({{"bucket_mb", 0.0}}), layers);
  EXPECT_EQ(SecondsOfAStep({}), whole);  // less than the default form's megabyte
  EXPECT_GT(layers, 6);                  // of the passes
}

TEST(ComputeGroups, GoOnFromACheckpoint) {
  test::ExpectGoesOnFromACheckpoint(Settings(2), {1, 1, 1.3717, 1.3717});
}

TEST(ComputeGroups, AreTheSameFromARankThatOnlyServes) {
  for (const int team : {1, 2}) {
    test::LabSettings settings = Settings(3);
    settings.options.emplace_back("servers", 1);
    settings.steps_per_epoch = 4;  // of each of three groups, which start slowly in half of them
    const ExchangeCounts counts = test::ExpectAsTold({.settings = settings,
                                                      .story = {.seconds = {1, 1.3717, 0.4931},
                                                                .steps = 12,
                                                                .rate = 0.01,
                                                                .momentum = 0.9,
                                                                .slow_start = 6},
                                                      .team = team});
    EXPECT_EQ(counts.updates, 36);
  }
  test::LabSettings one_group = Settings(1);
  one_group.rule = "sgd";
  const std::vector<float> model = test::AfterTwoMixedPushes(one_group, 0.01, 3);
  one_group.options.emplace_back("servers", 1);
  EXPECT_EQ(test::AfterTwoMixedPushes(one_group, 0.01, 3), model);
}

TEST(ComputeGroups, OneGroupIsOneBigBatch) {
  const ExchangeCounts counts =
      test::ExpectAsTold({.settings = Settings(1),
                          .story = {.seconds = {1}, .steps = 12, .rate = 0.03, .momentum = 0.9},
                          .team = 4});
  EXPECT_EQ(counts.staleness, std::vector<int64_t>{12});
}

TEST(ComputeGroups, AverageRowsAndStatisticsByExamples) {
  test::LabSettings settings = Settings(1);
  settings.rule = "sgd";
  const std::vector<float> model = test::AfterTwoMixedPushes(settings, 0.01, 3);
  const ParamLayout layout = test::MixedParts::Layout();
  EXPECT_FLOAT_EQ(model[0], 1 - 0.01F * (1 + 3 * 2) / 4);
  const float* table = model.data() + layout.slices()[1].offset;
  EXPECT_FLOAT_EQ(table[0], 1 - 0.01F * 10 / 4);
  EXPECT_FLOAT_EQ(table[2], 1 - 0.01F * 3 * 20 / 4);
  EXPECT_FLOAT_EQ(table[4], 1);
  EXPECT_FLOAT_EQ(table[6], 1 - 0.01F * (10 + 3 * 20) / 4);
  EXPECT_FLOAT_EQ(model[layout.slices()[2].offset], (5 + 3 * 9) / 4.0F);
}

TEST(ComputeGroups, TakeAMemberWithoutExamples) {
  const std::vector<float> model = test::AfterTwoMixedPushes(Settings(1), 0.01, 0);
  const ParamLayout layout = test::MixedParts::Layout();
  EXPECT_FLOAT_EQ(model[0], 1 - 0.01F);
  EXPECT_FLOAT_EQ(model[layout.slices()[2].offset], 5);
}

TEST(ComputeGroups, DivideTheReplicas) {
  const StrategyEntry& entry = FindEntry(strategies(), "strategy", "compute_groups");
  const auto team = [&](const Table& options, int world) {
    return entry.team(Options("cluster", options, entry.options), world);
  };
  EXPECT_EQ(team({{"groups", 3}}, 12), 4);
  EXPECT_EQ(team({}, 8), 4);  // two groups
  EXPECT_EQ(team({}, 3), 3);  // one
  try {
    team({{"groups", 3}}, 8);
    FAIL() << "nothing was thrown";
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(),
                 "cluster.groups = 3: it must divide the number of replicas that train, 8");
  }
}

TEST(ComputeGroups, ReachTheOptimumOverThreads) {
  test::LabSettings settings = Settings(2);
  settings.rule = "sgd";
  test::ExpectOptimumOverThreads(settings, 6);
}

TEST(ComputeGroups, AreTheRuleAlone) { test::ExpectNoneAlone(Settings(1)); }

TEST(ComputeGroups, SendWhatTheySay) {
  test::ExpectEstimatedTraffic(Settings(2), 6);
  test::ExpectEstimatedTrafficCompressed(Settings(2), 6);
  test::LabSettings paper = Settings(2);
  paper.options.emplace_back("form", "paper");
  test::ExpectEstimatedTraffic(paper, 6);
}

TEST(ComputeGroups, EndWithARankThatFails) { test::ExpectFailureEndsAll(Settings(2), 4); }

}  // namespace yoke::compute_groups_test
