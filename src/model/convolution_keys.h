// Convolution keys: those of [model] for the convolutions of any model, their algorithms and the
// keys of algorithm "lower_batch".
#pragma once

#include <string>

#include "base/value.h"

namespace yoke {

/// [model] without these keys.
Value WithoutConvolutionKeys(Value model_section);
/// Sets them in the tables of layers. Throws UserError for a layer that has no algorithm, and for
/// keys without an effect.
void SetConvolutionKeys(const Value& model_section, List& layers);

/// A convolution's table with this algorithm, and [model]'s keys for it.
Value WithAlgorithm(Value layer, const std::string& algorithm, const Value& model_section);
/// [model] with these algorithms, of all its convolutions, and without the keys, its own and its
/// layers', that have no effect then.
Value WithAlgorithms(Value model_section, const Table& algorithms);

}  // namespace yoke
