# SPDX-License-Identifier: BSL-1.0
# Libraries that are preloaded into programs which know nothing of us. They depend on the C library alone (a C program
# has no libstdc++, and a C++ program may bring another), throw nothing, are never instrumented, and are optimised in
# every build, because a recorder compiled with -O0 would be a different recorder.
#
#   millpond_preload_library(record_library OUTPUT millpond-record record.cpp)   →  lib/millpond/libmillpond-record.so
#
# Without OUTPUT the file is named after the target.
#
# Programs lie in bin/, preloaded libraries in lib/millpond/, in the build tree as after the install: a program finds
# its library at ../lib/millpond from its own place.

# What a preloaded library's code is compiled with; also for an object or static library that goes into several.
function(millpond_preload_options target)
  # Compiled source by source in every build: what is measured is the same code.
  set_target_properties(${target} PROPERTIES MILLPOND_PLAIN ON POSITION_INDEPENDENT_CODE ON UNITY_BUILD OFF
    C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_compile_options(${target} PRIVATE -O2 -g -fno-omit-frame-pointer -fno-stack-protector -fno-plt
    -ftls-model=initial-exec -fasynchronous-unwind-tables
    $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions$<SEMICOLON>-fno-rtti$<SEMICOLON>-fno-threadsafe-statics>)
  # Fortified libc calls may abort inside the host program; Debian's packaging flags would bring them in.
  target_compile_options(${target} PRIVATE -U_FORTIFY_SOURCE)
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
  # -nodefaultlibs and not -nostdlib++, which gcc has only from version 13 on. What is then missing fails here, at the
  # link, and not in somebody's program at its start.
  target_link_options(${name} PRIVATE -nodefaultlibs -Wl,--no-undefined -Wl,-z,now -Wl,--hash-style=gnu)
  target_link_libraries(${name} PRIVATE c gcc)
  install(TARGETS ${name} LIBRARY DESTINATION "${MILLPOND_INSTALL_PRELOAD}" COMPONENT lab)
endfunction()
