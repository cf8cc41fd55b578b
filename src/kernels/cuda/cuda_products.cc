// LibraryProduct: cuBLASLt, whose heuristics choose an algorithm once a shape. On a mock driver:
// plain loops.
#include <cublasLt.h>

#include <map>
#include <mutex>
#include <string>

#include "kernels/cuda/host_products.h"
#include "kernels/cuda/products.h"
#include "kernels/makers.h"
#include "tensor/cuda/cuda_library.h"
#include "tensor/cuda/cuda_stream.h"

namespace yoke::cuda {
namespace {

void CheckLt(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw Error(fmt::format("cuBLASLt failed in {}: status {}", what, static_cast<int>(status)));
}

/// The functions that products call, and a handle, which threads share.
struct Lt {
  CudaLibrary library{fmt::format("libcublasLt.so.{}", CUBLAS_VER_MAJOR), "libcublasLt.so"};
// NOLINTBEGIN(bugprone-macro-parentheses): a declaration
#define YOKE_LT(name) \
  decltype(cublasLt##name)* name = library.Of<decltype(cublasLt##name)>("cublasLt" #name)
  // NOLINTEND(bugprone-macro-parentheses)
  YOKE_LT(Create);
  YOKE_LT(Matmul);
  YOKE_LT(MatmulAlgoGetHeuristic);
  YOKE_LT(MatmulDescCreate);
  YOKE_LT(MatmulDescDestroy);
  YOKE_LT(MatmulDescSetAttribute);
  YOKE_LT(MatrixLayoutCreate);
  YOKE_LT(MatrixLayoutDestroy);
  YOKE_LT(MatmulPreferenceCreate);
  YOKE_LT(MatmulPreferenceDestroy);
  YOKE_LT(MatmulPreferenceSetAttribute);
#undef YOKE_LT
  cublasLtHandle_t handle = nullptr;

  Lt() { CheckLt(Create(&handle), "cublasLtCreate"); }
  /// Of each GPU: a handle is of the one that is current.
  static const Lt& Of(const Device& device) {
    static std::mutex mutex;
    static std::map<std::string, Lt> all;
    const std::lock_guard lock(mutex);
    return all[device.name()];
  }
};

cudaDataType_t DataTypeOf(DType type) { return type == DType::kBf16 ? CUDA_R_16BF : CUDA_R_32F; }

constexpr size_t kWorkspace = size_t{32} << 20;  // what cuBLASLt's guide names for Hopper

}  // namespace

class LibraryProduct::Plan {
 public:
  Plan(const ProductShape& shape, const Target& target)
      : s_(shape), stream_(*target.stream), host_(shape, target) {
    if (RunsOnHost(stream_)) return;
    NativeStream(stream_);  // its GPU becomes the current one
    lt_ = &Lt::Of(*target.device);
    CheckLt(lt().MatmulDescCreate(&operation_, ComputeType(), CUDA_R_32F),
            "cublasLtMatmulDescCreate");
    Set(CUBLASLT_MATMUL_DESC_TRANSA, s_.transposed_a ? CUBLAS_OP_T : CUBLAS_OP_N);
    Set(CUBLASLT_MATMUL_DESC_TRANSB, s_.transposed_b ? CUBLAS_OP_T : CUBLAS_OP_N);
    Set(CUBLASLT_MATMUL_DESC_EPILOGUE, Epilogue());
    if (s_.bias)
      Set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, DataTypeOf(s_.result));
    else if (s_.sums)
      Set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, CUDA_R_32F);
    Layout(&a_, s_.type, s_.transposed_a ? s_.k : s_.m, s_.transposed_a ? s_.m : s_.k, s_.lead_a);
    Layout(&b_, s_.type, s_.transposed_b ? s_.n : s_.k, s_.transposed_b ? s_.k : s_.n, s_.lead_b);
    Layout(&d_, s_.result, s_.m, s_.n, s_.lead_d);
    // The heuristics want an address; the calls' own follow.
    if (s_.bias || s_.sums) Set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, reinterpret_cast<void*>(4096));
    Choose();
  }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  ~Plan() {
    if (operation_) lt().MatmulDescDestroy(operation_);
    for (const cublasLtMatrixLayout_t layout : {a_, b_, d_})
      if (layout) lt().MatrixLayoutDestroy(layout);
  }

  bool made() const { return found_ || RunsOnHost(stream_); }
  int64_t scratch_bytes() const {
    return RunsOnHost(stream_) ? HostProduct::scratch_bytes()
                               : WithAlignment(static_cast<int64_t>(chosen_.workspaceSize));
  }

  void Run(const ProductCall& call) const {
    if (RunsOnHost(stream_))
      return LaunchOnHost(stream_, [product = host_, call] { product.Run(call); });
    if (s_.bias || s_.sums) Set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, call.bias);
    const float beta = s_.adds ? 1 : 0;
    CheckLt(lt().Matmul(lt().handle, operation_, &call.alpha, call.a, a_, call.b, b_, &beta, call.d,
                        d_, call.d, d_, &chosen_.algo, Aligned(call.scratch), chosen_.workspaceSize,
                        NativeStream(stream_)),
            "cublasLtMatmul");
  }

 private:
  const Lt& lt() const { return *lt_; }

  cublasComputeType_t ComputeType() const {
    const bool tf32 = s_.type == DType::kF32 && UsesTf32();
    return tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  }
  cublasLtEpilogue_t Epilogue() const {
    if (s_.sums) return CUBLASLT_EPILOGUE_BGRADB;
    if (s_.bias) return s_.relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS;
    return s_.relu ? CUBLASLT_EPILOGUE_RELU : CUBLASLT_EPILOGUE_DEFAULT;
  }
  template <typename Value>
  void Set(cublasLtMatmulDescAttributes_t attribute, const Value& value) const {
    CheckLt(lt().MatmulDescSetAttribute(operation_, attribute, &value, sizeof value),
            "cublasLtMatmulDescSetAttribute");
  }
  void Layout(cublasLtMatrixLayout_t* layout, DType type, int64_t rows, int64_t columns,
              int64_t lead) const {
    CheckLt(lt().MatrixLayoutCreate(layout, DataTypeOf(type), static_cast<uint64_t>(rows),
                                    static_cast<uint64_t>(columns), lead),
            "cublasLtMatrixLayoutCreate");
  }

  /// The heuristics' first algorithm, if there is one.
  void Choose() {
    cublasLtMatmulPreference_t preference = nullptr;
    CheckLt(lt().MatmulPreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
    const size_t workspace = kWorkspace;
    lt().MatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                      &workspace, sizeof workspace);
    const auto align = static_cast<uint32_t>(s_.aligned ? 16 : SizeOf(s_.type));
    for (const auto attribute :
         {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
      lt().MatmulPreferenceSetAttribute(preference, attribute, &align, sizeof align);
    int count = 0;
    const cublasStatus_t status = lt().MatmulAlgoGetHeuristic(lt().handle, operation_, a_, b_, d_,
                                                              d_, preference, 1, &chosen_, &count);
    lt().MatmulPreferenceDestroy(preference);
    found_ = status == CUBLAS_STATUS_SUCCESS && count > 0;
  }

  ProductShape s_;
  Stream& stream_;
  HostProduct host_;
  const Lt* lt_ = nullptr;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, d_ = nullptr;
  cublasLtMatmulHeuristicResult_t chosen_ = {};
  bool found_ = false;
};

LibraryProduct::LibraryProduct(const ProductShape& shape, const Target& target) {
  auto plan = std::make_shared<const Plan>(shape, target);
  if (plan->made()) plan_ = std::move(plan);
}

int64_t LibraryProduct::scratch_bytes() const { return plan_ ? plan_->scratch_bytes() : 0; }

void LibraryProduct::Run(const ProductCall& call) const { plan_->Run(call); }

}  // namespace yoke::cuda
