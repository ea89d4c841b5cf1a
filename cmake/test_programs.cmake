# SPDX-License-Identifier: BSL-1.0
# What is done for all test programs at once, so that no room has to remember it.

# Moves the test programs below a directory out of bin/, which is for the programs that are installed.
function(millpond_place_test_programs directory)
  millpond_targets_below("${directory}" targets)
  foreach(target IN LISTS targets)
    get_target_property(place ${target} RUNTIME_OUTPUT_DIRECTORY)
    if(place STREQUAL CMAKE_RUNTIME_OUTPUT_DIRECTORY)
      set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests/bin")
    endif()
  endforeach()
endfunction()

# thread_tests: a target that builds those test programs below a directory whose sources start threads, so that a TSan
# build need not compile the others. Which they are is read from the sources: a list by hand would be forgotten.
function(millpond_collect_thread_tests directory)
  add_custom_target(thread_tests)
  millpond_targets_below("${directory}" targets)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    if(NOT type STREQUAL "EXECUTABLE")
      continue()
    endif()
    get_target_property(sources ${target} SOURCES)
    get_target_property(folder ${target} SOURCE_DIR)
    foreach(source IN LISTS sources)
      cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${folder}")
      if(EXISTS "${source}")
        file(STRINGS "${source}" starts_threads REGEX "std::j?thread|std::async|pthread_create" LIMIT_COUNT 1)
        if(starts_threads)
          add_dependencies(thread_tests ${target})
          break()
        endif()
      endif()
    endforeach()
  endforeach()
endfunction()
