// CudaLibrary: a library of the toolkit, loaded when the first kernel needs it.
#pragma once

#include <initializer_list>
#include <string>

namespace yoke::cuda {

class CudaLibrary {
 public:
  /// By the first of these file names that the loader finds. Throws Error where there is none.
  CudaLibrary(std::initializer_list<std::string> names);
  /// Whether there is one; it stays loaded.
  static bool IsHere(std::initializer_list<std::string> names);
  /// Throws Error where the library has no such function.
  template <typename Function>
  Function* Of(const char* name) const {
    return reinterpret_cast<Function*>(Symbol(name));
  }

 private:
  static void* Load(std::initializer_list<std::string> names);
  void* Symbol(const char* name) const;

  std::string name_;
  void* library_ = nullptr;  // stays loaded
};

}  // namespace yoke::cuda
