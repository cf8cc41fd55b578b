// OuterSum: an all-reduce, possibly compressed, on this thread or on the side thread.
#include "strategy/outer_sum.h"

#include "strategy/update.h"

namespace yoke::strategy {

OuterSum::OuterSum(const Settings& settings, const StrategyContext& context)
    : context_(context),
      beside_(settings.beside),
      compressor_(context.world.size() > 1 ? settings.compression : CompressionSettings{},
                  context.params.layout().statistics_begin()),
      statistics_(context.params.layout()),
      thread_(context.world, nullptr, *context.params.values().device) {}

void OuterSum::Allocate(int64_t largest) {
  Device& device = *context_.params.values().device;
  change_ = Buffer(device, largest * SizeOf(DType::kF32));
  statistics_sum_ = Buffer(device, statistics_.count() * SizeOf(DType::kF32));
}

void OuterSum::Prepare() {
  if (beside_) thread_.Begin();
}

void OuterSum::Begin(Array<const float> x_0, Array<const float> x_i, int64_t offset,
                     bool with_statistics) {
  const Array<float> change = AllOf<float>(change_).First(x_0.count);
  ScaledDifference(change, 1 / static_cast<float>(context_.world.size()), x_0, x_i);
  with_statistics_ = with_statistics && !statistics_.empty();
  if (with_statistics_)
    Copy(AllOf<float>(statistics_sum_), statistics_.Of(context_.params.values()));
  if (!beside_) {
    const double before = context_.world.traffic().seconds_waited;
    Sum(context_.world, change, offset);
    seconds_waited_ += context_.world.traffic().seconds_waited - before;
    return;
  }
  thread_.Do(
      [this, change, offset](SideThread::Endpoint& here) { Sum(here.world(), change, offset); });
}

void OuterSum::Sum(const Communicator& world, Array<float> change, int64_t offset) {
  if (compressor_.kind() == Compression::kNone)
    world.AllReduce(change);
  else
    SumCompressed(world, compressor_, change, offset);
  if (!with_statistics_) return;
  const Array<float> statistics = AllOf<float>(statistics_sum_);
  world.AllReduce(statistics);
  Divide(statistics, static_cast<float>(world.size()));
}

void OuterSum::SaveIn(std::vector<Strategy::SavedTensor>& saved) {
  Save(saved, "residual", compressor_.residual());
  if (!beside_) return;
  Save(saved, "change", change_);
  Save(saved, "statistics", statistics_sum_);
}

}  // namespace yoke::strategy
