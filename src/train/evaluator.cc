// Evaluator: a sample is a subset of the data, in their order.
#include "train/evaluator.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/random.h"

namespace yoke {
namespace {

using SharedReader = std::shared_ptr<const Reader>;

int64_t ExamplesIn(const SharedReader& reader) { return reader ? reader->Size() : 0; }

SharedReader SampleOf(const SharedReader& all, int64_t examples, Random random) {
  if (ExamplesIn(all) <= examples) return all;
  std::vector<int64_t> drawn = Permutation(all->Size(), random);
  drawn.resize(static_cast<size_t>(examples));
  std::ranges::sort(drawn);
  return Subset(all, std::move(drawn));
}

void RequireData(const Job& job, const DataSets& data) {
  const bool none = !data.test && !data.validation;
  Require(!none || !job.train.Raw("evaluate_every").AsTable(),
          "{}: expected test data or a validation share, and the job has neither",
          job.train.Where("evaluate_every"));
  if (!job.train.Has("evaluate_examples")) return;
  const int64_t most = std::max(ExamplesIn(data.test), ExamplesIn(data.validation));
  Require(job.train.Int("evaluate_examples") < most,
          "{} = {} has no effect: there are only {} examples to evaluate; leave it out",
          job.train.Where("evaluate_examples"), job.train.Int("evaluate_examples"), most);
  const Value& every = job.train.Raw("evaluate_every");
  Require(every.AsTable() || job.train.Int("evaluate_every") < job.train.Int("epochs"),
          "{} has no effect: only the last epoch is evaluated, on all examples; leave it out or "
          "lower train.evaluate_every",
          job.train.Where("evaluate_examples"));
}

}  // namespace

EvaluationEvent EventOf(const Evaluated& evaluated, const EpochCursor& cursor,
                        const SessionClock& clock) {
  const Position& position = cursor.position;
  return {.step = position.step,
          .epoch = cursor.EpochsDone(),
          .epochs = cursor.epochs(),
          .seconds = clock.OfTraining(),
          .training_seconds = clock.WithoutPauses(),
          .examples = position.epoch * position.examples + position.consumed.Count(),
          .validation = evaluated.validation,
          .test = evaluated.test};
}

Evaluator::Evaluator(const Job& job, const DataSets& data) : all_(data), samples_(data) {
  RequireData(job, data);
  if (!job.train.Has("evaluate_examples")) return;
  const int64_t examples = job.train.Int("evaluate_examples");
  uint64_t set = 0;
  for (SharedReader* reader : {&samples_.validation, &samples_.test})
    *reader = SampleOf(*reader, examples, Random({job.seed(), Word(Draw::kSplit), ++set}));
}

Evaluated Evaluator::Evaluate(const Replica& replica, bool all,
                              const std::atomic<int>* stop) const {
  Evaluated evaluated;
  const auto measure = [&](const SharedReader& whole, const SharedReader& sample) -> Metrics {
    if (!whole) return {};
    const bool sampled = !all && sample != whole;
    if (sampled) evaluated.whole = false;
    return replica.Evaluate(sampled ? *sample : *whole, stop, sampled ? whole->Size() : 0);
  };
  evaluated.validation = measure(all_.validation, samples_.validation);
  evaluated.test = measure(all_.test, samples_.test);
  const DataSets& used = all ? all_ : samples_;
  evaluated.examples = ExamplesIn(used.validation ? used.validation : used.test);
  return evaluated;
}

}  // namespace yoke
