// LibraryConvolver: graphs of cuDNN's backend interface: a convolution, or one with bias and ReLU,
// of which the heuristics' first engine that takes it is planned. On a mock driver: plain loops.
#include <cudnn.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/cuda/host_products.h"
#include "kernels/makers.h"
#include "tensor/cuda/cuda_library.h"
#include "tensor/cuda/cuda_stream.h"

namespace yoke::cuda {
namespace {

/// The functions that convolutions call.
struct Cudnn {
  CudaLibrary library{"libcudnn.so.9", "libcudnn.so"};
// NOLINTBEGIN(bugprone-macro-parentheses): a declaration
#define YOKE_CUDNN(name) \
  decltype(cudnn##name)* name = library.Of<decltype(cudnn##name)>("cudnn" #name)
  // NOLINTEND(bugprone-macro-parentheses)
  YOKE_CUDNN(Create);
  YOKE_CUDNN(Destroy);
  YOKE_CUDNN(SetStream);
  YOKE_CUDNN(BackendCreateDescriptor);
  YOKE_CUDNN(BackendDestroyDescriptor);
  YOKE_CUDNN(BackendFinalize);
  YOKE_CUDNN(BackendSetAttribute);
  YOKE_CUDNN(BackendGetAttribute);
  YOKE_CUDNN(BackendExecute);
#undef YOKE_CUDNN

  static const Cudnn& Get() {
    static const Cudnn cudnn;
    return cudnn;
  }
};

void CheckCudnn(cudnnStatus_t status, const char* what) {
  if (status != CUDNN_STATUS_SUCCESS)
    throw Error(fmt::format("cuDNN failed in {}: status {}", what, static_cast<int>(status)));
}

using Handle = std::shared_ptr<cudnnContext>;

/// The handle of a stream's plans, which ends with the last of them.
Handle HandleOf(Stream& stream) {
  static std::mutex mutex;
  static std::map<CUstream_st*, std::weak_ptr<cudnnContext>> handles;
  CUstream_st* const native = NativeStream(stream);
  const std::lock_guard lock(mutex);
  std::erase_if(handles, [](const auto& each) { return each.second.expired(); });
  if (const auto found = handles.find(native); found != handles.end())
    if (Handle handle = found->second.lock()) return handle;
  cudnnHandle_t made = nullptr;
  CheckCudnn(Cudnn::Get().Create(&made), "cudnnCreate");
  Handle handle(made, [](cudnnHandle_t each) { Cudnn::Get().Destroy(each); });
  CheckCudnn(Cudnn::Get().SetStream(made, native), "cudnnSetStream");
  handles[native] = handle;
  return handle;
}

/// A descriptor of the backend interface. What it is not told correctly it reports by Finalize.
class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type) {
    CheckCudnn(Cudnn::Get().BackendCreateDescriptor(type, &descriptor_),
               "cudnnBackendCreateDescriptor");
  }
  Descriptor(Descriptor&& other) noexcept : descriptor_(std::exchange(other.descriptor_, {})) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~Descriptor() {
    if (descriptor_) Cudnn::Get().BackendDestroyDescriptor(descriptor_);
  }

  template <typename Value>
  Descriptor& Set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                  const Value* values, size_t count) {
    if (Cudnn::Get().BackendSetAttribute(descriptor_, name, type, static_cast<int64_t>(count),
                                         values) != CUDNN_STATUS_SUCCESS)
      fits_ = false;
    return *this;
  }
  template <typename Value>
  Descriptor& Set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                  const Value& value) {
    return Set(name, type, &value, 1);
  }
  Descriptor& Set(cudnnBackendAttributeName_t name, const Descriptor& other) {
    return Set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, other.descriptor_);
  }
  Descriptor& Set(cudnnBackendAttributeName_t name, const std::vector<int64_t>& values) {
    return Set(name, CUDNN_TYPE_INT64, values.data(), values.size());
  }
  /// Whether the library takes it.
  bool Finalize() {
    return fits_ && Cudnn::Get().BackendFinalize(descriptor_) == CUDNN_STATUS_SUCCESS;
  }

  template <typename Value>
  int64_t Read(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, Value* values,
               int64_t count) const {
    int64_t found = 0;
    const auto status =
        Cudnn::Get().BackendGetAttribute(descriptor_, name, type, count, &found, values);
    return status == CUDNN_STATUS_SUCCESS ? found : 0;
  }
  cudnnBackendDescriptor_t get() const { return descriptor_; }

 private:
  cudnnBackendDescriptor_t descriptor_ = {};
  bool fits_ = true;
};

cudnnDataType_t DataTypeOf(DType type) {
  return type == DType::kBf16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_FLOAT;
}

enum Uid : int64_t { kInputUid = 1, kWeightUid, kBiasUid, kOutputUid, kSumUid, kBiasedUid };

/// A tensor in logical order [n, c, h, w], in memory with c last. Virtual: within the graph alone.
Descriptor TensorOf(Uid uid, const Shape& shape, cudnnDataType_t type, bool is_virtual = false) {
  const std::vector<int64_t> sizes(shape.axes().begin(), shape.axes().end());
  const std::vector<int64_t> strides = {sizes[1] * sizes[2] * sizes[3], 1, sizes[3] * sizes[1],
                                        sizes[1]};
  const auto id = static_cast<int64_t>(uid), alignment = int64_t{16};
  Descriptor tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  tensor.Set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, id)
      .Set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type)
      .Set(CUDNN_ATTR_TENSOR_DIMENSIONS, sizes)
      .Set(CUDNN_ATTR_TENSOR_STRIDES, strides)
      .Set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, alignment)
      .Set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, is_virtual);
  tensor.Finalize();
  return tensor;
}

/// How cuDNN names the parts of a pass.
struct OperationNames {
  cudnnBackendDescriptorType_t operation;
  cudnnBackendAttributeName_t input, weight, output, convolution, alpha, beta;
};

OperationNames NamesOf(ConvolutionPass pass) {
  switch (pass) {
    case ConvolutionPass::kInput:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    case ConvolutionPass::kWeight:
    case ConvolutionPass::kNarrowWeight:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
    default:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
  }
}

/// Padding behind the end of an axis, so that as many windows fit.
int64_t EndPaddingOf(const Window& window, int64_t length) {
  const int64_t needed =
      (window.Count(length) - 1) * window.stride + window.Span() - length - window.padding;
  return std::max(window.EndPadding(), needed);
}

}  // namespace

class LibraryConvolver::Plan {
 public:
  Plan(const ConvolutionShape& shape, ConvolutionPass pass, const Target& target)
      : s_(shape), pass_(pass), stream_(*target.stream), host_(shape, pass, target) {
    if (RunsOnHost(stream_)) return;
    if (EndPaddingOf(s_.rows, s_.height) < 0 || EndPaddingOf(s_.columns, s_.width) < 0) return;
    handle_ = HandleOf(stream_);
    Build();
  }

  bool made() const { return RunsOnHost(stream_) || plan_.has_value(); }
  int64_t scratch_bytes() const {
    return RunsOnHost(stream_) ? HostConvolver::scratch_bytes() : WithAlignment(workspace_);
  }

  void Run(const ConvolverCall& call) const {
    if (RunsOnHost(stream_))
      return LaunchOnHost(stream_, [convolver = host_, call] { convolver.Run(call); });
    std::array<int64_t, 4> ids = {kInputUid, kWeightUid, kOutputUid, kBiasUid};
    std::array<void*, 4> data = {call.input, call.weight, call.output,
                                 const_cast<void*>(call.bias)};
    void* const workspace = Aligned(call.scratch);
    const size_t count = pass_ == ConvolutionPass::kForwardBias ? 4 : 3;
    Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    pack.Set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, ids.data(), count)
        .Set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, data.data(), count)
        .Set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace);
    Check(pack.Finalize(), "cuDNN takes the addresses of a convolution");
    CheckCudnn(Cudnn::Get().BackendExecute(handle_.get(), plan_->get(), pack.get()),
               "cudnnBackendExecute");
  }

 private:
  void Build() {
    const bool fused = pass_ == ConvolutionPass::kForwardBias;
    const cudnnDataType_t type = DataTypeOf(s_.type);
    const bool to_f32 = pass_ == ConvolutionPass::kWeight;
    tensors_.push_back(TensorOf(kInputUid, s_.Input(), type));
    tensors_.push_back(TensorOf(kWeightUid, s_.Weight(), to_f32 ? CUDNN_DATA_FLOAT : type));
    tensors_.push_back(fused ? TensorOf(kSumUid, s_.Output(), CUDNN_DATA_FLOAT, true)
                             : TensorOf(kOutputUid, s_.Output(), type));
    AddConvolution();
    if (fused) AddBias(type);
    std::vector<cudnnBackendDescriptor_t> operations;
    for (Descriptor& operation : operations_) {
      if (!operation.Finalize()) return;
      operations.push_back(operation.get());
    }
    Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    graph
        .Set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, operations.data(),
             operations.size())
        .Set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle_.get());
    if (graph.Finalize()) Choose(graph);
  }

  void AddConvolution() {
    const std::vector<int64_t> before = {s_.rows.padding, s_.columns.padding};
    const std::vector<int64_t> behind = {EndPaddingOf(s_.rows, s_.height),
                                         EndPaddingOf(s_.columns, s_.width)};
    const int64_t axes = 2;
    const cudnnDataType_t compute = CUDNN_DATA_FLOAT;
    const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
    parts_.emplace_back(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR)
        .Set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, axes)
        .Set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, compute)
        .Set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, mode)
        .Set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, before)
        .Set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, behind)
        .Set(CUDNN_ATTR_CONVOLUTION_DILATIONS, {s_.rows.dilation, s_.columns.dilation})
        .Set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, {s_.rows.stride, s_.columns.stride})
        .Finalize();
    const OperationNames names = NamesOf(pass_);
    const float one = 1, zero = 0;
    operations_.emplace_back(names.operation)
        .Set(names.input, tensors_[0])
        .Set(names.weight, tensors_[1])
        .Set(names.output, tensors_[2])
        .Set(names.convolution, parts_.back())
        .Set(names.alpha, CUDNN_TYPE_FLOAT, one)
        .Set(names.beta, CUDNN_TYPE_FLOAT, zero);
  }

  void AddBias(cudnnDataType_t type) {
    tensors_.push_back(TensorOf(kBiasUid, {1, s_.outputs, 1, 1}, type));
    if (s_.relu) tensors_.push_back(TensorOf(kBiasedUid, s_.Output(), CUDNN_DATA_FLOAT, true));
    tensors_.push_back(TensorOf(kOutputUid, s_.Output(), type));
    AddPointwise(CUDNN_POINTWISE_ADD, tensors_[2], tensors_[4])
        .Set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, tensors_[3]);
    if (s_.relu) AddPointwise(CUDNN_POINTWISE_RELU_FWD, tensors_[4], tensors_[5]);
  }

  Descriptor& AddPointwise(cudnnPointwiseMode_t mode, const Descriptor& from,
                           const Descriptor& to) {
    const cudnnDataType_t compute = CUDNN_DATA_FLOAT;
    parts_.emplace_back(CUDNN_BACKEND_POINTWISE_DESCRIPTOR)
        .Set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode)
        .Set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, compute)
        .Finalize();
    return operations_.emplace_back(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR)
        .Set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, parts_.back())
        .Set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, from)
        .Set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, to);
  }

  void Choose(const Descriptor& graph) {
    constexpr int64_t kMost = 16;
    for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
      Descriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
      heuristics.Set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph)
          .Set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
      if (!heuristics.Finalize()) continue;
      std::vector<Descriptor> engines;
      std::array<cudnnBackendDescriptor_t, kMost> found = {};
      for (cudnnBackendDescriptor_t& each : found)
        each = engines.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR).get();
      const int64_t count = heuristics.Read(CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                            CUDNN_TYPE_BACKEND_DESCRIPTOR, found.data(), kMost);
      for (int64_t i = 0; i < std::min(count, kMost); ++i)
        if (Keeps(engines[i]) && TryPlan(engines[i])) return;
    }
  }

  /// No engine whose sums differ from run to run; without TF32, none that rounds f32.
  bool Keeps(const Descriptor& engine_choice) const {
    const bool rounds = s_.type != DType::kF32 || UsesTf32();
    const Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    cudnnBackendDescriptor_t read = engine.get();
    engine_choice.Read(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, &read, 1);
    std::array<cudnnBackendNumericalNote_t, 16> notes = {};
    const int64_t count = engine.Read(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                                      notes.data(), std::ssize(notes));
    return std::none_of(notes.begin(), notes.begin() + std::min(count, std::ssize(notes)),
                        [rounds](cudnnBackendNumericalNote_t note) {
                          return note == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC ||
                                 (!rounds && (note == CUDNN_NUMERICAL_NOTE_TENSOR_CORE ||
                                              note == CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS));
                        });
  }

  bool TryPlan(const Descriptor& engine_choice) {
    Descriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    plan.Set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle_.get())
        .Set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, engine_choice);
    if (!plan.Finalize()) return false;
    plan.Read(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, &workspace_, 1);
    if (workspace_ > kMostWorkspace) return false;
    plan_ = std::move(plan);
    return true;
  }

  static constexpr int64_t kMostWorkspace = int64_t{1} << 30;

  ConvolutionShape s_;
  ConvolutionPass pass_;
  Stream& stream_;
  HostConvolver host_;
  Handle handle_;  // outlives the descriptors
  std::vector<Descriptor> tensors_, parts_, operations_;
  std::optional<Descriptor> plan_;
  int64_t workspace_ = 0;
};

LibraryConvolver::LibraryConvolver(const ConvolutionShape& shape, ConvolutionPass pass,
                                   const Target& target) {
  auto plan = std::make_shared<const Plan>(shape, pass, target);
  if (plan->made()) plan_ = std::move(plan);
}

int64_t LibraryConvolver::scratch_bytes() const { return plan_ ? plan_->scratch_bytes() : 0; }

void LibraryConvolver::Run(const ConvolverCall& call) const { plan_->Run(call); }

}  // namespace yoke::cuda
