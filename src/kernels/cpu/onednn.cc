// What our kernels share of oneDNN.
#include "kernels/cpu/onednn.h"

#include "base/check.h"

namespace yoke::cpu {
namespace {

dnnl::memory::dims Dims(const Shape& shape) { return {shape.axes().begin(), shape.axes().end()}; }

/// With a slope of 0 the library turns a NaN into 0, and divergence would pass unnoticed. This
/// slope keeps a NaN, and what it makes of a negative number vanishes in any sum.
constexpr float kOffSlope = 1e-30F;

dnnl::memory::dims RowMajor(const Shape& shape) {
  dnnl::memory::dims strides(shape.rank(), 1);
  for (int i = shape.rank() - 2; i >= 0; --i) strides[i] = strides[i + 1] * shape[i + 1];
  return strides;
}

}  // namespace

Description Describe(const Shape& shape, DType type, Layout layout) {
  if (layout == Layout::kChannelsLast)
    return {Dims(shape), TypeOf(type), dnnl::memory::format_tag::nhwc};
  return {Dims(shape), TypeOf(type), RowMajor(shape)};
}

Description DescribeAny(const Shape& shape, DType type) {
  return {Dims(shape), TypeOf(type), dnnl::memory::format_tag::any};
}

dnnl::primitive_attr Attributes(bool relu) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (relu) {
    dnnl::post_ops after;
    after.append_eltwise(dnnl::algorithm::eltwise_relu, kOffSlope, 0);
    attributes.set_post_ops(after);
  }
  return attributes;
}

Operation::Operation(const dnnl::engine& engine, const dnnl::primitive& primitive,
                     const Description& scratch, std::initializer_list<Argument> arguments)
    : primitive_(primitive),
      stream_(engine),
      scratch_bytes_(static_cast<int64_t>(scratch.get_size())) {
  for (const Argument& a : arguments) {
    if (a.description.is_zero()) continue;
    memories_.emplace_back(a.description, engine, nullptr);
    arguments_.push_back({a.id, memories_.back().get()});
  }
  memories_.emplace_back(scratch, engine, nullptr);
  arguments_.push_back({DNNL_ARG_SCRATCHPAD, memories_.back().get()});
}

void Operation::Run(std::initializer_list<const void*> pointers, void* scratch) {
  size_t i = 0;
  for (const void* pointer : pointers)
    if (i + 1 < memories_.size()) memories_[i++].set_data_handle(const_cast<void*>(pointer));
  memories_[i].set_data_handle(scratch);
  const auto count = static_cast<int>(arguments_.size());
  const dnnl_status_t status =
      dnnl_primitive_execute(primitive_.get(), stream_.get(), count, arguments_.data());
  Check(status == dnnl_success, "oneDNN could not run an operation");
}

}  // namespace yoke::cpu
