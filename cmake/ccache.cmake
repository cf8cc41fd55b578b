# Compiles through ccache where it is installed, so that clones in different places share what they built.
find_program(YOKE_CCACHE ccache)
mark_as_advanced(YOKE_CCACHE)
if(YOKE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_MAXSIZE=5G ${YOKE_CCACHE})
endif()
