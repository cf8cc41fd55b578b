// YOKE_AVX512: nothing, for functions that are never called. CMake chooses this folder on arm64.
#pragma once

#define YOKE_AVX512
