// Compressed sums: parts go to their owners, sums go around.
#include "strategy/compress.h"

#include <algorithm>

#include "tensor/counting.h"

namespace yoke {
namespace {

constexpr int kParts = 0;  // tag

/// What an owner sends of its part's sum. A top-k message of a sum would keep back what its senders
/// have kept back before: momentum does not bear so late a gradient (it diverges).
Compressor ForSums(const Compressor& compressor) {
  return Compressor(compressor.kind() == Compression::kTopK ? CompressionSettings{}
                                                            : compressor.settings());
}

/// Each rank's whole message goes around.
Cost CostOfGather(const Compressor& compressor, int64_t count, int ranks) {
  const double pairs = ranks * (ranks - 1.0);
  return {.messages = pairs,
          .message_bytes = pairs * static_cast<double>(compressor.BytesOf(count))};
}

/// Parts go to their owners, and sums go around.
Cost CostOfParts(const Compressor& compressor, int64_t count, int ranks) {
  const double others = ranks - 1.0;
  const Compressor sums = ForSums(compressor);
  Cost cost = {.messages = 2 * others * ranks};
  for (int owner = 0; owner < ranks; ++owner) {
    const int64_t n = PieceBegin(count, owner + 1, ranks) - PieceBegin(count, owner, ranks);
    cost.message_bytes += others * static_cast<double>(compressor.BytesOf(n) + sums.BytesOf(n));
  }
  return cost;
}

bool Gathers(const Compressor& compressor, int64_t count, int ranks) {
  return CostOfGather(compressor, count, ranks).message_bytes <=
         CostOfParts(compressor, count, ranks).message_bytes;
}

void SumGathered(const Communicator& world, Compressor& compressor, std::span<float> values,
                 int64_t offset) {
  const auto messages = world.AllGather(compressor.Encode(values, offset));
  std::ranges::fill(values, 0.0F);
  for (const auto& message : messages) compressor.AddTo(values, message);
}

void SumParts(const Communicator& world, Compressor& compressor, std::span<float> values,
              int64_t offset) {
  const int p = world.size(), rank = world.rank();
  const auto part = [&](int owner) { return Piece(values, owner, p); };
  const auto encoded = [&](int owner) {
    return compressor.Encode(part(owner), offset + (part(owner).data() - values.data()));
  };
  for (int s = 1; s < p; ++s) world.Send(encoded((rank + s) % p), (rank + s) % p, kParts);
  for (int from = 0; from < p; ++from)
    if (from != rank) compressor.AddTo(part(rank), world.Receive(from, kParts).bytes);
  Compressor down = ForSums(compressor);
  const bool plain = down.kind() == Compression::kNone;
  const auto sums = world.AllGather(plain ? down.Encode(part(rank), 0) : encoded(rank));
  std::ranges::fill(values, 0.0F);
  for (int owner = 0; owner < p; ++owner) down.AddTo(part(owner), sums[owner]);
}

}  // namespace

void SumCompressed(const Communicator& world, Compressor& compressor, Array<float> values,
                   int64_t offset) {
  const CountedAs scope("exchange");
  const bool gathers = Gathers(compressor, values.count, world.size());
  (gathers ? SumGathered : SumParts)(world, compressor, compressor.staging().Read(values), offset);
  compressor.staging().Write(values);
}

Cost CostOfSumCompressed(const Compressor& compressor, int64_t count, int ranks) {
  return (Gathers(compressor, count, ranks) ? CostOfGather : CostOfParts)(compressor, count, ranks);
}

}  // namespace yoke
