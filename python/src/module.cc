// The module `yoke._yoke`, below the package `yoke`, which is what programs import.
#include "module.h"

#include <nanobind/stl/string.h>

#include "base/version.h"

NB_MODULE(_yoke, module) {
  module.attr("version") = std::string(yoke::Version());
  yoke::python::AddErrors(module);
  yoke::python::AddExamples(module);
  yoke::python::AddModel(module);
  yoke::python::AddRuns(module);
  yoke::python::AddStrategies(module);
}
