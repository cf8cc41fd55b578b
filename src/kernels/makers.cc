// The kernels of each operation, best first. (Convolution chooses its own:
// convolution/convolution.cc.)
#include "kernels/makers.h"

#include "kernels/activation/activation.h"
#include "kernels/active_rows/active_rows.h"
#include "kernels/batch_norm/batch_norm.h"
#include "kernels/cross_entropy/cross_entropy.h"
#include "kernels/linear/linear.h"
#include "kernels/local_response_norm/local_response_norm.h"
#include "kernels/pooling/pooling.h"
#include "kernels/sparse_linear/sparse_linear.h"
#include "kernels/top_scores/top_scores.h"

namespace yoke {

namespace cpu {
std::unique_ptr<ActivationKernel> Activations(const ActivationShape& shape);
std::unique_ptr<ActiveRowsKernel> ActiveRows(const ActiveRowsShape& shape);
std::unique_ptr<BatchNormKernel> BatchNorm(const BatchNormShape& shape);
std::unique_ptr<CrossEntropyKernel> CrossEntropies(const CrossEntropyShape& shape);
std::unique_ptr<LinearKernel> Linear(const LinearShape& shape);
std::unique_ptr<LocalResponseNormKernel> LocalResponseNorm(const LocalResponseNormShape& shape);
std::unique_ptr<PoolingKernel> Pool(const PoolingShape& shape);
std::unique_ptr<SparseLinearKernel> SparseLinear(const SparseLinearShape& shape);
std::unique_ptr<TopScoresKernel> TopScores(const TopScoresShape& shape);
std::unique_ptr<LinearKernel> LinearOfFew(const LinearShape& shape);
}  // namespace cpu

namespace reference {
std::unique_ptr<ActivationKernel> Activations(const ActivationShape& shape);
std::unique_ptr<ActiveRowsKernel> ActiveRows(const ActiveRowsShape& shape);
std::unique_ptr<BatchNormKernel> BatchNorm(const BatchNormShape& shape);
std::unique_ptr<CrossEntropyKernel> CrossEntropies(const CrossEntropyShape& shape);
std::unique_ptr<LinearKernel> Linear(const LinearShape& shape);
std::unique_ptr<LocalResponseNormKernel> LocalResponseNorm(const LocalResponseNormShape& shape);
std::unique_ptr<PoolingKernel> Pool(const PoolingShape& shape);
std::unique_ptr<SparseLinearKernel> SparseLinear(const SparseLinearShape& shape);
std::unique_ptr<TopScoresKernel> TopScores(const TopScoresShape& shape);
}  // namespace reference

std::unique_ptr<ActivationKernel> MakeActivation(const ActivationShape& shape,
                                                 const Target& target) {
  return MakeFirst<ActivationCall, ActivationShape>({cpu::Activations, reference::Activations},
                                                    shape, target);
}

std::unique_ptr<ActiveRowsKernel> MakeActiveRows(const ActiveRowsShape& shape,
                                                 const Target& target) {
  return MakeFirst<ActiveRowsCall, ActiveRowsShape>({cpu::ActiveRows, reference::ActiveRows}, shape,
                                                    target);
}

std::unique_ptr<BatchNormKernel> MakeBatchNorm(const BatchNormShape& shape, const Target& target) {
  return MakeFirst<BatchNormCall, BatchNormShape>({cpu::BatchNorm, reference::BatchNorm}, shape,
                                                  target);
}

std::unique_ptr<CrossEntropyKernel> MakeCrossEntropy(const CrossEntropyShape& shape,
                                                     const Target& target) {
  return MakeFirst<CrossEntropyCall, CrossEntropyShape>(
      {cpu::CrossEntropies, reference::CrossEntropies}, shape, target);
}

std::unique_ptr<LinearKernel> MakeLinear(const LinearShape& shape, const Target& target) {
  return MakeFirst<LinearCall, LinearShape>({cpu::LinearOfFew, cpu::Linear, reference::Linear},
                                            shape, target);
}

std::unique_ptr<LocalResponseNormKernel> MakeLocalResponseNorm(const LocalResponseNormShape& shape,
                                                               const Target& target) {
  return MakeFirst<LocalResponseNormCall, LocalResponseNormShape>(
      {cpu::LocalResponseNorm, reference::LocalResponseNorm}, shape, target);
}

std::unique_ptr<PoolingKernel> MakePooling(const PoolingShape& shape, const Target& target) {
  return MakeFirst<PoolingCall, PoolingShape>({cpu::Pool, reference::Pool}, shape, target);
}

std::unique_ptr<SparseLinearKernel> MakeSparseLinear(const SparseLinearShape& shape,
                                                     const Target& target) {
  return MakeFirst<SparseLinearCall, SparseLinearShape>(
      {cpu::SparseLinear, reference::SparseLinear}, shape, target);
}

std::unique_ptr<TopScoresKernel> MakeTopScores(const TopScoresShape& shape, const Target& target) {
  Check(shape.top <= shape.outputs, "no more top scores than outputs");
  return MakeFirst<TopScoresCall, TopScoresShape>({cpu::TopScores, reference::TopScores}, shape,
                                                  target);
}

}  // namespace yoke
