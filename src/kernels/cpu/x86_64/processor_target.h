// YOKE_AVX512: compiles a function for AVX-512. CMake chooses this folder on x86-64.
#pragma once

#define YOKE_AVX512 [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")]]
