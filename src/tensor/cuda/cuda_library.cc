// CudaLibrary: by dlopen.
#include "tensor/cuda/cuda_library.h"

#include <dlfcn.h>

#include "base/check.h"

namespace yoke::cuda {

void* CudaLibrary::Load(std::initializer_list<std::string> names) {
  for (const std::string& name : names)
    if (void* const library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  return nullptr;
}

CudaLibrary::CudaLibrary(std::initializer_list<std::string> names)
    : name_(*names.begin()), library_(Load(names)) {
  if (!library_)
    throw UserError(fmt::format("devices cuda:N need {}, which is not installed here", name_));
}

bool CudaLibrary::IsHere(std::initializer_list<std::string> names) {
  return Load(names) != nullptr;
}

void* CudaLibrary::Symbol(const char* name) const {
  void* const symbol = dlsym(library_, name);
  if (!symbol) throw UserError(fmt::format("{} here is too old: it has no {}", name_, name));
  return symbol;
}

}  // namespace yoke::cuda
