// Compressed sums: an all-reduce of gradients in compressed messages, of fewer bytes than without.
#pragma once

#include "comm/communicator.h"
#include "strategy/compress.h"

namespace yoke {

/// All ranks: `values`, which begin at `offset` of the gradient, become their sum over the ranks,
/// up to what compression loses, and the same bits everywhere.
///
/// Where few ranks meet, all gather all messages. Otherwise each rank owns one of P parts: it sends
/// every other owner that one's part, compressed; adds up, in f32, what it is sent of its own;
/// compresses the sum (a top-k sum travels as it is); and all gather the sums. What is lost of a
/// part on its way up stays with its sender, what is lost of a sum with its owner, and both are
/// sent with the next gradient (DoubleSqueeze: Tang et al., ICML 2019, arXiv 1905.05957). It uses
/// the algorithm of fewer bytes, never more than an all-reduce of the values themselves.
void SumCompressed(const Communicator& world, Compressor& compressor, Array<float> values,
                   int64_t offset);

/// The messages and bytes that all ranks together send for `count` elements.
Cost CostOfSumCompressed(const Compressor& compressor, int64_t count, int ranks);

}  // namespace yoke
