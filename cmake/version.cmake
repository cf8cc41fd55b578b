# Writes version.cc (run at every build, rewrites the file only when the commit changed).
# cmake -DSOURCE=<tree> -DVERSION=<x.y.z> -DOUTPUT=<file> -P version.cmake
execute_process(
  COMMAND git --no-optional-locks -C ${SOURCE} describe --always --dirty --abbrev=12 --exclude=*
  OUTPUT_VARIABLE COMMIT
  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT COMMIT)
  set(COMMIT unknown)
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/version.cc.in ${OUTPUT} @ONLY)
