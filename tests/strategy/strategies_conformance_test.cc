// What every entry of the list of strategies promises, over worlds of one to four ranks. What is
// asked of an entry follows from what it declares.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>

#include "strategy/support/lab.h"
#include "strategy/support/worlds.h"

namespace yoke::strategies_conformance_test {

using test::kCount;
using test::Lab;
using test::LabSettings;
using test::SavedLab;

/// Another way in which a strategy works, asked for by its options.
struct Form {
  const char* strategy = "";
  const char* name = "";
  Table options = {};
};
const std::vector<Form>& Forms() {
  static const std::vector<Form> forms = {
      {"sgp", "late", {{"overlap", true}}},
      {"sgp", "late_and_rarely", {{"period", 3}, {"overlap", true}}},
      {"slowmo", "over_sgp", {{"period", 12}, {"base", "sgp"}}},
      {"slowmo", "over_late_sgp", {{"period", 12}, {"base", "sgp"}, {"overlap", true}}},
      {"diloco", "mixed", {{"period", 6}, {"mix", 0.5}}},
      {"diloco", "late", {{"period", 6}, {"overlap", 2}}},
      {"diloco", "streaming", {{"period", 12}, {"fragments", 2}, {"overlap", 3}}}};
  return forms;
}

struct Case {
  const StrategyEntry* entry = nullptr;
  const test::WorldKind* world = nullptr;
  int ranks = 1;
  bool serves_head = false;
  bool serves_apart = false;  ///< The first rank only serves.
  std::string compression = {};
  const Form* form = nullptr;

  /// One that follows from an epoch's length, and is longer than these tests.
  bool HasLongPeriod() const {
    const auto period = std::ranges::find(entry->options, "period", &OptionSpec::name);
    return period != entry->options.end() && period->fallback.IsNone();
  }
  Table options() const {
    if (form) return form->options;
    Table options;
    if (serves_head) options.emplace_back("served_head", true);
    if (serves_apart) options.emplace_back("servers", 1);
    if (!compression.empty()) options.emplace_back("compression", compression);
    if (compression == "topk") options.emplace_back("top_share", 0.2);
    if (HasLongPeriod()) options.emplace_back("period", 12);
    return options;
  }
};
std::string NameOf(const Case& c) {
  return c.entry->name + (c.serves_head ? "_with_served_head" : "") +
         (c.serves_apart ? "_apart" : "") + (c.compression.empty() ? "" : "_by_" + c.compression) +
         (c.form ? std::string("_") + c.form->name : "") + "_" + c.world->name + "_" +
         std::to_string(c.ranks);
}
bool Takes(const StrategyEntry& entry, const std::string& option) {
  return std::ranges::count(entry.options, option, &OptionSpec::name) > 0;
}
void PrintTo(const Case& c, std::ostream* out) { *out << NameOf(c); }
std::string Name(const testing::TestParamInfo<Case>& info) { return NameOf(info.param); }

Options AsOptions(const StrategyEntry& entry, const Table& options) {
  return {"cluster", options, entry.options};
}
bool InStep(const Case& c) {
  return RolesIn(*c.entry, AsOptions(*c.entry, c.options()), c.ranks).team == c.ranks;
}

constexpr int kMostRanks = 4;

/// The kinds of compression that it takes.
std::vector<std::string> Kinds(const StrategyEntry& entry) {
  std::vector<std::string> kinds =
      std::ranges::find(entry.options, "compression", &OptionSpec::name)->choices;
  std::erase(kinds, "none");
  return kinds;
}

/// The cases that an entry supports and `asked` picks.
std::vector<Case> Cases(const std::function<bool(const Case&)>& asked) {
  std::vector<Case> cases;
  const auto add = [&](const StrategyEntry& entry, const test::WorldKind& world, int ranks) {
    if (!entry.supports(ranks).empty()) return;
    for (const Form& form : Forms())
      if (const Case one = {.entry = &entry, .world = &world, .ranks = ranks, .form = &form};
          entry.name == form.strategy && asked(one))
        cases.push_back(one);
    for (const bool head : {false, true})
      for (const bool apart : {false, true}) {
        const Case one = {.entry = &entry,
                          .world = &world,
                          .ranks = ranks,
                          .serves_head = head,
                          .serves_apart = apart};
        if (head && !Takes(entry, "served_head")) continue;
        if (apart && (ranks == 1 || !Takes(entry, "servers"))) continue;
        if (asked(one)) cases.push_back(one);
        const bool largest = &world == &test::kMpi || ranks == kMostRanks;  // a part stands for all
        if (head || !largest || !Takes(entry, "compression")) continue;
        for (const std::string& kind : Kinds(entry)) {
          if (apart && kind != "int8") continue;
          Case compressed = one;
          compressed.compression = kind;
          if (asked(compressed)) cases.push_back(compressed);
        }
      }
  };
  for (const StrategyEntry& entry : strategies()) {
    if (LaunchedByMpi()) {
      add(entry, test::kMpi, FindLaunch().size);
      continue;
    }
    for (const test::WorldKind* world : {&test::kThreads, &test::kSimulated})
      for (int ranks = 1; ranks <= kMostRanks; ++ranks) add(entry, *world, ranks);
  }
  return cases;
}

class StrategyConformance : public testing::TestWithParam<Case> {
 protected:
  const StrategyEntry& entry() const { return *GetParam().entry; }
  int ranks() const { return GetParam().ranks; }
  Table options() const { return GetParam().options(); }
  bool simulated() const { return GetParam().world == &test::kSimulated; }
  void Run(const test::Body& body) const { GetParam().world->run(ranks(), body); }
  /// The entry's name and the rule that it makes of the job's momentum.
  LabSettings Settings() const {
    static const test::LabHead head = test::HeadThatPulls();
    return {.strategy = entry().name,
            .options = options(),
            .rule = "momentum",
            .gradient = test::PullToRank,
            .head = &head,
            .seconds_of_gradient = 1e6};  // operations: 1 ms
  }
};

class OfAll : public StrategyConformance {};
INSTANTIATE_TEST_SUITE_P(Strategies, OfAll,
                         testing::ValuesIn(Cases([](const Case&) { return true; })), Name);

/// The same target for all.
void PullTogether(const test::Asked& asked) {
  for (int64_t i = 0; i < kCount; ++i)
    asked.gradient[i] = Lab::Padding(i) ? 0 : asked.values[i] - static_cast<float>(i) / 10;
}

TEST_P(OfAll, ReachTheCommonOptimum) {
  // Ranks that are not in step, or do not weigh equally, share a target: those that run ahead pull
  // to it too.
  const bool in_step = InStep(GetParam()), mean = in_step && entry().weighs_equally;
  test::LabHead together = test::HeadThatPulls();
  together.activate = [](const test::Asked&, float* activations) { *activations = 0; };
  Run([&](const Communicator& world) {
    LabSettings settings = Settings();
    settings.rate = 0.05;
    // Who begins when all others have ended pulls them with it, ever so slowly.
    settings.steps = in_step ? 300 : 450;
    if (!mean) settings.gradient = PullTogether, settings.head = &together;
    Lab lab(world, settings);
    // Nobody is done before another has begun: gossip would be drawn to its first values.
    const Communicator beside = world.Duplicate();
    for (int64_t step = 0; step < settings.steps; ++step) {
      lab.Step();
      if (step % 30 == 29) beside.Barrier();
    }
    const std::vector<float> model = lab.Model();
    const double center = mean ? (ranks() - 1) / 2.0 : 0;
    const bool lossy = !GetParam().compression.empty() && ranks() > 1;
    // A step of 4 bits is a 7th of what replicas drift apart between two meetings.
    const double loss = GetParam().compression == "int4" ? 0.3 : 0.15;
    const double tolerance = !in_step ? 1e-2 : lossy ? loss : 1e-3;
    for (int64_t i = 0; i < kCount; ++i)
      if (!Lab::Padding(i)) {
        ASSERT_NEAR(model[i], center + static_cast<double>(i) / 10, tolerance);
      }
    lab.strategy->Finish();
  });
}

TEST_P(OfAll, LeaveReplicasAloneWhenAskedForTheModel) {
  Run([&](const Communicator& world) {
    LabSettings settings = Settings();
    settings.steps = 5;
    Lab lab(world, settings);
    lab.Steps();
    lab.strategy->Quiesce();
    const std::vector<float> before = lab.Values();
    const std::vector<float> model = lab.Model();
    EXPECT_EQ(lab.Values(), before);
    EXPECT_EQ(lab.Model(), model);
    lab.strategy->Finish();
  });
}

TEST_P(OfAll, SendWhatTheyPrice) {
  // Who is not in step keeps within a factor of two: what was under way has to land first.
  const bool in_step = InStep(GetParam());
  constexpr int64_t kSteps = 24;
  std::atomic<int64_t> messages = 0, bytes = 0, packed = 0;
  Run([&](const Communicator& world) {
    LabSettings settings = Settings();
    settings.steps = kSteps;
    Lab lab(world, settings);
    const Communicator beside = world.Duplicate();
    const Traffic before = lab.strategy->Counts().traffic;
    beside.Barrier();  // nobody's messages are answered before all have counted
    lab.Steps();
    if (!in_step || GetParam().form) lab.strategy->Quiesce();
    const Traffic after = lab.strategy->Counts().traffic;
    const int64_t mine[] = {after.messages_sent - before.messages_sent,
                            after.bytes_sent - before.bytes_sent};
    int64_t sums[2] = {};
    for (const auto& theirs : world.AllGather(std::as_bytes(std::span(mine))))
      for (int i : {0, 1}) {
        int64_t number = 0;
        std::memcpy(&number, theirs.data() + i * sizeof number, sizeof number);
        sums[i] += number;
      }
    messages = sums[0], bytes = sums[1], packed = lab.params.bytes();
    lab.strategy->Finish();
  });
  const Cost price = entry().estimate(AsOptions(entry(), options()),
                                      {.bytes = packed,
                                       .world = ranks(),
                                       .slices = 2,
                                       .head_bytes = 64,        // five scalars, rounded up
                                       .activation_bytes = 4,   // of one example
                                       .label_bytes = 8 + 4});  // its id and class
  const auto near = [&](int64_t counted, double step, const char* what) {
    const auto sent = static_cast<double>(counted), priced = step * kSteps;
    EXPECT_GE(sent, in_step ? priced * 0.95 : priced / 2) << what;
    EXPECT_LE(sent, in_step ? priced * 1.05 : priced * 2) << what;
  };
  near(messages, price.messages, "messages");
  near(bytes, price.message_bytes, "bytes");
}

TEST_P(OfAll, EndCleanlyAlsoWithoutAStep) {
  const int workers = RolesIn(entry(), AsOptions(entry(), options()), ranks()).workers;
  const bool counts = entry().supports(kMostRanks).empty();  // who exchanges nothing need not
  Run([&](const Communicator& world) {
    for (int64_t steps : {0, 3}) {
      LabSettings settings = Settings();
      settings.steps = steps;
      Lab lab(world, settings);
      const std::vector<float> before = lab.Values();
      lab.Steps();
      lab.strategy->Finish();
      std::vector<float> counted = {static_cast<float>(lab.strategy->Counts().examples)};
      world.AllReduce(counted);
      EXPECT_EQ(counted[0], static_cast<float>(counts ? steps * workers : 0));
      EXPECT_EQ(lab.Values() == before, steps == 0 || world.rank() < ranks() - workers);
    }
  });
}

TEST_P(OfAll, EndWithTheReasonOfTheRankThatFailed) {
  const auto began = std::chrono::steady_clock::now();
  try {
    Run([&](const Communicator& world) {
      LabSettings settings = Settings();
      settings.steps = 10;
      settings.gradient = [this](const test::Asked& asked) {
        if (asked.rank == ranks() - 1 && asked.step == 4) throw UserError("its own reason");
        test::PullToRank(asked);
      };
      Lab lab(world, settings);
      lab.Steps();
      lab.strategy->Finish();
    });
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_TRUE(std::string_view(error.what()).ends_with("its own reason")) << error.what();
  }
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(1));
}

class OfOneRank : public StrategyConformance {};
INSTANTIATE_TEST_SUITE_P(Strategies, OfOneRank, testing::ValuesIn(Cases([](const Case& c) {
                           return c.ranks == 1 && c.entry->rule_alone;
                         })),
                         Name);

/// A rule without scalars of its own, and one with.
constexpr const char* kRules[] = {"momentum", "yellowfin"};

TEST_P(OfOneRank, AreTheRuleBitForBit) {
  for (const std::string rule : {"momentum", "yellowfin", "lamb"}) {
    if (rule == "lamb" && !entry().whole_layers) continue;
    // A served head is tuned apart from the rest.
    if (rule == "yellowfin" && GetParam().serves_head) continue;
    Run([&](const Communicator& world) {
      LabSettings settings = Settings();
      settings.rule = rule;
      settings.steps = 6;
      Lab lab(world, settings);
      settings.strategy = "none";
      settings.options = {};
      Lab none(world, settings);
      lab.Steps();
      none.Steps();
      EXPECT_EQ(lab.Model(), none.Model()) << rule;
      lab.strategy->Finish();
    });
  }
}

class OfEqualReplicas : public StrategyConformance {};
INSTANTIATE_TEST_SUITE_P(Strategies, OfEqualReplicas, testing::ValuesIn(Cases([](const Case& c) {
                           return !c.entry->replicas_differ && InStep(c);
                         })),
                         Name);

TEST_P(OfEqualReplicas, TakeTheirGradientsAtTheSameValues) {
  for (const char* rule : kRules)
    Run([&](const Communicator& world) {
      LabSettings settings = Settings();
      settings.rule = rule;
      settings.steps = 6;
      settings.gradient = [&](const test::Asked& asked) {
        const auto values = std::as_bytes(std::span(asked.values, kCount));
        for (const auto& other : world.AllGather(values))
          EXPECT_TRUE(std::ranges::equal(other, values)) << rule << " step " << asked.step;
        test::PullToRank(asked);
      };
      Lab lab(world, settings);
      lab.Steps();
      lab.strategy->Finish();
    });
}

class OfDeterministic : public StrategyConformance {
 protected:
  /// Values and model of rank 0 after so many steps, from a checkpoint if there is one.
  std::vector<std::vector<float>> After(int64_t steps, const std::vector<SavedLab>* from,
                                        std::vector<SavedLab>* keep,
                                        const char* rule = "momentum") const {
    std::vector<std::vector<float>> result;
    Run([&](const Communicator& world) {
      LabSettings settings = Settings();
      settings.rule = rule;
      settings.steps = steps;
      settings.from = from;
      Lab lab(world, settings);
      lab.Steps();
      const std::vector<float> model = lab.Model();
      if (keep) (*keep)[world.rank()] = lab.Save();
      if (world.rank() == 0) result = {lab.Values(), model};
      lab.strategy->Finish();
    });
    return result;
  }
};
INSTANTIATE_TEST_SUITE_P(Strategies, OfDeterministic, testing::ValuesIn(Cases([](const Case& c) {
                           return c.entry->deterministic;
                         })),
                         Name);

TEST_P(OfDeterministic, AreTheSameTwice) {
  EXPECT_EQ(After(12, nullptr, nullptr), After(12, nullptr, nullptr));
}

TEST_P(OfDeterministic, GoOnFromACheckpointAsIfNothingHadHappened) {
  for (const char* rule : kRules) {
    std::vector<SavedLab> saved(ranks());
    After(7, nullptr, &saved, rule);
    EXPECT_EQ(After(5, &saved, nullptr, rule), After(12, nullptr, nullptr, rule)) << rule;
  }
}

}  // namespace yoke::strategies_conformance_test
