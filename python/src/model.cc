// Model: predictions, metrics and weights of a trained model.
#include "api/model.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "base/check.h"
#include "base/json.h"
#include "module.h"
#include "values.h"

namespace nb = nanobind;
using namespace nb::literals;  // NOLINT(google-build-using-namespace)

namespace yoke::python {
namespace {

template <typename T>
using Room = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void Predict(Model& model, Examples& examples, const Room<float>& probabilities) {
  const std::span<float> room(probabilities.data(), probabilities.size());
  const nb::gil_scoped_release release;
  model.Predict(std::move(examples), room);
}

void Best(Model& model, Examples& examples, const Room<int32_t>& labels,
          const Room<float>& probabilities) {
  Check(labels.size() == probabilities.size(), "room for other labels");
  const auto top = static_cast<int>(labels.shape(1));
  const nb::gil_scoped_release release;
  int32_t* label = labels.data();
  float* probability = probabilities.data();
  for (const std::vector<Guess>& guesses : model.Best(std::move(examples), top))
    for (int k = 0; k < top; ++k) {
      const Guess guess = k < std::ssize(guesses) ? guesses[k] : Guess{.label = -1};
      *label++ = guess.label;
      *probability++ = guess.probability;
    }
}

nb::object Evaluate(Model& model, Examples& examples) {
  Metrics metrics;
  {
    const nb::gil_scoped_release release;
    metrics = model.Evaluate(std::move(examples));
  }
  return ToPython(TableOf(metrics));
}

/// Views of the weights by name. They keep the model.
nb::dict Weights(const nb::object& self) {
  const auto& model = nb::cast<const Model&>(self);
  const std::span<const float> values = model.file().params().values.Host();
  nb::dict weights;
  for (const Slice& slice : model.file().graph().layout().slices()) {
    std::vector<size_t> axes(slice.shape.axes().begin(), slice.shape.axes().end());
    weights[slice.name.c_str()] = nb::ndarray<nb::numpy, const float>(
        values.data() + slice.offset, axes.size(), axes.data(), self);
  }
  return weights;
}

}  // namespace

void AddModel(nb::module_& module) {
  nb::class_<Model>(module, "Model")
      .def(nb::init<const std::string&>(), "path"_a, nb::call_guard<nb::gil_scoped_release>())
      .def("predict", Predict, "examples"_a, "probabilities"_a.noconvert())
      .def("best", Best, "examples"_a, "labels"_a.noconvert(), "probabilities"_a.noconvert())
      .def("evaluate", Evaluate, "examples"_a)
      .def("export", &Model::Export, "path"_a, nb::call_guard<nb::gil_scoped_release>())
      .def("save", &Model::Save, "folder"_a, nb::call_guard<nb::gil_scoped_release>())
      .def("weights", [](const nb::object& self) { return Weights(self); })
      .def_prop_ro("outputs", &Model::outputs)
      .def_prop_ro("names", [](const Model& model) { return model.data().label_names; })
      .def_prop_ro("sparse", [](const Model& model) { return model.data().sparse; })
      .def_prop_ro("regression", [](const Model& model) { return model.data().regression; })
      .def_prop_ro("multi_label", [](const Model& model) { return model.data().multi_label; })
      .def_prop_ro("mean", [](const Model& model) { return model.data().normalization.mean; })
      .def_prop_ro("deviation",
                   [](const Model& model) { return model.data().normalization.deviation; })
      .def_prop_ro("target_mean", [](const Model& model) { return model.data().target_mean; })
      .def_prop_ro("target_deviation",
                   [](const Model& model) { return model.data().target_deviation; })
      .def_prop_ro("input",
                   [](const Model& model) {
                     const auto axes = model.data().input.axes();
                     return std::vector<int64_t>(axes.begin(), axes.end());
                   })
      .def_prop_ro("job", [](const Model& model) { return ToPython(model.file().job().resolved); });
}

}  // namespace yoke::python
