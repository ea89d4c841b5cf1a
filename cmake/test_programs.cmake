# SPDX-License-Identifier: BSL-1.0
# Functions that treat all test programs at once, so that no folder has to repeat it.

# Moves the test programs below a directory out of bin/, which holds the programs that are installed.
function(millpond_place_test_programs directory)
  millpond_targets_below("${directory}" targets)
  foreach(target IN LISTS targets)
    get_target_property(place ${target} RUNTIME_OUTPUT_DIRECTORY)
    if(place STREQUAL CMAKE_RUNTIME_OUTPUT_DIRECTORY)
      set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests/bin")
    endif()
  endforeach()
endfunction()

# In instrumented builds, links the test programs below a directory with an instrumented copy of a plain library: a
# sanitizer that sees only the inline half of a lock reports false races and misses real ones. Sources in PLAIN are
# compiled without AddressSanitizer: they walk the stack and read words between variables, which it would report.
function(millpond_instrument_for_tests directory library)
  cmake_parse_arguments(PARSE_ARGV 2 instrument "" "" "PLAIN")
  if(NOT TARGET ${library} OR NOT (MILLPOND_SANITIZE OR MILLPOND_COVERAGE))
    return()
  endif()
  get_target_property(sources ${library} SOURCES)
  get_target_property(folder ${library} SOURCE_DIR)
  list(TRANSFORM sources PREPEND "${folder}/" REGEX "^[^/]")
  add_library(${library}_instrumented STATIC EXCLUDE_FROM_ALL ${sources})
  target_include_directories(${library}_instrumented PUBLIC "${PROJECT_SOURCE_DIR}")
  target_compile_options(${library}_instrumented PRIVATE -O1 $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions>)
  target_link_libraries(${library}_instrumented PRIVATE millpond::millpond millpond_warnings)
  if(MILLPOND_SANITIZE)
    list(TRANSFORM instrument_PLAIN PREPEND "${folder}/")
    set_source_files_properties(${instrument_PLAIN} PROPERTIES COMPILE_OPTIONS -fno-sanitize=address)
  endif()
  millpond_targets_below("${directory}" targets)
  foreach(target IN LISTS targets)
    get_target_property(linked ${target} LINK_LIBRARIES)
    if(library IN_LIST linked)
      list(TRANSFORM linked REPLACE "^${library}$" "${library}_instrumented")
      set_target_properties(${target} PROPERTIES LINK_LIBRARIES "${linked}")
    endif()
  endforeach()
endfunction()

# Adds the target memory_tests: the test programs of the library, and of the code that reads files, which may be
# damaged. An ASan build of everything takes twice as long.
function(millpond_collect_memory_tests directory)
  add_custom_target(memory_tests)
  set(rooms unit property oom misuse)
  if(MILLPOND_BUILD_LAB)
    list(APPEND rooms golden lab/program lab/trace lab/plan lab/symbols lab/references lab/preload lab/slab_map)
  endif()
  foreach(room IN LISTS rooms)
    millpond_targets_below("${directory}/${room}" targets)
    foreach(target IN LISTS targets)
      get_target_property(type ${target} TYPE)
      if(type STREQUAL "EXECUTABLE")
        add_dependencies(memory_tests ${target})
      endif()
    endforeach()
  endforeach()
  # Programs that are tests by add_test: one that is plain in every build, and the examples.
  get_property(examples GLOBAL PROPERTY MILLPOND_EXAMPLE_PROGRAMS)
  foreach(target IN ITEMS simulate_freestanding LISTS examples)
    if(TARGET ${target})
      add_dependencies(memory_tests ${target})
    endif()
  endforeach()
endfunction()

# Adds the target library_tests: the test programs of the library that need no other tool than a compiler, which run on
# other platforms (scripts/aarch64, scripts/musl).
function(millpond_collect_library_tests directory)
  add_custom_target(library_tests)
  foreach(room IN ITEMS unit property oom)
    millpond_targets_below("${directory}/${room}" targets)
    foreach(target IN LISTS targets)
      get_target_property(type ${target} TYPE)
      get_target_property(options ${target} COMPILE_OPTIONS)
      if(type STREQUAL "EXECUTABLE" AND NOT options MATCHES "sanitize" AND NOT target STREQUAL "library_gdb_printers")
        add_dependencies(library_tests ${target})
      endif()
    endforeach()
  endforeach()
endfunction()

# Adds the target thread_tests: the test programs below a directory whose sources start threads, so that a TSan build
# need not compile the others. They are found by searching the sources: a list kept by hand would be forgotten.
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

# millpond_more(TARGET...): builds these targets for `make test-more` and not for `make test`.
function(millpond_more)
  set_property(GLOBAL APPEND PROPERTY MILLPOND_MORE ${ARGN})
endfunction()

# millpond_test_with_large_pages(PROGRAM...): adds tests that run these programs with pages of 16 and of 64 KiB, which a
# preloaded library pretends (tests/unit/support/large_pages.cpp), and the target large_page_tests, which builds them.
# Left out is a test that reads the system's own count of pages.
function(millpond_test_with_large_pages)
  if(MILLPOND_SANITIZE OR NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")
    return()
  endif()
  add_library(large_pages MODULE "${PROJECT_SOURCE_DIR}/tests/unit/support/large_pages.cpp")
  target_link_libraries(large_pages PRIVATE millpond_warnings)
  millpond_more(large_pages)
  add_custom_target(large_page_tests DEPENDS large_pages ${ARGN})
  foreach(program IN LISTS ARGN)
    set(arguments --gtest_brief=1 "--gtest_filter=-*_slow.*:*.the_range_is_smaller_under_an_address_limit")
    if(program STREQUAL "library_misuse_checked")
      set(arguments --check checked)
    endif()
    foreach(page_bytes 16384 65536)
      add_test(NAME large_pages.${page_bytes}.${program} COMMAND ${program} ${arguments})
      set_tests_properties(large_pages.${page_bytes}.${program} PROPERTIES LABELS more ENVIRONMENT
        "LD_PRELOAD=$<TARGET_FILE:large_pages>;MILLPOND_TEST_PAGE_BYTES=${page_bytes};MILLPOND_SCALE=small")
    endforeach()
  endforeach()
endfunction()

# Adds the target usual_tests, which `make test` builds: all default targets, including the programs of lab/, except
# those of millpond_more.
function(millpond_collect_usual_tests)
  get_property(more GLOBAL PROPERTY MILLPOND_MORE)
  add_custom_target(usual_tests)
  millpond_targets_below("${PROJECT_SOURCE_DIR}" targets)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    get_target_property(on_demand ${target} EXCLUDE_FROM_ALL)
    if(type MATCHES "EXECUTABLE|LIBRARY" AND NOT type STREQUAL "INTERFACE_LIBRARY" AND NOT on_demand
       AND NOT target IN_LIST more)
      add_dependencies(usual_tests ${target})
    endif()
  endforeach()
endfunction()

# Matches the libraries that a target based on GoogleTest links.
set(millpond_gtest "GTest::|test_support|_testing")

# Compiles the GoogleTest programs below a directory, and targets with the property MILLPOND_TEST_CODE, with clang if it
# is installed; gcc compiles the code under test. clang compiles unoptimised code in a third of the time. Instrumented
# and optimised builds use one compiler. MILLPOND_TEST_COMPILER names another compiler; an empty value means none.
function(millpond_compile_tests directory)
  find_program(MILLPOND_TEST_COMPILER NAMES clang++-19 clang++ DOC "Compiler of unoptimised tests; empty: as usual")
  if(NOT MILLPOND_TEST_COMPILER OR MILLPOND_OPTIMISED_TESTS OR MILLPOND_SANITIZE OR MILLPOND_COVERAGE
     OR NOT CMAKE_BUILD_TYPE STREQUAL "Release" OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    return()
  endif()
  set(launcher "${PROJECT_SOURCE_DIR}/cmake/compile_with" "${CMAKE_CXX_COMPILER}" "${MILLPOND_TEST_COMPILER}")
  list(APPEND launcher ${CMAKE_CXX_COMPILER_LAUNCHER})  # which may be empty
  find_program(MILLPOND_TEST_LINKER NAMES mold DOC "A faster linker for these tests, if installed")
  millpond_targets_below("${directory}" targets)
  foreach(target IN LISTS targets)
    get_target_property(linked ${target} LINK_LIBRARIES)
    get_target_property(options ${target} COMPILE_OPTIONS)
    get_target_property(own ${target} MILLPOND_TEST_CODE)
    if((own OR linked MATCHES "${millpond_gtest}") AND NOT options MATCHES "sanitize")
      set_target_properties(${target} PROPERTIES MILLPOND_BY_CLANG ON CXX_COMPILER_LAUNCHER "${launcher}")
      if(MILLPOND_TEST_LINKER)
        target_link_options(${target} PRIVATE -fuse-ld=mold)
      endif()
    endif()
  endforeach()
endfunction()
