# One call makes the library of a folder of src/, one the test programs that mirror it.
include(GoogleTest)

# yoke_folder(tensor ON base PUBLIC fmt::fmt PRIVATE PNG::PNG): the library yoke_tensor out of src/tensor, which may
# include the folders after ON (and theirs). A folder with no source yet only passes on what it stands on.
function(yoke_folder folder)
  cmake_parse_arguments(arg "" "" "ON;PUBLIC;PRIVATE" ${ARGN})
  list(TRANSFORM arg_ON PREPEND yoke_)
  set(library yoke_${folder})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${folder}/*.cc)
  list(FILTER sources EXCLUDE REGEX "/(cli/main|comm/mpi[a-z_]*)\\.cc$")
  if(sources)
    add_library(${library} STATIC ${sources})
    target_include_directories(${library} PUBLIC ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(${library} PUBLIC ${arg_ON} ${arg_PUBLIC} PRIVATE ${arg_PRIVATE})
  else()
    add_library(${library} INTERFACE)
    target_include_directories(${library} INTERFACE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(${library} INTERFACE ${arg_ON} ${arg_PUBLIC} ${arg_PRIVATE})
  endif()
endfunction()

# yoke_test_program(base data): tests/base/**/*_data_test.cc becomes base_data_test with the label `data`; the label
# `unit` takes the files that carry no other label in their name. Helpers lie in tests/base/support.
function(yoke_test_program folder label)
  set(tests ${PROJECT_SOURCE_DIR}/tests/${folder})
  if(label STREQUAL unit)
    set(program ${folder}_test)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${tests}/*_test.cc)
    list(FILTER sources EXCLUDE REGEX "_(data|slow)_test\\.cc$")
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
  gtest_discover_tests(
    ${program}
    DISCOVERY_MODE PRE_TEST
    TEST_PREFIX ${folder}.
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    PROPERTIES LABELS ${label})
endfunction()
