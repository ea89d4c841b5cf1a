# SPDX-License-Identifier: BSL-1.0
# Libraries that are preloaded into unmodified programs. They depend only on the C library: a C program has no
# libstdc++, and a C++ program may bring another. They throw nothing and are never instrumented. They are optimised in
# every build, because a recorder compiled with -O0 would be a different recorder.
#
#   millpond_preload_library(record_library OUTPUT millpond-record record.cpp)   →  lib/millpond/libmillpond-record.so
#
# Without OUTPUT the file is named after the target.
#
# Programs lie in bin/ and preloaded libraries in lib/millpond/, both in the build tree and after the install. A program
# finds its library at ../lib/millpond, relative to its own folder.

# Ends the configuration if the C library is not glibc, whose dynamic linker and malloc the laboratory knows.
function(millpond_require_glibc)
  set(CMAKE_REQUIRED_QUIET ON)
  include(CheckCXXSymbolExists)
  check_cxx_symbol_exists(__GLIBC__ "features.h" MILLPOND_HAS_GLIBC)
  if(NOT MILLPOND_HAS_GLIBC)
    message(FATAL_ERROR "The laboratory needs glibc; the library does not: configure with -DMILLPOND_BUILD_LAB=OFF")
  endif()
endfunction()

# Sets the compile options of a preloaded library, or of an object or static library that goes into several of them.
function(millpond_preload_options target)
  # Sources are compiled one by one in every build, so that the code is the same wherever it is measured.
  set_target_properties(${target} PROPERTIES MILLPOND_PLAIN ON POSITION_INDEPENDENT_CODE ON UNITY_BUILD OFF
    C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_compile_options(${target} PRIVATE -O2 -g -fno-omit-frame-pointer -fno-stack-protector -fno-plt
    -ftls-model=initial-exec -fasynchronous-unwind-tables
    $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions$<SEMICOLON>-fno-rtti$<SEMICOLON>-fno-threadsafe-statics>)
  # Fortified libc calls may abort inside the host program; Debian's packaging flags would bring them in.
  target_compile_options(${target} PRIVATE -U_FORTIFY_SOURCE)
  # gcc's atomic operations for aarch64 are calls into libgcc, which choose by processor. A leaf must not call.
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -mno-outline-atomics)
  endif()
  target_link_libraries(${target} PRIVATE millpond::millpond millpond_warnings)
endfunction()

function(millpond_preload_library name)
  cmake_parse_arguments(PARSE_ARGV 1 library "" "OUTPUT" "")
  if(NOT library_OUTPUT)
    set(library_OUTPUT ${name})
  endif()
  add_library(${name} SHARED ${library_UNPARSED_ARGUMENTS})
  millpond_preload_options(${name})
  set_target_properties(${name} PROPERTIES
    PREFIX lib OUTPUT_NAME ${library_OUTPUT} LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib/millpond")
  # -nodefaultlibs, because gcc has -nostdlib++ only since version 13. A missing symbol is an error here, at the link,
  # and not when a user's program starts.
  target_link_options(${name} PRIVATE -nodefaultlibs -Wl,--no-undefined -Wl,-z,now -Wl,--hash-style=gnu)
  target_link_libraries(${name} PRIVATE c gcc)
  install(TARGETS ${name} LIBRARY DESTINATION "${MILLPOND_INSTALL_PRELOAD}" COMPONENT lab)
endfunction()
