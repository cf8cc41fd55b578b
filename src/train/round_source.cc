// RoundSource: enters a step when its first example is taken.
#include "train/round_source.h"

#include <algorithm>

namespace yoke {

std::optional<int64_t> DealtSteps::Peek() {
  if (range_.empty() && !over_) {
    range_ = next_();
    over_ = range_.empty();
  }
  if (range_.empty()) return {};
  return range_.begin;
}

RoundSource::RoundSource(Settings settings) : s_(std::move(settings)) { Enter(*s_.steps.Peek()); }

void RoundSource::Enter(int64_t step) {
  s_.steps.Pop();
  entered_.push_back(step);
  examples_ = s_.cursor.Part(step);
  step_ = s_.of_step(step);
  step_.examples = std::ssize(examples_);
  view_ = s_.replica.Enter(step_);
}

/// The next step, unless the replica must exchange before it.
bool RoundSource::GoOn() {
  const std::optional<int64_t> next = s_.steps.Peek();
  if (!next || !s_.replica.GoesOn(step_, s_.of_step(*next))) return false;
  s_.replica.Leave(step_);
  Enter(*next);
  return true;
}

/// The rate of a shorter step is meant for fewer examples.
bool RoundSource::NextIsAsLong() {
  const std::optional<int64_t> next = s_.steps.Peek();
  return next && std::ssize(s_.cursor.Part(*next)) >= step_.examples;
}

WorkRate RoundSource::Take(int64_t most, std::vector<int64_t>& examples) {
  while (examples_.empty())
    if (!GoOn()) return {};
  const WorkRate rate = {.learning_rate = step_.learning_rate, .examples = step_.examples};
  do {
    const size_t count = std::min(examples_.size(), static_cast<size_t>(most));
    const std::span<const int64_t> taken = examples_.first(count);
    examples.insert(examples.end(), taken.begin(), taken.end());
    examples_ = examples_.subspan(count);
    most -= static_cast<int64_t>(count);
  } while (most > 0 && NextIsAsLong() && GoOn());
  return rate;
}

void RoundSource::Read(std::span<const int64_t> examples, Batch& batch) const {
  s_.cursor.Read(examples, batch);
}

int64_t RoundSource::Left() const {
  const int64_t here = std::ssize(examples_);
  if (s_.last == 0) return -1;
  int64_t later = 0;
  for (int64_t step = entered_.back() + 1; step < s_.last; ++step)
    later += std::ssize(s_.cursor.Part(step));
  return here + later;
}

}  // namespace yoke
