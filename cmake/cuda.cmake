# YOKE_CUDA: whether devices cuda:N are built in. AUTO builds them where nvcc is, but not under sanitizers or clang. The
# program starts without a driver or GPU all the same: the runtime is linked statically and finds the driver at run time,
# as tensor/cuda does cuBLASLt, cuDNN and NCCL.
#
# Sources: src/kernels/**/*.cu (nvcc), src/kernels/**/cuda*.cc, src/tensor/cuda/toolkit/*.cc and src/comm/nccl.cc (toolkit's headers) are
# compiled only with it, src/**/cuda_none.cc only without it.
set(YOKE_CUDA AUTO CACHE STRING "Build devices cuda:N: AUTO (where nvcc is), ON or OFF")
set(YOKE_CUDA_ARCHITECTURES 90 CACHE STRING "GPU architectures; 80-real;90 is what `make gpu-bundle` carries")

find_program(YOKE_NVCC nvcc HINTS ENV CUDA_PATH /usr/local/cuda PATH_SUFFIXES bin)
set(YOKE_HAS_CUDA OFF)
if(YOKE_CUDA STREQUAL AUTO)
  if(YOKE_NVCC AND CMAKE_CXX_COMPILER_ID STREQUAL GNU AND NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize")
    find_package(CUDAToolkit 12.0 QUIET)
    find_file(YOKE_CUDNN_HEADER cudnn.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
    find_file(YOKE_CUBLASLT_HEADER cublasLt.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
    find_file(YOKE_NCCL_HEADER nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
    if(CUDAToolkit_FOUND AND YOKE_CUDNN_HEADER AND YOKE_CUBLASLT_HEADER AND YOKE_NCCL_HEADER)
      set(YOKE_HAS_CUDA ON)
    else()
      message(STATUS "CUDA: left out; nvcc is here, and CUDA 12 or later with the headers of cuBLASLt, cuDNN and NCCL is not")
    endif()
  endif()
elseif(YOKE_CUDA)
  find_package(CUDAToolkit 12.0 REQUIRED)
  foreach(header cudnn.h cublasLt.h nccl.h)
    find_file(YOKE_FOUND_${header} ${header} HINTS ${CUDAToolkit_INCLUDE_DIRS} REQUIRED)
  endforeach()
  set(YOKE_HAS_CUDA ON)
endif()

if(YOKE_HAS_CUDA)
  set(CMAKE_CUDA_COMPILER ${YOKE_NVCC} CACHE FILEPATH "nvcc")
  set(CMAKE_CUDA_HOST_COMPILER ${CMAKE_CXX_COMPILER} CACHE FILEPATH "The host's compiler under nvcc")
  set(CMAKE_CUDA_ARCHITECTURES ${YOKE_CUDA_ARCHITECTURES})
  enable_language(CUDA)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)  # which CMake 3.25 does not know
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA_FLAGS_RELEASE "-O3 -DNDEBUG")
  find_package(CUDAToolkit REQUIRED)
  if(CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
  endif()
  message(STATUS "CUDA: ${CUDAToolkit_VERSION}, architectures ${YOKE_CUDA_ARCHITECTURES}")
endif()

# Keeps of a folder's sources those that this build compiles.
function(yoke_cuda_sources list)
  set(sources ${${list}})
  set(with ${sources})
  list(FILTER with INCLUDE REGEX "/cuda/toolkit/|/kernels/.*/cuda[a-z0-9_]*\\.cc$|/comm/nccl\\.cc$")
  set(without ${sources})
  list(FILTER without INCLUDE REGEX "/cuda_none\\.cc$")
  if(with AND without)
    list(REMOVE_ITEM with ${without})
  endif()
  if(YOKE_HAS_CUDA)
    list(REMOVE_ITEM sources "" ${without})
    string(REGEX MATCHALL "[0-9]+" capabilities "${YOKE_CUDA_ARCHITECTURES}")
    list(SORT capabilities COMPARE NATURAL)
    set(least 0)  # "native", "all": not known here
    if(capabilities)
      list(GET capabilities 0 least)
    endif()
    set(system ${CUDAToolkit_INCLUDE_DIRS})
    list(TRANSFORM system PREPEND "-isystem")
    set_source_files_properties(
      ${with} PROPERTIES COMPILE_OPTIONS "${system}" COMPILE_DEFINITIONS YOKE_CUDA_LEAST=${least} SKIP_UNITY_BUILD_INCLUSION ON)
  else()
    list(REMOVE_ITEM sources "" ${with})
    if(without)
      set_source_files_properties(${without} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)  # it specializes what others use
    endif()
  endif()
  set(${list} ${sources} PARENT_SCOPE)
endfunction()

# The .cu files below src/kernels, as a part of yoke_kernels.
function(yoke_cuda_kernels)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/kernels/*.cu)
  if(YOKE_HAS_CUDA AND sources)
    string(REPLACE " " "," processor "${YOKE_PROCESSOR_OPTION}")
    # fmt 9 holds nvcc for too old for constexpr.
    add_library(yoke_kernels_cuda OBJECT ${sources})
    target_link_libraries(yoke_kernels_cuda PRIVATE yoke_tensor)
    target_compile_options(
      yoke_kernels_cuda PRIVATE -DFMT_USE_CONSTEXPR=1 --expt-relaxed-constexpr --extended-lambda
                                "-Xcompiler=${processor},-fopenmp,-fno-math-errno,-fno-trapping-math,-Wall,-Wextra,-Wno-missing-field-initializers")
    target_sources(yoke_kernels PRIVATE $<TARGET_OBJECTS:yoke_kernels_cuda>)
  endif()
endfunction()
