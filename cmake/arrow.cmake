# Finds Apache Arrow in the wheel of pyarrow, which `tools/setup python` installs; Debian has no package of it. Without it
# yoke reads no Parquet files.
# YOKE_ARROW: the wheel's folder, or empty; YOKE_ARROW_LIBRARIES: of it.
file(GLOB wheels ${YOKE_CACHE}/venv-*/lib/python3*/site-packages/pyarrow/include/parquet/arrow/reader.h)
set(YOKE_ARROW "")
if(wheels AND NOT CMAKE_CROSSCOMPILING)
  list(GET wheels 0 header)
  string(REPLACE "/include/parquet/arrow/reader.h" "" YOKE_ARROW ${header})
  file(GLOB YOKE_ARROW_LIBRARIES ${YOKE_ARROW}/libarrow.so.* ${YOKE_ARROW}/libarrow_compute.so.* ${YOKE_ARROW}/libparquet.so.*)
else()
  message(STATUS "No Parquet files: pyarrow is not in ${YOKE_CACHE} (tools/setup python)")
endif()
