# SPDX-License-Identifier: BSL-1.0
# millpond_warnings: the compiler warnings that all code of this project must be free of. Link it PRIVATE: it is not
# part of millpond::millpond, so users of the library do not get these options.
option(MILLPOND_WERROR "Treat the compiler's warnings in this project's own code as errors" OFF)

add_library(millpond_warnings INTERFACE)
# gcc 12 reports overlapping copies inside its own std::string at -O2 and above, so -Wrestrict gives only false alarms.
target_compile_options(millpond_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>)
# libstdc++'s stable_sort calls a function that libstdc++ marks as deprecated, and clang reports it in each user.
target_compile_options(millpond_warnings INTERFACE $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>)
if(MILLPOND_WERROR)
  # gcc's flow analysis gives false alarms in instrumented code, so warnings that depend on it stay warnings.
  target_compile_options(millpond_warnings INTERFACE -Werror
    $<$<CXX_COMPILER_ID:GNU>:-Wno-error=maybe-uninitialized -Wno-error=stringop-overflow -Wno-error=array-bounds>)
endif()
