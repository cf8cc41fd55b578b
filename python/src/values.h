// Tables, lists and plain values between Python and C++.
#pragma once

#include <nanobind/nanobind.h>

#include "base/value.h"

namespace yoke::python {

/// Dicts, lists, tuples, strings, paths, numbers and what NumPy has of them. Keys whose value is
/// None are left out. Throws UserError for others; `where` names the value in the sentence.
Value FromPython(nanobind::handle object, const std::string& where);

/// Dicts, lists and plain values; None for an empty one.
nanobind::object ToPython(const Value& value);

}  // namespace yoke::python
