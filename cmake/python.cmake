# Finds the Python for which the module is built: pip's own, or that of the virtual environment that `tools/setup python`
# makes. Without nanobind there all else is built.
if(NOT Python_EXECUTABLE AND EXISTS ${YOKE_CACHE}/venv-python/bin/python)
  set(Python_EXECUTABLE ${YOKE_CACHE}/venv-python/bin/python)
endif()
set(YOKE_HAS_NANOBIND FALSE)
if(Python_EXECUTABLE AND NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize")
  find_package(Python 3.11 QUIET COMPONENTS Interpreter Development.Module)
  execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir OUTPUT_VARIABLE nanobind_DIR
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(Python_FOUND AND NOT TARGET Python::SABIModule)  # by which nanobind asks for the stable ABI; CMake 3.25 has none
    add_library(Python::SABIModule INTERFACE IMPORTED)
    target_link_libraries(Python::SABIModule INTERFACE Python::Module)
  endif()
  if(Python_FOUND AND nanobind_DIR)
    find_package(nanobind CONFIG QUIET)
    set(YOKE_HAS_NANOBIND ${nanobind_FOUND})
  endif()
endif()
if(NOT YOKE_HAS_NANOBIND)
  message(STATUS "Python: no module is built: `tools/setup python` installs what it needs")
endif()
