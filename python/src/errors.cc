// Errors: an exception class for each exit status of the program, with the same sentences.
#include <filesystem>

#include "base/check.h"
#include "module.h"

namespace nb = nanobind;

namespace yoke::python {
namespace {

PyObject* MakeError(nb::module_& module, const char* name, int exit_status, const char* doc,
                    const nb::tuple& bases) {
  nb::dict fields;
  fields["exit_status"] = exit_status;
  const std::string full = std::string("yoke.") + name;
  PyObject* made = PyErr_NewExceptionWithDoc(full.c_str(), doc, bases.ptr(), fields.ptr());
  if (!made) throw nb::python_error();
  module.attr(name) = nb::handle(made);
  return made;  // the module keeps it for the life of the process
}

struct ErrorTypes {
  PyObject* error;
  PyObject* user;
  PyObject* diverged;

  PyObject* For(int exit_status) const {
    return exit_status == 2 ? user : exit_status == 3 ? diverged : error;
  }
};

void Translate(const std::exception_ptr& failure, void* types) {
  const auto& known = *static_cast<const ErrorTypes*>(types);
  try {
    std::rethrow_exception(failure);
  } catch (const Error& problem) {
    PyErr_SetString(known.For(problem.exit_status()), problem.what());
  } catch (const std::filesystem::filesystem_error& problem) {
    const std::string text = problem.path1().string() + ": " + problem.code().message();
    PyErr_SetString(known.For(problem.code() == std::errc::permission_denied ? 2 : 1),
                    text.c_str());
  }
}

}  // namespace

void AddErrors(nb::module_& module) {
  static ErrorTypes types;
  const nb::handle runtime(PyExc_RuntimeError), value(PyExc_ValueError);
  types.error =
      MakeError(module, "Error", 1, "A failure of yoke. `exit_status` is that of the program.",
                nb::make_tuple(runtime));
  types.user = MakeError(module, "UserError", 2, "The caller's mistake: job, arguments or data.",
                         nb::make_tuple(nb::handle(types.error), value));
  types.diverged = MakeError(module, "Diverged", 3, "Training diverged.",
                             nb::make_tuple(nb::handle(types.error)));
  nb::register_exception_translator(Translate, &types);
}

}  // namespace yoke::python
