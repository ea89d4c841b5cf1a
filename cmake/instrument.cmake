# SPDX-License-Identifier: BSL-1.0
# Instrumented builds: sanitizers and coverage. Every target is instrumented, except those with the property
# MILLPOND_PLAIN. These are preloaded libraries, which run inside programs without a sanitizer's run time or a coverage
# profile, and the programs that the tests record, because a sanitizer would replace the malloc that is recorded.
set(MILLPOND_SANITIZE "" CACHE STRING "Sanitizers for everything that is not plain: address,undefined or thread")
option(MILLPOND_COVERAGE "Instrument for llvm-cov (clang only)" OFF)

set(millpond_instrumented "$<NOT:$<BOOL:$<TARGET_PROPERTY:MILLPOND_PLAIN>>>")
if(MILLPOND_SANITIZE)
  add_compile_options(
    "$<${millpond_instrumented}:-fsanitize=${MILLPOND_SANITIZE};-fno-sanitize-recover=all;-fno-omit-frame-pointer>")
  add_link_options("$<${millpond_instrumented}:-fsanitize=${MILLPOND_SANITIZE}>")
endif()
if(MILLPOND_COVERAGE)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "MILLPOND_COVERAGE needs clang (this is ${CMAKE_CXX_COMPILER_ID}): use `cmake --preset coverage`")
  endif()
  # The counters lie in a mapped file, so that they survive an abort, and are atomic, because threads share them.
  add_compile_options("$<${millpond_instrumented}:-fprofile-instr-generate;-fcoverage-mapping>"
    "$<${millpond_instrumented}:SHELL:-mllvm -runtime-counter-relocation>"
    "$<${millpond_instrumented}:-fprofile-update=atomic>")
  add_link_options("$<${millpond_instrumented}:-fprofile-instr-generate>")
endif()

# Collects the targets of a directory and of those below it.
function(millpond_targets_below directory result)
  get_property(found DIRECTORY "${directory}" PROPERTY BUILDSYSTEM_TARGETS)
  get_property(below DIRECTORY "${directory}" PROPERTY SUBDIRECTORIES)
  foreach(child IN LISTS below)
    millpond_targets_below("${child}" more)
    list(APPEND found ${more})
  endforeach()
  set(${result} "${found}" PARENT_SCOPE)
endfunction()

# millpond_optimise_little(TARGET SOURCE...): adds sources that are compiled with -O1 in release builds. Use it for code
# that runs once in a process, such as command lines and writers of results: optimising it takes longer than it saves.
# Do not use it for code that runs for each event of a trace, or while something is measured.
function(millpond_optimise_little target)
  list(LENGTH ARGN count)
  if(count EQUAL 1)  # one source has no others to be joined with
    target_sources(${target} PRIVATE ${ARGN})
    set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS "$<$<CONFIG:Release>:-O1>")
    return()
  endif()
  # A unity build cannot join sources that have their own options, so these sources get a target with its own options.
  set(little ${target}_little)
  add_library(${little} OBJECT ${ARGN})
  foreach(property COMPILE_DEFINITIONS COMPILE_FEATURES COMPILE_OPTIONS INCLUDE_DIRECTORIES)
    set_property(TARGET ${little} PROPERTY ${property} "$<TARGET_PROPERTY:${target},${property}>")
  endforeach()
  target_compile_options(${little} PRIVATE $<$<CONFIG:Release>:-O1>)
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:${little}>)
endfunction()

# Marks as plain the targets whose sources lie below the given folders of the project. Ignores folders that are not part
# of this build.
function(millpond_plain_below)
  millpond_targets_below("${PROJECT_SOURCE_DIR}" targets)
  foreach(target IN LISTS targets)
    get_target_property(place ${target} SOURCE_DIR)
    foreach(folder IN LISTS ARGN)
      set(root "${PROJECT_SOURCE_DIR}/${folder}")
      cmake_path(IS_PREFIX root "${place}" inside)
      if(inside)
        set_target_properties(${target} PROPERTIES MILLPOND_PLAIN ON)
      endif()
    endforeach()
  endforeach()
endfunction()

# Prepares a static library that both plain and instrumented programs link. For sanitizers it is plain: they see its
# system calls without instrumentation. For coverage it is instrumented, so plain programs link the counters' run time.
function(millpond_make_linkable_everywhere library)
  if(MILLPOND_COVERAGE)
    set(is_executable "$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>")
    target_link_options(${library} INTERFACE "$<${is_executable}:-fprofile-instr-generate>")
  else()
    set_target_properties(${library} PROPERTIES MILLPOND_PLAIN ON)
  endif()
endfunction()
