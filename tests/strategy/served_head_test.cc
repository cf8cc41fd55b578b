// A served head: its recurrence told in one process, its order, its speed in virtual time, and who
// is refused one.
#include "strategy/served_head.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/check.h"
#include "strategy/support/server_story.h"

namespace yoke::served_head_test {

using test::Asked;
using test::kCount;
using test::kFirst;
using test::kSecond;
using test::Lab;
using test::LabHead;
using test::LabSettings;

/// Activations z_j = s sum over i = j mod 5 of w_i, loss sum over j of (v_j z_j - y)^2 / 2, y that
/// of an example, which is the last activation: body and head depend on each other.
constexpr int64_t kWidth = kSecond + 1;
constexpr float kSmall = 0.3F;

float LabelOf(int rank) { return 1 + static_cast<float>(rank) / 4; }

void Activate(const Asked& asked, float* z) {
  std::fill_n(z, kSecond, 0.0F);
  for (int64_t i = 0; i < kFirst; ++i) z[i % kSecond] += kSmall * asked.values[i];
  z[kSecond] = LabelOf(asked.rank);
}
double Above(const float* z, const float* v, float* gradient, float* down) {
  double loss = 0;
  for (int64_t j = 0; j < kSecond; ++j) {
    const float error = v[j] * z[j] - z[kSecond];
    loss += error * error / 2;
    gradient[j] = error * z[j];
    down[j] = error * v[j];
  }
  down[kSecond] = 0;
  return loss;
}
void Below(const Asked& asked) {
  std::fill_n(asked.gradient, kCount, 0.0F);
  for (int64_t i = 0; i < kFirst; ++i) asked.gradient[i] = kSmall * asked.from_above[i % kSecond];
}

LabHead Coupled() { return {.width = kWidth, .activate = Activate, .compute = Above}; }

LabSettings Settings(int groups, const LabHead& head) {
  return {.strategy = "compute_groups",
          .options = {{"groups", groups}, {"served_head", true}},
          .rule = "momentum",
          .rate = 0.03,
          .gradient = Below,
          .head = &head};
}

/// The same in one process: groups of `team` ranks, each of which takes so many seconds below the
/// head (the head takes none), at whose end its activations are there and its push too.
struct Told {
  std::vector<float> values;
  std::vector<double> losses;  // of the first group, step by step
};
struct Rate {
  float full = 0;
  float later = 0;  // from a group's step steps / 2 on
  int64_t slow_start = 0;
  bool paper = false;  // full at once, no prediction, and velocities that keep each gradient's rate
  float After(int64_t updates, bool is_later) const {
    const float rate = is_later ? later : full;
    return updates < slow_start
               ? rate * static_cast<float>(updates + 1) / static_cast<float>(slow_start)
               : rate;
  }
};
Told Tell(const std::vector<double>& seconds, int team, int64_t steps, const Rate& rate,
          std::vector<float> w) {
  struct Group {
    std::vector<float> copy;
    std::vector<float> gradient = std::vector<float>(kCount);
    int64_t steps = 0;
    double next = 0;
    bool above = false;  // what comes next is the push
  };
  Told told;
  std::vector<Group> groups;
  for (size_t g = 0; g < seconds.size(); ++g) groups.push_back({.copy = w, .next = 0});
  std::vector<float> m(kCount);
  int64_t below_updates = 0, above_updates = 0;
  const float spread = rate.paper ? 0.9F : std::pow(0.9F, 1.0F / static_cast<float>(groups.size()));
  const auto predicted = [&](bool later) {
    std::vector<float> values = w;
    const float now = rate.After(below_updates, later);
    for (size_t k = 1; !rate.paper && k <= 2 * (groups.size() - 1); ++k)
      for (int64_t i = 0; i < kFirst; ++i)
        values[i] -= now * std::pow(spread, static_cast<float>(k)) * m[i];
    return values;
  };
  const auto update = [&](const std::vector<float>& gradient, bool below, bool later) {
    const float now = rate.After(below ? below_updates++ : above_updates++, later);
    const float mu = below ? spread : 0.9F;  // the head is never stale
    const float gain = rate.paper ? now : (1 - mu) / 0.1F, outside = rate.paper ? 1 : now;
    for (int64_t i = below ? 0 : kCount - kSecond; i < (below ? kFirst : kCount); ++i) {
      m[i] = mu * m[i] + gain * gradient[i];
      w[i] -= outside * m[i];
    }
  };
  const auto head = [&](size_t g) {
    Group& group = groups[g];
    std::vector<float> gradient(kCount);
    group.gradient.assign(kCount, 0);
    double loss = 0;
    const std::vector<float> v(w.end() - kSecond, w.end());
    for (int member = 0; member < team; ++member) {
      const int rank = static_cast<int>(g) * team + member;
      float z[kWidth], own[kSecond], down[kWidth];
      Activate({.rank = rank, .values = group.copy.data()}, z);
      loss += Above(z, v.data(), own, down) / team;
      std::vector<float> below(kCount);
      Below({.rank = rank, .gradient = below.data(), .from_above = down});
      for (int64_t i = 0; i < kFirst; ++i) group.gradient[i] += below[i] / static_cast<float>(team);
      for (int64_t j = 0; j < kSecond; ++j)
        gradient[kCount - kSecond + j] += own[j] / static_cast<float>(team);
    }
    if (g == 0) told.losses.push_back(loss);
    update(gradient, false, group.steps >= steps / 2);
  };
  for (int64_t event = 0; event < 2 * steps * std::ssize(groups); ++event) {
    size_t next = groups.size();
    for (size_t g = 0; g < groups.size(); ++g)
      if (groups[g].steps < steps && (next == groups.size() || groups[g].next < groups[next].next))
        next = g;
    Group& group = groups[next];
    if (!group.above) {  // activations are computed in no time, gradients in some
      head(next);
      group.next += seconds[next];
    } else {
      const bool later = group.steps++ >= steps / 2;
      update(group.gradient, true, later);
      group.copy = predicted(later);
    }
    group.above = !group.above;
  }
  told.values = w;
  return told;
}

void ExpectAsTold(const std::vector<double>& seconds, int team, int servers = 0, int slow_start = 0,
                  bool layer_by_layer = false, bool paper = false) {
  constexpr int64_t kSteps = 20;
  constexpr float kRate = 0.045F, kLaterRate = 0.009F;
  LabHead head = Coupled();
  head.activate = [servers](Asked asked, float* z) {
    asked.rank -= servers;
    Activate(asked, z);
  };
  const auto groups = static_cast<int>(seconds.size());
  LabSettings settings = Settings(groups, head);
  settings.steps = kSteps;
  settings.rate = kRate;
  settings.later_rate = kLaterRate;
  settings.options.emplace_back("servers", servers);
  if (paper) {
    settings.options.emplace_back("form", "paper");
    settings.rule_options = {{"velocity", "steps"}};
  } else {
    settings.options.emplace_back("slow_start", slow_start);
  }
  settings.cut_first = layer_by_layer;
  if (layer_by_layer) settings.options.emplace_back("bucket_mb", 0.0);
  settings.seconds_of_gradient = 1;
  std::vector<double> of_ranks(servers);
  for (int worker = 0; worker < groups * team; ++worker) of_ranks.push_back(seconds[worker / team]);
  std::vector<float> first, last;
  std::vector<double> losses;
  const auto ranks = static_cast<int>(of_ranks.size());
  Simulate({.ranks = ranks, .timeout = 1e6, .service = test::SecondsByRank(of_ranks)},
           [&](const Communicator& world) {
             Lab lab(world, settings);
             if (world.rank() == 0) first = lab.Values();
             for (int64_t step = 0; step < kSteps; ++step) {
               lab.Step();
               if (world.rank() == servers) losses.push_back(lab.loss);
             }
             last = lab.Model();
           });
  // Ours: a g-th of the first rate, and the later one whole.
  Rate rate = {.full = kRate, .later = kLaterRate, .slow_start = slow_start, .paper = paper};
  if (!paper) rate.full /= static_cast<float>(groups);
  const Told told = Tell(seconds, team, kSteps, rate, first);
  test::ExpectNearLargest(last, told.values, 1e-6, "value");
  test::ExpectNearLargest(losses, told.losses, 1e-6, "loss");
  EXPECT_LT(losses.back(), 0.8 * losses.front());
}

TEST(ServedHead, IsUpdatedByEachTeamInTurn) { ExpectAsTold({1, 1.3717, 0.4931}, 1); }

TEST(ServedHead, StartsSlowlyLikeTheRest) { ExpectAsTold({1, 1.3717, 0.4931}, 1, 0, 10); }

TEST(ServedHead, ComputesATeamsWholeBatch) { ExpectAsTold({1, 1.3717}, 2); }

TEST(ServedHead, OfOneTeamIsOneBigBatch) { ExpectAsTold({1}, 4); }

TEST(ServedHead, IsTheSameOnARankThatOnlyServes) {
  ExpectAsTold({1, 1.3717, 0.4931}, 1, 1);
  ExpectAsTold({1, 1.3717}, 2, 1);
  ExpectAsTold({1}, 4, 1);
}

TEST(ServedHead, TakesEachGradientAtTheFullRateInThePapersForm) {
  for (const bool layer_by_layer : {false, true}) {
    ExpectAsTold({1, 1.3717, 0.4931}, 1, 0, 0, layer_by_layer, /*paper=*/true);
    ExpectAsTold({1, 1.3717, 0.4931}, 2, 1, 0, layer_by_layer, /*paper=*/true);
  }
}

TEST(ServedHead, IsTheSameLayerByLayer) {
  for (const int servers : {0, 1}) {
    ExpectAsTold({1, 1.3717, 0.4931}, 1, servers, 0, true);
    ExpectAsTold({1, 1.3717}, 2, servers, 10, true);
    ExpectAsTold({1}, 4, servers, 0, true);
  }
}

/// With one group it is plain descent on the whole model, by any way of exchange.
TEST(ServedHead, OfOneTeamDoesWhatAnUnservedOneDoes) {
  const LabHead head = Coupled();
  LabSettings settings = Settings(1, head);
  settings.rule = "adam";
  settings.steps = 10;
  std::vector<float> served, plain;
  RunThreads({.ranks = 3}, [&](const Communicator& world) {
    Lab lab(world, settings);
    lab.Steps();
    const std::vector<float> model = lab.Model();
    if (world.rank() == 0) served = model;
    LabSettings unserved = settings;
    unserved.options = {{"groups", 1}};
    unserved.gradient = [](const Asked& asked) {
      float z[kWidth], down[kWidth];
      Activate(asked, z);
      std::vector<float> own(kSecond);
      Above(z, asked.values + (kCount - kSecond), own.data(), down);
      Asked below = asked;
      below.from_above = down;
      Below(below);
      std::ranges::copy(own, asked.gradient + (kCount - kSecond));
    };
    Lab other(world, unserved);
    other.Steps();
    const std::vector<float> theirs = other.Model();
    if (world.rank() == 0) plain = theirs;
  });
  test::ExpectNear(served, plain, 1e-5);
}

/// Rule state and steps go on from a checkpoint as if nothing had happened.
TEST(ServedHead, GoesOnFromACheckpoint) {
  const LabHead head = Coupled();
  LabSettings settings = Settings(1, head);
  settings.rule = "adam";
  const auto after = [&](int64_t steps, const std::vector<test::SavedLab>* from,
                         std::vector<test::SavedLab>* keep) {
    std::vector<float> model;
    RunThreads({.ranks = 2}, [&](const Communicator& world) {
      LabSettings mine = settings;
      mine.steps = steps;
      mine.from = from;
      // As the Trainer has it, rank 0's values and state are everybody's.
      std::vector<test::SavedLab> shared;
      if (from) {
        shared.assign(2, (*from)[0]);
        mine.from = &shared;
      }
      Lab lab(world, mine);
      lab.Steps();
      const std::vector<float> now = lab.Model();
      if (keep) (*keep)[world.rank()] = lab.Save();
      if (world.rank() == 0) model = now;
    });
    return model;
  };
  std::vector<test::SavedLab> saved(2);
  after(5, nullptr, &saved);
  EXPECT_EQ(after(4, &saved, nullptr), after(9, nullptr, nullptr));
}

/// Seconds an update of g groups of `ranks`, whose bodies take `body` seconds of one rank.
double SecondsOfUpdate(int ranks, int groups, double body, double head_seconds) {
  constexpr int64_t kSteps = 200;
  LabHead head = Coupled();
  head.seconds = head_seconds;
  LabSettings settings = Settings(groups, head);
  settings.steps = kSteps;
  settings.rate = 1e-3;
  settings.seconds_of_gradient = body * groups / ranks;  // a batch is divided in its group
  const ServiceTime computing = [](int, const Cost& cost) {
    return cost.bytes > 0 ? 0 : cost.operations;
  };
  double end = 0;
  Simulate({.ranks = ranks, .timeout = 1e9, .service = computing}, [&](const Communicator& world) {
    Lab lab(world, settings);
    lab.Steps();
    lab.strategy->Quiesce();
    end = std::max(end, world.Now());
    lab.strategy->Finish();
  });
  return end / static_cast<double>(kSteps * groups);
}

/// The head is one serial queue: HE(g) = max(t_head, (t_body(N / g) + t_head) / g), saturated from
/// g t_head >= t_body(N / g) + t_head on. Hadjis et al., "Omnivore" (2016).
TEST(ServedHead, SaturatesWhereTheFormulaSays) {
  constexpr int kRanks = 16;
  for (const double body_of_one : {2.0, 12.0, 64.0})
    for (const int groups : {1, 2, 4, 8, 16}) {
      const double body = body_of_one * groups / kRanks;
      const double measured = SecondsOfUpdate(kRanks, groups, body_of_one, 1);
      EXPECT_NEAR(measured, std::max(1.0, (body + 1) / groups), 0.03 * measured)
          << body_of_one << " s below the head, " << groups << " groups";
      // 12 s: with 4 groups and more.
      if (body_of_one == 12 && groups != 4) {
        EXPECT_EQ(measured<1.03, groups> 4) << groups << " groups";
      }
    }
}

TEST(ServedHead, IsRefusedWhereTheModelHasNone) {
  RunThreads({.ranks = 1}, [](const Communicator& world) {
    const LabHead head = Coupled();
    LabSettings settings = Settings(1, head);
    settings.head = nullptr;
    try {
      Lab lab(world, settings);
      FAIL() << "nothing was thrown";
    } catch (const UserError& error) {
      EXPECT_TRUE(std::string(error.what())
                      .starts_with("cluster.served_head: the model has no "
                                   "head to serve"))
          << error.what();
    }
  });
}

}  // namespace yoke::served_head_test
