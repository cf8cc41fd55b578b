// Conformance: what every executor of the list (single, split, hogwild, hogbatch,
// adaptive_hogbatch, pipeline) promises. The updates applied equal the work handed out.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "base/registry.h"
#include "base/support/near.h"
#include "node/sub_batch.h"
#include "node/support/job.h"
#include "tensor/emulated.h"

namespace yoke::executors_conformance_test {

using testing_support::DrawnBatch;
using testing_support::DrawnSparseBatch;
using testing_support::Job;
using testing_support::JobSettings;

/// Whether threads update without locks, so that two runs of several threads differ.
bool Lockless(const std::string& executor) {
  return executor == "hogwild" || executor.ends_with("hogbatch");
}

/// What the mlp of one hidden layer is, with all outputs active in place of the last layer.
List HashedLayers(bool sparse) {
  const Table last = {{"type", "lsh_linear"}, {"name", "linear2"}, {"outputs", 10}};
  const Table relu = {{"type", "relu"}};
  if (sparse) return {Table{{"type", "sparse_linear"}, {"outputs", 12}}, relu, last};
  return {Table{{"type", "flatten"}}, Table{{"type", "linear"}, {"outputs", 12}}, relu, last};
}

/// A small job; those without locks take two examples an update.
JobSettings Small(const std::string& executor, int threads, bool sparse = false) {
  static const std::unique_ptr<Device> device = NewEmulatedDevice(0, {});
  JobSettings settings{.executor = executor, .threads = threads, .widths = {12}, .sparse = sparse};
  if (executor == "pipeline") {
    settings.layers = HashedLayers(sparse);
    settings.widths.clear();
    settings.devices = {&Cpu(), device.get()};
  }
  if (executor == "hogwild") settings.node = {{"hogwild_batch", 2}};
  if (executor == "hogbatch") settings.node = {{"hogbatch_cpu_batch", 2}};
  if (executor == "adaptive_hogbatch")
    settings.node = {{"adaptive_cpu_least", 2}, {"adaptive_cpu_most", 2}};
  if (executor.ends_with("hogbatch")) settings.batch = 16;  // for which the rate is meant
  if (executor == "split") settings.node = {{"parts", threads}};
  return settings;
}

/// Updates of a step on `size` examples by the settings above.
int64_t UpdatesOf(const std::string& executor, int64_t size) {
  return Lockless(executor) ? (size + 1) / 2 : 1;
}

/// The names of those in the list for which `holds`, as a suite's parameters.
auto Where(const std::function<bool(const ExecutorEntry&)>& holds) {
  std::vector<std::string> names;
  for (const ExecutorEntry& entry : executors())
    if (holds(entry)) names.push_back(entry.name);
  return testing::ValuesIn(names);
}
const auto kNameIt = [](const auto& info) { return info.param; };

class Executors : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(All, Executors, Where([](const auto&) { return true; }), kNameIt);

/// Those that update the values themselves.
class InPlace : public Executors {};
INSTANTIATE_TEST_SUITE_P(All, InPlace, Where([](const auto& e) { return e.in_place; }), kNameIt);

/// Those that give gradients.
class NotInPlace : public Executors {};
INSTANTIATE_TEST_SUITE_P(All, NotInPlace, Where([](const auto& e) { return !e.in_place; }),
                         kNameIt);

TEST_P(Executors, UpdateInPlaceIfTheListSaysSo) {
  EXPECT_EQ(Job(Small(GetParam(), 1)).executor().in_place(),
            FindEntry(executors(), "executor", GetParam()).in_place);
}

TEST_P(Executors, ApplyAsManyUpdatesAsWorkWasHandedOut) {
  for (const int threads : {1, 2, 3}) {
    Job job(Small(GetParam(), threads));
    int64_t updates = 0;
    for (const int64_t size : {8, 1, 7, 2, 3, 8}) {
      const StepResult result = job.Run(DrawnBatch(size, 0));
      EXPECT_EQ(result.examples, size) << threads;
      EXPECT_EQ(job.state().steps, updates += UpdatesOf(GetParam(), size)) << threads;
    }
  }
}

TEST_P(Executors, CountTheRowsTheyTouch) {
  Job job(Small(GetParam(), 1, /*sparse=*/true));
  const Batch batch = DrawnSparseBatch(8, 0);
  job.Run(batch);
  int64_t touches = 0, expected = 0;
  for (const int32_t clock : job.state().row_steps(0).Host()) touches += clock;
  const int64_t small = Lockless(GetParam()) ? 2 : 8;
  for (int64_t begin = 0; begin < 8; begin += small) {
    std::vector<int32_t> ids(batch.sparse.ids.begin() + batch.sparse.offsets[begin],
                             batch.sparse.ids.begin() + batch.sparse.offsets[begin + small]);
    std::sort(ids.begin(), ids.end());
    expected += std::unique(ids.begin(), ids.end()) - ids.begin();
  }
  EXPECT_EQ(touches, expected);
}

TEST_P(Executors, LearnByEveryRuleFromDenseAndSparseInput) {
  for (const char* rule : {"sgd", "momentum", "nesterov", "adam", "adamw", "yellowfin"})
    for (const bool sparse : {false, true}) {
      JobSettings settings = Small(GetParam(), 2, sparse);
      settings.rule = rule;
      settings.learning_rate = settings.rule.starts_with("adam") ? 0.01 : sparse ? 0.2 : 0.02;
      if (settings.rule == "yellowfin") settings.learning_rate = 1;  // of the rate that it finds
      Job job(settings);
      const Batch batch = sparse ? DrawnSparseBatch(16, 0) : DrawnBatch(16, 0);
      const double first = job.Step(batch);
      for (int step = 0; step < 60; ++step) job.Step(batch);
      EXPECT_LT(job.Step(batch), 0.8 * first) << rule << (sparse ? " sparse" : " dense");
    }
}

TEST_P(Executors, GiveTheMeanLossOfTheBatch) {
  for (const bool sparse : {false, true}) {
    JobSettings settings = Small(GetParam(), 2, sparse);
    settings.learning_rate = 0;
    JobSettings plain = settings;
    plain.executor = "single", plain.devices = {&Cpu()}, plain.node = {};
    Job job(settings), single(plain);
    const Batch batch = sparse ? DrawnSparseBatch(7, 0) : DrawnBatch(7, 0);
    EXPECT_NEAR(job.Step(batch), single.Step(batch), 1e-6);
  }
}

TEST_P(Executors, RepeatBitForBit) {
  // Updates without locks come in another order each time: there with one thread.
  const int threads = Lockless(GetParam()) ? 1 : 2;
  Job one(Small(GetParam(), threads)), other(Small(GetParam(), threads));
  for (uint64_t step = 0; step < 5; ++step) {
    EXPECT_EQ(one.Step(DrawnBatch(8, step)), other.Step(DrawnBatch(8, step)));
  }
  EXPECT_EQ(one.Values(), other.Values());
}

TEST_P(Executors, GoOnIdenticallyFromACheckpoint) {
  JobSettings settings = Small(GetParam(), Lockless(GetParam()) ? 1 : 2);
  for (const char* rule : {"momentum", "adam"}) {
    settings.rule = rule;
    Job whole(settings), first(settings), second(settings);
    for (uint64_t step = 0; step < 3; ++step) {
      whole.Step(DrawnBatch(8, step));
      first.Step(DrawnBatch(8, step));
    }
    second.Restore(first);
    for (uint64_t step = 3; step < 6; ++step) {
      whole.Step(DrawnBatch(8, step));
      second.Step(DrawnBatch(8, step));
    }
    EXPECT_EQ(whole.Values(), second.Values()) << rule;
  }
}

TEST_P(Executors, FollowF32InBf16) {
  // Beside a run that may not come out the same twice, a difference would not be bf16's.
  JobSettings settings = Small(GetParam(), Lockless(GetParam()) ? 1 : 2);
  Job exact(settings);
  settings.arithmetic = DType::kBf16;
  Job low(settings);
  for (uint64_t step = 0; step < 5; ++step) {
    const double loss = exact.Step(DrawnBatch(8, step));
    EXPECT_NEAR(low.Step(DrawnBatch(8, step)), loss, 0.05 * loss) << step;
  }
}

TEST_P(Executors, LearnInBf16) {
  JobSettings settings = Small(GetParam(), 2);
  settings.arithmetic = DType::kBf16;
  Job job(settings);
  const double first = job.Step(DrawnBatch(16, 0));
  for (int step = 0; step < 60; ++step) job.Step(DrawnBatch(16, 0));
  EXPECT_LT(job.Step(DrawnBatch(16, 0)), 0.8 * first);
}

TEST_P(Executors, TakeAStepOfNothing) {
  Job job(Small(GetParam(), 2));
  const std::vector<float> before = job.Values();
  Gradients gradients(job.params().layout(), Cpu());
  std::fill_n(gradients.dense().Host().data(), gradients.dense().count, 1.0F);
  const StepResult result = job.executor().Step(Batch(), job.params().View(&gradients), {});
  EXPECT_EQ(result.examples, 0);
  EXPECT_EQ(job.Values(), before);
}

TEST_P(NotInPlace, GiveNoGradientOfNothing) {
  Job job(Small(GetParam(), 2));
  Gradients gradients(job.params().layout(), Cpu());
  std::fill_n(gradients.dense().Host().data(), gradients.dense().count, 1.0F);
  job.executor().Step(Batch(), job.params().View(&gradients), {});
  for (int64_t i = 0; i < gradients.dense().count; ++i) ASSERT_EQ(gradients.dense().Host()[i], 0);
}

TEST_P(NotInPlace, RefuseAWrongLabelBeforeAnythingChanges) {
  const List normalized = {Table{{"type", "flatten"}}, Table{{"type", "linear"}, {"outputs", 12}},
                           Table{{"type", "batch_norm"}},  // a forward pass moves its statistics
                           HashedLayers(false).back()};
  JobSettings settings = Small(GetParam(), 2);
  settings.layers = normalized, settings.widths.clear();
  Job job(settings);
  const std::vector<float> before = job.Values();
  Batch wrong = DrawnBatch(8, 0);
  wrong.classes[5] = 10;
  EXPECT_THROW(job.Step(wrong), Error);
  EXPECT_EQ(job.Values(), before);
  EXPECT_TRUE(std::isfinite(job.Step(DrawnBatch(8, 0))));
}

TEST_P(Executors, NameTheLayerWhereALossWentWrong) {
  Job job(Small(GetParam(), 2));
  job.Step(DrawnBatch(8, 0));
  EXPECT_EQ(job.executor().FirstNonFinite(), "");
  job.params().values(3).Host()[5] = std::numeric_limits<float>::infinity();  // linear2.bias
  EXPECT_FALSE(std::isfinite(job.Step(DrawnBatch(8, 0))));
  EXPECT_EQ(job.executor().FirstNonFinite(), "linear2");
}

TEST_P(InPlace, UpdateNothingByALossThatWentWrong) {
  Job job(Small(GetParam(), 2));
  job.Step(DrawnBatch(8, 0));
  job.params().values(3).Host()[5] = std::numeric_limits<float>::infinity();  // linear2.bias
  EXPECT_FALSE(std::isfinite(job.Step(DrawnBatch(8, 0))));
  for (int64_t i = 0; i < 12 * 784; ++i)
    ASSERT_TRUE(std::isfinite(job.params().values(0).Host()[i]));
}

TEST(Split, OfOnePartIsSingleBitForBit) {
  for (const bool sparse : {false, true}) {
    JobSettings settings = Small("split", 1), plain = Small("single", 1);
    settings.sparse = plain.sparse = sparse;
    Job split(settings), single(plain);
    for (uint64_t step = 0; step < 5; ++step) {
      const int64_t size = 8 - static_cast<int64_t>(step);
      const Batch batch = sparse ? DrawnSparseBatch(size, step) : DrawnBatch(size, step);
      EXPECT_EQ(split.Step(batch), single.Step(batch));
    }
    EXPECT_EQ(split.Values(), single.Values());
  }
}

TEST(Split, OfSeveralPartsIsSingleWithinRounding) {
  for (const char* model : {"mlp", "lenet"})
    for (const int parts : {2, 3, 5}) {
      JobSettings settings{.model = model, .executor = "split", .node = {{"parts", parts}}};
      JobSettings plain{.model = model};
      Job split(settings), single(plain);
      for (uint64_t step = 0; step < 4; ++step) {
        const Batch batch = DrawnBatch(step == 2 ? 2 : 8, step);  // fewer than parts, too
        EXPECT_NEAR(split.Step(batch), single.Step(batch), 1e-5) << model << parts;
      }
      test::ExpectNear(split.Values(), single.Values(), 1e-5F);
    }
}

TEST(Split, SumsTouchedRows) {
  for (const int parts : {2, 3}) {
    JobSettings settings = Small("split", parts), plain = Small("single", 1);
    settings.sparse = plain.sparse = true;
    settings.rule = plain.rule = "adam";
    Job split(settings), single(plain);
    for (uint64_t step = 0; step < 4; ++step)
      EXPECT_NEAR(split.Step(DrawnSparseBatch(7, step)), single.Step(DrawnSparseBatch(7, step)),
                  1e-5);
    EXPECT_EQ(ValuesOf(split.state().row_steps(0)), ValuesOf(single.state().row_steps(0)));
    test::ExpectNear(split.Values(), single.Values(), 1e-4F);
  }
}

/// Of an update of a part of the batch: see RateOfPart.
double RateOf(double part, const JobSettings& settings) {
  const double parts = 1 / part;
  return settings.learning_rate / (settings.rule == "adam" ? std::sqrt(parts) : parts);
}

/// The executor's rounds against steps of small batches one after the other.
void ExpectSequential(JobSettings settings, bool scaled, float tolerance) {
  settings.executor = "hogwild";
  settings.node = {{"hogwild_batch", 3}, {"hogwild_scale_rate", scaled}};
  settings.threads = 1;
  Job hogwild(settings);
  settings.executor = "single";
  settings.node = {};
  JobSettings smaller = settings;  // the last small batch of a round has 2 examples
  if (scaled) {
    settings.learning_rate = RateOf(3.0 / 8, settings);
    smaller.learning_rate = RateOf(2.0 / 8, smaller);
  }
  Job sequential(settings), last(smaller);
  for (uint64_t step = 0; step < 3; ++step) {
    const Batch batch = settings.sparse ? DrawnSparseBatch(8, step) : DrawnBatch(8, step);
    hogwild.Step(batch);
    for (const int64_t begin : {0, 3, 6}) {
      Batch small;
      TakeSubBatch(batch, begin, std::min<int64_t>(begin + 3, 8), small);
      if (begin == 6) {
        last.Restore(sequential);
        last.Step(small);
        sequential.Restore(last);
      } else {
        sequential.Step(small);
      }
    }
  }
  test::ExpectNear(hogwild.Values(), sequential.Values(), tolerance);
}

TEST(Hogwild, OfOneThreadIsSequential) {
  for (const char* rule : {"momentum", "adam"})
    for (const bool sparse : {false, true})
      for (const bool scaled : {false, true}) {
        const JobSettings settings = {.rule = rule, .widths = {12}, .sparse = sparse};
        // Adam's rate of a row goes by how often it is touched: racing_test.
        if (!scaled || !sparse || settings.rule == "momentum")
          ExpectSequential(settings, scaled, 0);
      }
}

TEST(Hogwild, OfOneThreadByPlainSgdIsSequential) {
  for (const bool reference : {false, true})
    ExpectSequential({.reference = reference, .rule = "sgd", .widths = {12, 9}}, true, 1e-6F);
  ExpectSequential({.model = "lenet", .rule = "sgd"}, true, 1e-6F);
}

TEST(Hogwild, TakesDecayAndClippingIntoAccount) {
  ExpectSequential({.rule = "sgd", .weight_decay = 0.3, .widths = {12}}, true, 0);
  ExpectSequential({.rule = "sgd", .clip_norm = 0.1, .widths = {12}}, true, 0);
}

TEST(Hogwild, ClipsEachSmallBatch) {
  ExpectSequential({.rule = "momentum", .clip_norm = 0.1, .widths = {12}}, true, 0);
}

}  // namespace yoke::executors_conformance_test
