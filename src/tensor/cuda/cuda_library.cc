// CudaLibrary: by dlopen.
#include "tensor/cuda/cuda_library.h"

#include <dlfcn.h>

#include "base/check.h"

namespace yoke::cuda {

CudaLibrary::CudaLibrary(std::initializer_list<std::string> names) : name_(*names.begin()) {
  for (const std::string& name : names)
    if ((library_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL))) return;
  throw UserError(fmt::format("devices cuda:N need {}, which is not installed here", name_));
}

void* CudaLibrary::Symbol(const char* name) const {
  void* const symbol = dlsym(library_, name);
  if (!symbol) throw UserError(fmt::format("{} here is too old: it has no {}", name_, name));
  return symbol;
}

}  // namespace yoke::cuda
