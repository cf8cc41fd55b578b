// The parts of the module `yoke._yoke`: a function a Python type.
#pragma once

#include <nanobind/nanobind.h>

namespace yoke::python {

void AddErrors(nanobind::module_& module);
void AddExamples(nanobind::module_& module);
void AddModel(nanobind::module_& module);
void AddRuns(nanobind::module_& module);
void AddStrategies(nanobind::module_& module);

}  // namespace yoke::python
