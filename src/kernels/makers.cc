// The kernels of the operations that have several, best first, and the list of all operations.
// (Those of convolution are in convolution/convolution.cc.)
#include "kernels/makers.h"

#include <cstdlib>
#include <string_view>
#include <utility>

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

bool IsOfKind(const Device& device, std::string_view kind) {
  const std::string& name = device.name();
  return name.starts_with(kind) && (name.size() == kind.size() || name[kind.size()] == ':');
}

std::vector<std::string> OperationEntry::KernelsOn(Device& device) const {
  const bool cpu = device.IsHost() || (lists_addresses_ && device.stream().work_queue());
  std::vector<std::string> kernels;
  for (const Listed& listed : listed_)
    if (listed.kernel && (listed.kind ? IsOfKind(device, listed.kind) : cpu))
      kernels.emplace_back(listed.kernel);
  return kernels;
}

std::vector<const OperationEntry*> operations() {
  return {
#define YOKE_OPERATION(name, Call, Shape) &operation::name,
#include "kernels/operations.def"
#undef YOKE_OPERATION
  };
}

namespace operation {
const KernelList<ActivationCall, ActivationShape> kActivation("activation",
                                                              {.others = "relu, sigmoid, tanh"},
                                                              {{"cuda", "cuda", cuda::Make},
                                                               {"vector loops", cpu::Activations},
                                                               {"reference",
                                                                reference::Activations}});
const KernelList<ActiveRowsCall, ActiveRowsShape> kActiveRows(
    "active rows", {.others = "bias, relu"},
    {{"vector loops", cpu::ActiveRows}, {"reference", reference::ActiveRows}});
const KernelList<BatchNormCall, BatchNormShape> kBatchNorm(
    "batch norm", {.others = "training, evaluation, add, relu"},
    {{"cuda", "cuda", cuda::Make},
     {"vector loops", cpu::BatchNorm},
     {"reference", reference::BatchNorm}});
const KernelList<CrossEntropyCall, CrossEntropyShape> kCrossEntropy(
    "cross entropy", {.bf16 = false, .others = "softmax, sigmoid"},
    {{"cuda", "cuda", cuda::Make},
     {"vector loops", cpu::CrossEntropies},
     {"reference", reference::CrossEntropies}});
const KernelList<LinearCall, LinearShape> kLinear("linear", {.others = "bias, relu, adds"},
                                                  {{"cublaslt", "cuda", cuda::Make},
                                                   {"vector rows", cpu::LinearOfFew},
                                                   {"onednn", cpu::Linear},
                                                   {"reference", reference::Linear}});
const KernelList<LocalResponseNormCall, LocalResponseNormShape> kLocalResponseNorm(
    "local response norm", {},
    {{"cuda", "cuda", cuda::Make},
     {"blocks of channels", cpu::LocalResponseNorm},
     {"reference", reference::LocalResponseNorm}});
const KernelList<PoolingCall, PoolingShape> kPooling("pooling", {.others = "maximum, average"},
                                                     {{"cuda", "cuda", cuda::Make},
                                                      {"vector loops", cpu::Pool},
                                                      {"reference", reference::Pool}});
const KernelList<SparseLinearCall, SparseLinearShape> kSparseLinear(
    "sparse linear", {.others = "bias, relu"},
    {{"cuda", "cuda", cuda::Make},
     {"vector loops", cpu::SparseLinear},
     {"reference", reference::SparseLinear}});
const KernelList<TopScoresCall, TopScoresShape> kTopScores(
    "top scores", {.backward = false, .others = "sum of exp, sum of softplus"},
    {{"cublaslt by blocks", "cuda", cuda::Make},
     {"onednn by blocks", cpu::TopScores},
     {"reference", reference::TopScores}});
}  // namespace operation

#define YOKE_MAKER(Name)                                                                     \
  std::unique_ptr<Name##Kernel> Make##Name(const Name##Shape& shape, const Target& target) { \
    return operation::k##Name.Make(shape, target);                                           \
  }
YOKE_MAKER(Activation)
YOKE_MAKER(ActiveRows)
YOKE_MAKER(BatchNorm)
YOKE_MAKER(CrossEntropy)
YOKE_MAKER(Linear)
YOKE_MAKER(LocalResponseNorm)
YOKE_MAKER(Pooling)
YOKE_MAKER(SparseLinear)
#undef YOKE_MAKER

std::unique_ptr<TopScoresKernel> MakeTopScores(const TopScoresShape& shape, const Target& target) {
  Check(shape.top <= shape.outputs, "no more top scores than outputs");
  return operation::kTopScores.Make(shape, target);
}

namespace {

thread_local std::optional<bool> tf32_scope;

}  // namespace

bool UsesTf32() {
  if (tf32_scope) return *tf32_scope;
  const char* const set = std::getenv("YOKE_TF32");
  return set && std::string_view(set) == "1";
}

Tf32Scope::Tf32Scope(bool rounds) : outer_(std::exchange(tf32_scope, rounds)) {}
Tf32Scope::~Tf32Scope() { tf32_scope = outer_; }

}  // namespace yoke
