# One call makes the library of a folder of src/, one the test programs that mirror it.
# YOKE_UNITY compiles several sources of a target at once: a cold build takes half the time, a change compiles its
# neighbours too. Local names must then be unique in a folder; a test file has a namespace of its own.
option(YOKE_UNITY "Compile several sources at once (the presets that CI builds cold)" OFF)

function(yoke_unity target)
  if(YOKE_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 32)
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()

# For what training spends no time in: compiles in three quarters of the time. It rounds as -O3 does: it contracts to FMA,
# which -O1 alone does not.
function(yoke_optimize_less target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1> $<$<CONFIG:Sanitize>:-O0>
                                           $<$<AND:$<CONFIG:Release>,$<CXX_COMPILER_ID:GNU>>:-fexpensive-optimizations>)
endfunction()

# For what no number of a model passes through: compiles in half of the time, without FMA.
function(yoke_optimize_least target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-Og> $<$<CONFIG:Sanitize>:-O0>)
endfunction()

# yoke_folder(tensor ON base PUBLIC fmt::fmt PRIVATE PNG::PNG): the library yoke_tensor out of src/tensor, which may
# include the folders after ON (and theirs). A folder with no source yet only passes on what it stands on.
function(yoke_folder folder)
  cmake_parse_arguments(arg "" "" "ON;PUBLIC;PRIVATE" ${ARGN})
  list(TRANSFORM arg_ON PREPEND yoke_)
  set(library yoke_${folder})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${folder}/*.cc)
  list(FILTER sources EXCLUDE REGEX "/(cli/(main|processor)|comm/mpi[a-z_]*|data/parquet_arrow|measure/team_hooks|base/fiber_watch_[a-z]*)\\.cc$")
  list(FILTER sources EXCLUDE REGEX "${YOKE_OTHER_PROCESSORS}\\.cc$")
  yoke_cuda_sources(sources)
  if(sources)
    add_library(${library} STATIC ${sources})
    target_include_directories(${library} PUBLIC ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(${library} PUBLIC ${arg_ON} ${arg_PUBLIC} PRIVATE ${arg_PRIVATE})
    yoke_unity(${library})
    if(YOKE_UNITY)
      list(FILTER sources INCLUDE REGEX "(_avx2|_avx512|_amx_tiles)\\.cc$")  # each states its own target
      set_source_files_properties(${sources} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  else()
    add_library(${library} INTERFACE)
    target_include_directories(${library} INTERFACE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(${library} INTERFACE ${arg_ON} ${arg_PUBLIC} ${arg_PRIVATE})
  endif()
endfunction()

# yoke_test_program(base data 1): tests/base/**/*_data_test.cc becomes base_data_test with the label `data`; the label
# `unit` takes the files that carry no other label in their name. Helpers lie in tests/base/support. A program is one
# test, or `shards` tests that run side by side; how long each case took is written to build/<preset>/tests/times.
# Threads of a team that wait yield their core as soon as in the program (kernels/threads.cc): two tests run side by side.
set(YOKE_TEST_THREADS "GOMP_SPINCOUNT=2000")
function(yoke_test_program folder label shards)
  set(tests ${PROJECT_SOURCE_DIR}/tests/${folder})
  if(label STREQUAL unit)
    set(program ${folder}_test)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${tests}/*_test.cc)
    list(FILTER sources EXCLUDE REGEX "_(data|gpu|slow)_test\\.cc$")
  else()
    set(program ${folder}_${label}_test)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${tests}/*_${label}_test.cc)
  endif()
  if(NOT sources)
    return()
  endif()
  file(GLOB_RECURSE support CONFIGURE_DEPENDS ${tests}/support/*.cc)
  add_executable(${program} ${sources} ${support})
  target_include_directories(${program} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${program} PRIVATE yoke_${folder} GTest::gmock_main)
  yoke_unity(${program})
  # What is tested is optimized and instrumented; what tests it less.
  yoke_optimize_least(${program})
  target_compile_options(${program} PRIVATE $<$<CONFIG:Sanitize>:-fno-sanitize=undefined>
                                            $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)  # g++ 12: false alarms on std::variant
  math(EXPR last "${shards} - 1")
  foreach(shard RANGE ${last})
    set(name ${folder}.${label})
    if(shards GREATER 1)
      string(APPEND name ".${shard}")
    endif()
    add_test(NAME ${name} COMMAND ${program} --gtest_brief=1 WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(
      ${name} PROPERTIES LABELS ${label} ENVIRONMENT
      "${YOKE_TEST_THREADS};GTEST_TOTAL_SHARDS=${shards};GTEST_SHARD_INDEX=${shard};GTEST_OUTPUT=xml:${CMAKE_CURRENT_BINARY_DIR}/times/${name}.xml")
    if(label STREQUAL slow)
      set_tests_properties(${name} PROPERTIES RESOURCE_LOCK memory)  # they take GiB
    endif()
  endforeach()
endfunction()
