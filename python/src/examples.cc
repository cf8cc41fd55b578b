// Examples: arrays of Python, used where they are.
#include "api/examples.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "base/check.h"
#include "module.h"

namespace nb = nanobind;
using namespace nb::literals;  // NOLINT(google-build-using-namespace)

namespace yoke::python {
namespace {

template <typename T, typename... Form>
using ArrayOf = nb::ndarray<const T, nb::c_contig, nb::device::cpu, Form...>;
template <typename T>
using VectorOf = ArrayOf<T, nb::ndim<1>>;

/// An array of Python lives until its last user has gone, on whatever thread.
struct KeptArrays {
  ~KeptArrays() {
    const nb::gil_scoped_acquire acquire;
    arrays.clear();
  }
  std::vector<nb::ndarray<>> arrays;
};

template <typename... Arrays>
ArrayOwner Keep(const Arrays&... arrays) {
  auto kept = std::make_shared<KeptArrays>();
  (kept->arrays.push_back(nb::ndarray<>(arrays)), ...);
  return kept;
}

template <typename T, typename... Form>
std::span<const T> SpanOf(const ArrayOf<T, Form...>& array) {
  return {array.data(), array.size()};
}

/// The axes of one example.
template <typename Array>
Shape ShapeOf(const Array& array) {
  Require(array.ndim() >= 2 && array.ndim() <= Shape::kMaxRank,
          "expected an array of 2 to {} axes, got {}", static_cast<int>(Shape::kMaxRank),
          array.ndim());
  std::vector<int64_t> axes;
  for (size_t axis = 1; axis < array.ndim(); ++axis)
    axes.push_back(static_cast<int64_t>(array.shape(axis)));
  return Shape(axes);
}

template <typename T>
void MakeDense(Examples* place, const ArrayOf<T>& array) {
  new (place) Examples(SpanOf(array), ShapeOf(array), Keep(array));
}

/// `values` may be empty, for labels.
CsrRows RowsOf(const VectorOf<int64_t>& offsets, const VectorOf<int32_t>& ids,
               const VectorOf<float>& values, int64_t width) {
  return {.offsets = SpanOf(offsets),
          .ids = SpanOf(ids),
          .values = SpanOf(values),
          .width = width,
          .owner = Keep(offsets, ids, values)};
}

}  // namespace

void AddExamples(nb::module_& module) {
  nb::class_<Examples>(module, "Examples", "One set of examples; what takes it empties it.")
      .def("__init__", MakeDense<float>, "numbers"_a.noconvert())
      .def("__init__", MakeDense<uint8_t>, "bytes"_a.noconvert())
      .def(nb::init<int64_t>(), "memory_limit"_a)
      .def("append", &Examples::Append, "more"_a, nb::call_guard<nb::gil_scoped_release>())
      .def(
          "__init__",
          [](Examples* place, const VectorOf<int64_t>& offsets, const VectorOf<int32_t>& ids,
             const VectorOf<float>& values,
             int64_t width) { new (place) Examples(RowsOf(offsets, ids, values, width)); },
          "offsets"_a.noconvert(), "ids"_a.noconvert(), "values"_a.noconvert(), "width"_a)
      .def(
          "set_classes",
          [](Examples& examples, const VectorOf<int32_t>& classes, std::vector<std::string> names) {
            examples.SetClasses(SpanOf(classes), std::move(names), Keep(classes));
          },
          "classes"_a.noconvert(), "names"_a)
      .def(
          "set_labels",
          [](Examples& examples, const VectorOf<int64_t>& offsets, const VectorOf<int32_t>& ids,
             int64_t width) {
            examples.SetLabels({.offsets = SpanOf(offsets),
                                .ids = SpanOf(ids),
                                .width = width,
                                .owner = Keep(offsets, ids)});
          },
          "offsets"_a.noconvert(), "ids"_a.noconvert(), "width"_a)
      .def(
          "set_targets",
          [](Examples& examples, const ArrayOf<double, nb::ndim<2>>& targets) {
            examples.SetTargets(SpanOf(targets), static_cast<int64_t>(targets.shape(1)),
                                Keep(targets));
          },
          "targets"_a.noconvert())
      .def("set_target_unit", &Examples::SetTargetUnit, "mean"_a, "deviation"_a)
      .def(
          "set_weights",
          [](Examples& examples, const VectorOf<float>& weights) {
            examples.SetWeights(SpanOf(weights), Keep(weights));
          },
          "weights"_a.noconvert())
      .def("__len__", [](const Examples& examples) { return examples.size(); });
}

}  // namespace yoke::python
