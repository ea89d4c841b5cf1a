# SPDX-License-Identifier: BSL-1.0
# Instrumented builds. Every target is instrumented but those that carry the property MILLPOND_PRELOADED: a preloaded
# library runs inside programs that know nothing of a sanitizer's run time or of a coverage profile.
set(MILLPOND_SANITIZE "" CACHE STRING "Sanitizers for everything but preloaded libraries: address,undefined or thread")
option(MILLPOND_COVERAGE "Instrument for llvm-cov (clang only)" OFF)

set(millpond_plain "$<BOOL:$<TARGET_PROPERTY:MILLPOND_PRELOADED>>")
if(MILLPOND_SANITIZE)
  add_compile_options("$<$<NOT:${millpond_plain}>:-fsanitize=${MILLPOND_SANITIZE};-fno-sanitize-recover=all;-fno-omit-frame-pointer>")
  add_link_options("$<$<NOT:${millpond_plain}>:-fsanitize=${MILLPOND_SANITIZE}>")
endif()
if(MILLPOND_COVERAGE)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "MILLPOND_COVERAGE needs clang (this is ${CMAKE_CXX_COMPILER_ID}): use `cmake --preset coverage`")
  endif()
  add_compile_options("$<$<NOT:${millpond_plain}>:-fprofile-instr-generate;-fcoverage-mapping>")
  add_link_options("$<$<NOT:${millpond_plain}>:-fprofile-instr-generate>")
endif()
