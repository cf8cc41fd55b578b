// What every strategy with a server must do, whatever its recurrence.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "base/check.h"
#include "strategy/support/server_story.h"

namespace yoke::test {

/// All ranks pull to the same place: i / 10.
inline void PullTogether(const Asked& asked) {
  PullToRank({.rank = 0, .values = asked.values, .gradient = asked.gradient});
}

inline void ExpectOptimumOverThreads(LabSettings settings, int ranks) {
  settings.gradient = PullTogether;
  settings.steps = 120;  // some, at first, by a gradient as old as the run
  settings.rate = 0.5;
  RunThreads({.ranks = ranks}, [&](const Communicator& world) {
    Lab lab(world, settings);
    lab.Steps();
    const std::vector<float> model = lab.Model();
    for (int64_t i = 0; i < kCount; ++i)
      if (!Lab::Padding(i)) {
        ASSERT_NEAR(model[i], static_cast<float>(i) / 10, 1e-4);
      }
  });
}

/// With one rank, the bits of `none` by the same rule.
inline void ExpectNoneAlone(LabSettings settings) {
  settings.gradient = PullTogether;
  settings.clip_norm = 2;
  RunThreads({.ranks = 1}, [&](const Communicator& world) {
    Lab served(world, settings);
    settings.strategy = "none";
    settings.options = {};
    Lab none(world, settings);
    for (int step = 0; step < 20; ++step) {
      served.Step();
      none.Step();
      if (step % 7 == 0) {
        EXPECT_EQ(served.Model(), none.Model());
      }
    }
    EXPECT_EQ(served.Model(), none.Model());
    EXPECT_EQ(served.state.steps, 20);
  });
}

/// A rank's failure ends the run in its sentence.
inline void ExpectFailureEndsAll(const LabSettings& given, int ranks) {
  for (const int failing : {0, ranks - 1}) {
    LabSettings settings = given;
    settings.steps = 1000000;
    settings.seconds_of_gradient = 1;
    settings.gradient = [failing](const Asked& asked) {
      if (asked.rank == failing && asked.step == 3) throw UserError("the disk is full");
      PullToRank(asked);
    };
    const auto body = [&](const Communicator& world) {
      Lab lab(world, settings);
      lab.Steps();
    };
    const auto said = [](const auto& run) -> std::string {
      try {
        run();
      } catch (const Error& error) {
        return error.what();
      }
      return "nothing";
    };
    EXPECT_EQ(said([&] { RunThreads({.ranks = ranks}, body); }), "the disk is full");
    const ServiceTime service = SecondsByRank(std::vector<double>(ranks, 1.0));
    EXPECT_EQ(said([&] { Simulate({.ranks = ranks, .service = service}, body); }),
              "the disk is full");
  }
}

/// What is sent by all ranks is the estimate, beginning and end apart.
inline void ExpectEstimatedTraffic(LabSettings settings, int ranks) {
  constexpr int64_t kSteps = 200, kBytes = 64 * 4;  // the packed values with their gaps
  settings.gradient = PullToRank;
  settings.steps = kSteps;
  Traffic sent;
  ExchangeCounts counts;
  Simulate({.ranks = ranks, .latency = 1e-4}, [&](const Communicator& world) {
    Lab lab(world, settings);
    lab.Steps();
    lab.Model();
    lab.strategy->Finish();
    sent += lab.strategy->Counts().traffic;  // one rank runs at a time
    counts.updates += lab.strategy->Counts().updates;
    counts.examples += lab.strategy->Counts().examples;
    for (const int64_t n : lab.strategy->Counts().staleness) counts.staleness.push_back(n);
  });
  const StrategyEntry& entry = FindEntry(strategies(), "strategy", settings.strategy);
  const Options options("cluster", settings.options, entry.options);
  const Cost cost = entry.estimate(options, {.bytes = kBytes, .world = ranks, .slices = 2});
  const double steps = kSteps;
  EXPECT_NEAR(static_cast<double>(sent.messages_sent), steps * cost.messages,
              0.05 * steps * cost.messages);
  EXPECT_NEAR(static_cast<double>(sent.bytes_sent), steps * cost.message_bytes,
              0.05 * steps * cost.message_bytes);
  EXPECT_EQ(sent.messages_received, sent.messages_sent);
  EXPECT_EQ(counts.examples, kSteps * ranks);
  EXPECT_EQ(std::accumulate(counts.staleness.begin(), counts.staleness.end(), int64_t{0}),
            counts.updates);
}

/// By each compression.
inline void ExpectEstimatedTrafficCompressed(const LabSettings& settings, int ranks) {
  for (const char* kind : {"bf16", "int8", "int4", "topk"}) {
    SCOPED_TRACE(kind);
    LabSettings compressed = settings;
    compressed.options.emplace_back("compression", kind);
    ExpectEstimatedTraffic(compressed, ranks);
  }
}

/// Where all have rested once, a run from there on is that of those who begin with what was kept;
/// what compression had left out is part of it.
inline void ExpectGoesOnFromACheckpoint(LabSettings settings, const std::vector<double>& seconds) {
  settings.gradient = PullToRank;
  settings.seconds_of_gradient = 1;
  settings.steps = 5;
  const auto ranks = static_cast<int>(seconds.size());
  std::vector<SavedLab> saved(ranks);
  const auto end = [&](const std::vector<SavedLab>* from) {
    std::vector<float> model;
    settings.from = from;
    Simulate({.ranks = ranks, .timeout = 1e6, .service = SecondsByRank(seconds)},
             [&](const Communicator& world) {
               Lab lab(world, settings);
               lab.Steps();
               if (!from) {
                 saved[world.rank()] = lab.Save();
                 lab.Steps();
               }
               model = lab.Model();
             });
    return model;
  };
  const std::vector<float> whole = end(nullptr);
  for (SavedLab& of_rank : saved) {  // as the Trainer has it
    of_rank.values = saved[0].values;
    of_rank.arrays = saved[0].arrays;
  }
  EXPECT_EQ(end(&saved), whole);
  if (std::ranges::all_of(saved, [](const SavedLab& of_rank) { return of_rank.tensors.empty(); }))
    return;
  for (SavedLab& of_rank : saved)
    for (std::vector<float>& tensor : of_rank.tensors) std::ranges::fill(tensor, 0.0F);
  EXPECT_NE(end(&saved), whole);
}

/// Ranks that take different numbers of steps between two Quiesce neither hang nor lose an update.
inline void ExpectUnevenStepsLand(const LabSettings& given, int ranks) {
  LabSettings settings = given;
  settings.gradient = PullToRank;
  const auto body = [&](const Communicator& world) {
    Lab lab(world, settings);
    for (int round = 0; round < 3; ++round) {
      for (int step = 0; step < 10 * ((world.rank() + round) % world.size()); ++step) lab.Step();
      const std::vector<float> model = lab.Model();
      EXPECT_EQ(lab.Model(), model);  // at rest, whoever asks again
    }
    lab.strategy->Finish();
    if (world.rank() > 0) return;
    const int64_t each = 10 * ranks * (ranks - 1) / 2;  // of a round
    EXPECT_EQ(lab.strategy->Counts().updates, 3 * each);
    EXPECT_EQ(lab.state.steps, 3 * each);
  };
  RunThreads({.ranks = ranks}, body);
  Simulate({.ranks = ranks, .latency = 1e-3}, body);
}

/// While ranks go through rounds of steps, workers as slow as `seconds` says, no gradient is staler
/// than the bound allows: while a worker computes, each other one pushes at most from `bound`
/// behind to 1 too far ahead.
inline void ExpectBoundInEveryRound(const LabSettings& given, const std::vector<double>& seconds,
                                    int64_t bound) {
  const auto ranks = static_cast<int>(seconds.size());
  Simulate({.ranks = ranks, .timeout = 1000, .latency = 1e-3}, [&](const Communicator& world) {
    LabSettings settings = given;
    settings.gradient = [&](const Asked& asked) {
      PullToRank(asked);
      world.Sleep(seconds[asked.rank]);
    };
    Lab lab(world, settings);
    for (int round = 0; round < 3; ++round) {
      for (int step = 0; step < 12; ++step) lab.Step();
      lab.strategy->Idle();
      world.Barrier();
      lab.Model();
    }
    lab.strategy->Finish();
    if (world.rank() > 0) return;
    const ExchangeCounts counts = lab.strategy->Counts();
    EXPECT_EQ(counts.updates, 3 * 12 * ranks);
    EXPECT_LE(static_cast<int64_t>(counts.staleness.size()) - 1, (ranks - 1) * (2 * bound + 1));
  });
}

/// From Quiesce until rank 0 goes on nothing moves, though the others would.
inline void ExpectRest(const LabSettings& given, int ranks) {
  LabSettings settings = given;
  settings.gradient = PullToRank;
  Simulate({.ranks = ranks, .timeout = 5, .latency = 1e-3}, [&](const Communicator& world) {
    Lab lab(world, settings);
    for (int round = 0; round < 2; ++round) {
      lab.Step();
      lab.strategy->Quiesce();
      if (world.rank() > 0) continue;  // on to its next step
      const float* model = lab.strategy->Model().Host().data();
      const std::vector<float> before(model, model + kCount);
      const int64_t steps = lab.state.steps;
      EXPECT_EQ(lab.Values(), before);
      world.Sleep(4);
      EXPECT_TRUE(std::equal(before.begin(), before.end(), lab.strategy->Model().Host().data()));
      EXPECT_EQ(lab.state.steps, steps);
    }
  });
}

/// One rank's parts with every kind of slice: dense, rows of a table, running statistics.
struct MixedParts {
  explicit MixedParts(const Communicator& world, const LabSettings& settings)
      : params(Layout(), Cpu()), gradients(params.layout(), Cpu()), rule(Sgd()) {
    std::fill_n(params.values().Host().data(), params.layout().size(), 1.0F);
    state = std::make_unique<RuleState>(params.layout(), *rule, Cpu());
    const StrategyEntry& entry = FindEntry(strategies(), "strategy", settings.strategy);
    strategy =
        entry.make(Options("cluster", settings.options, entry.options), {.world = world.Duplicate(),
                                                                         .params = params,
                                                                         .gradients = gradients,
                                                                         .rule = *rule,
                                                                         .state = *state});
    strategy->Prepare();
  }
  static ParamLayout Layout() {
    ParamLayout layout;
    layout.Add({.name = "a.weight", .shape = {3}});
    layout.Add({.name = "table.weight", .shape = {4, 2}, .kind = SliceKind::kRowSparse});
    layout.Add({.name = "norm.mean", .shape = {2}, .kind = SliceKind::kBuffer});
    layout.Pack();
    return layout;
  }
  static std::unique_ptr<UpdateRule> Sgd() {
    const RuleEntry& entry = FindEntry(rules(), "rule", "sgd");
    return entry.make(Options("train", {}, entry.options));
  }

  ParamStore params;
  Gradients gradients;
  std::unique_ptr<UpdateRule> rule;
  std::unique_ptr<RuleState> state;
  std::unique_ptr<Strategy> strategy;
};

/// Two workers push one gradient each, taken at the first values (all 1): dense 1 and 2; rows {0,
/// 3} and {1, 3} of 10 and 20; statistics 5 and 9. Returns the packed model: each is where `Layout`
/// says.
inline std::vector<float> AfterTwoMixedPushes(const LabSettings& settings, double rate,
                                              int64_t examples_of_second = 1) {
  std::vector<float> model;
  const int servers = ServedRun{.settings = settings}.Servers();
  const auto push = [&](const Communicator& world, MixedParts& parts) {
    const int worker = world.rank() - servers;
    const StrategyStep step = {.learning_rate = rate,
                               .examples = worker == 0 ? 1 : examples_of_second,
                               .team_examples = 1 + examples_of_second};
    const ParamView view = parts.strategy->View(step);
    const auto factor = static_cast<float>(worker + 1);
    std::fill_n(view.gradients->dense().Host().data(), 3, factor);
    RowGradient& rows = view.gradients->rows(1);
    rows.ids = {worker, 3};
    rows.values.assign(4, 10 * factor);
    const int64_t statistics = parts.params.layout().slices()[2].offset;
    std::fill_n(view.writable.Host().data() + statistics, 2, 4 * factor + 1);
    world.Charge({.operations = static_cast<double>(factor)});
    parts.strategy->Step(step);
  };
  const auto body = [&](const Communicator& world) {
    MixedParts parts(world, settings);
    if (world.rank() >= servers) push(world, parts);
    parts.strategy->Quiesce();
    const float* values = parts.strategy->Model().Host().data();
    if (world.rank() == 0) model.assign(values, values + parts.params.layout().size());
    parts.strategy->Finish();
  };
  Simulate({.ranks = servers + 2, .service = SecondsByRank({1, 1, 1})}, body);
  return model;
}

}  // namespace yoke::test
