// Tf32: whether products of f32 may be rounded to TF32 first.
#pragma once

namespace yoke::cuda {

/// YOKE_TF32=1 in the environment: 10 bits of each factor's fraction count, at many times the rate.
bool UsesTf32();

}  // namespace yoke::cuda
