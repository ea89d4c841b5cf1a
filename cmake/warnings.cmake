# SPDX-License-Identifier: BSL-1.0
# millpond_warnings: the warnings that every room of this project compiles clean under. Link it PRIVATE.
# Nothing of it reaches a consumer of the library: it is not part of millpond::millpond.
option(MILLPOND_WERROR "Treat the compiler's warnings in this project's own code as errors" OFF)

add_library(millpond_warnings INTERFACE)
# gcc 12 sees overlapping copies inside its own std::string at -O2 and above: -Wrestrict would only hide what matters.
target_compile_options(millpond_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>)
# libstdc++'s own stable_sort calls what it calls deprecated, and clang says so where a source uses it.
target_compile_options(millpond_warnings INTERFACE $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>)
if(MILLPOND_WERROR)
  # gcc's flow analysis guesses wrong in instrumented code, so what rests on it stays a warning.
  target_compile_options(millpond_warnings INTERFACE -Werror
    $<$<CXX_COMPILER_ID:GNU>:-Wno-error=maybe-uninitialized -Wno-error=stringop-overflow -Wno-error=array-bounds>)
endif()
