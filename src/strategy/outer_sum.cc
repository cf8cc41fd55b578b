// OuterSum: an all-reduce, possibly compressed, on this thread or on the side thread.
#include "strategy/outer_sum.h"

#include "strategy/kept.h"

namespace yoke::strategy {

OuterSum::OuterSum(const Settings& settings, const StrategyContext& context)
    : context_(context),
      beside_(settings.beside),
      compressor_(context.world.size() > 1 ? settings.compression : CompressionSettings{},
                  context.params.layout().statistics_begin()),
      statistics_(context.params.layout()),
      thread_(context.world) {}

void OuterSum::Allocate(int64_t largest) {
  change_.resize(largest);
  statistics_sum_.resize(context_.params.layout().size() - statistics_.begin());
}

void OuterSum::Prepare() {
  if (beside_) thread_.Begin();
}

void OuterSum::Begin(ConstValues x_0, ConstValues x_i, int64_t offset, bool with_statistics) {
  const Values change = Values(change_).first(x_0.size());
  ScaledDifference(change, 1 / static_cast<float>(context_.world.size()), x_0, x_i);
  with_statistics_ = with_statistics && !statistics_.empty();
  if (with_statistics_)
    std::ranges::copy(statistics_.Of(context_.params.values()), statistics_sum_.begin());
  if (!beside_) {
    const double before = context_.world.traffic().seconds_waited;
    Sum(context_.world, change, offset);
    seconds_waited_ += context_.world.traffic().seconds_waited - before;
    return;
  }
  thread_.Do(
      [this, change, offset](SideThread::Endpoint& here) { Sum(here.world(), change, offset); });
}

void OuterSum::Sum(const Communicator& world, Values change, int64_t offset) {
  if (compressor_.kind() == Compression::kNone)
    world.AllReduce(change);
  else
    SumCompressed(world, compressor_, change, offset);
  if (!with_statistics_) return;
  world.AllReduce(statistics_sum_);
  Divide(statistics_sum_, static_cast<float>(world.size()));
}

void OuterSum::KeepIn(std::vector<Strategy::KeptTensor>& kept) {
  Keep(kept, "residual", compressor_.residual());
  if (!beside_) return;
  Keep(kept, "change", change_);
  Keep(kept, "statistics", statistics_sum_);
}

}  // namespace yoke::strategy
