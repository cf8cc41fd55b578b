# Finds the foreign libraries. `tools/setup build` installs them all.

# oneDNN lies in our cache on systems whose own package is older than 3 (Debian 12).
if(DEFINED ENV{YOKE_CACHE})
  set(YOKE_CACHE $ENV{YOKE_CACHE})
elseif(DEFINED ENV{XDG_CACHE_HOME})
  set(YOKE_CACHE $ENV{XDG_CACHE_HOME}/yoke)
else()
  set(YOKE_CACHE $ENV{HOME}/.cache/yoke)
endif()
find_package(dnnl 3 CONFIG QUIET HINTS ${YOKE_CACHE}/onednn)
if(NOT dnnl_FOUND)
  message(FATAL_ERROR "oneDNN 3 is neither in ${YOKE_CACHE}/onednn nor on the system: "
                      "run `tools/setup build`.")
endif()

find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(LibArchive REQUIRED)
find_package(JPEG REQUIRED)
find_package(PNG REQUIRED)
find_package(ZLIB REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(HWLOC REQUIRED IMPORTED_TARGET hwloc)
find_package(Protobuf REQUIRED)
find_package(ONNX CONFIG REQUIRED)  # its messages alone: ONNX::onnx_proto
if(NOT TARGET ONNX::onnx_proto)  # older versions name it without the namespace (Debian 12, Ubuntu 24.04)
  add_library(ONNX::onnx_proto ALIAS onnx_proto)
endif()

find_package(GTest QUIET)  # tests only
find_program(YOKE_PYTHON python3 HINTS /usr/bin REQUIRED)  # house tests
