// The calls of libnccl.so.2, by dlopen.
#include "comm/nccl.h"

#include <nccl.h>

#include <cstring>

#include "base/check.h"
#include "tensor/cuda/cuda_library.h"

namespace yoke {
namespace {

struct Nccl {
  cuda::CudaLibrary library{"libnccl.so.2", "libnccl.so"};
// NOLINTBEGIN(bugprone-macro-parentheses): a declaration
#define YOKE_NCCL(name) decltype(nccl##name)* name = library.Of<decltype(nccl##name)>("nccl" #name)
  // NOLINTEND(bugprone-macro-parentheses)
  YOKE_NCCL(GetUniqueId);
  YOKE_NCCL(CommInitRank);
  YOKE_NCCL(AllReduce);
  YOKE_NCCL(CommAbort);
  YOKE_NCCL(CommDestroy);
  YOKE_NCCL(GetErrorString);
#undef YOKE_NCCL

  static const Nccl& Get() {
    static const Nccl nccl;
    return nccl;
  }
};

int MakeId(NcclId* id) {
  ncclUniqueId made;
  static_assert(sizeof made == sizeof *id);
  const int status = Nccl::Get().GetUniqueId(&made);
  std::memcpy(id->data(), &made, sizeof made);
  return status;
}

int Join(ncclComm** comm, int ranks, const NcclId& id, int rank) {
  ncclUniqueId one;
  std::memcpy(&one, id.data(), sizeof one);
  return Nccl::Get().CommInitRank(comm, ranks, one, rank);
}

constexpr NcclCalls kLibrary = {
    .make_id = MakeId,
    .join = Join,
    .sum =
        [](float* values, size_t count, ncclComm* comm, CUstream_st* stream) {
          return static_cast<int>(
              Nccl::Get().AllReduce(values, values, count, ncclFloat32, ncclSum, comm, stream));
        },
    .abort = [](ncclComm* comm) { return static_cast<int>(Nccl::Get().CommAbort(comm)); },
    .leave = [](ncclComm* comm) { return static_cast<int>(Nccl::Get().CommDestroy(comm)); },
    .text =
        [](int status) { return Nccl::Get().GetErrorString(static_cast<ncclResult_t>(status)); }};

}  // namespace

const NcclCalls* LinkedNccl() {
  static const bool found = [] {
    try {
      Nccl::Get();
      return true;
    } catch (const UserError&) {
      return false;
    }
  }();
  return found ? &kLibrary : nullptr;
}

}  // namespace yoke
