// Common oneDNN code of our kernels: types, and an operation whose calls only set pointers and do
// not allocate.
#pragma once

#include <dnnl.hpp>
#include <initializer_list>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace yoke::cpu {

using Description = dnnl::memory::desc;

inline dnnl::memory::data_type TypeOf(DType type) {
  return type == DType::kBf16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
}

/// The memory description of a row-major tensor, or of an image in either layout.
Description Describe(const Shape& shape, DType type, Layout layout = Layout::kPlain);
/// A description whose layout the library chooses.
Description DescribeAny(const Shape& shape, DType type);

/// The library uses scratch memory passed with each call. Optionally a ReLU follows; it keeps NaNs
/// and maps negative numbers to 0 or a negligible negative number.
dnnl::primitive_attr Attributes(bool relu = false);

/// One library operation with prepared arguments.
class Operation {
 public:
  struct Argument {
    int id;                   ///< DNNL_ARG_...
    Description description;  ///< Empty: not used. Only the last arguments may be empty.
  };
  Operation() = default;
  Operation(const dnnl::engine& engine, const dnnl::primitive& primitive,
            const Description& scratch, std::initializer_list<Argument> arguments);

  /// Runs it on `pointers`, in the order of the arguments (unused ones may be null), with
  /// scratch_bytes() of scratch memory.
  void Run(std::initializer_list<const void*> pointers, void* scratch);

  int64_t scratch_bytes() const { return scratch_bytes_; }
  explicit operator bool() const { return static_cast<bool>(primitive_); }

 private:
  dnnl::primitive primitive_;
  dnnl::stream stream_;
  std::vector<dnnl::memory> memories_;  // the last one is scratch
  std::vector<dnnl_exec_arg_t> arguments_;
  int64_t scratch_bytes_ = 0;
};

/// The operation for a primitive_desc and its primitive's type.
template <typename Primitive>
Operation MakeOperation(const dnnl::engine& engine,
                        const typename Primitive::primitive_desc& description,
                        std::initializer_list<Operation::Argument> arguments) {
  return Operation(engine, Primitive(description), description.scratchpad_desc(), arguments);
}

/// False if the library would use its slow reference loops for `description`.
template <typename PrimitiveDesc>
bool IsFast(const PrimitiveDesc& description) {
  return description && std::string(description.impl_info_str()).find("ref") == std::string::npos;
}

}  // namespace yoke::cpu
