# SPDX-License-Identifier: BSL-1.0
# Precompiles the headers that most sources of a folder include: parsing them in each source takes a third of a build.

# millpond_precompile(OWNER DIRECTORY LINKED REGEX HEADERS <header>...): precompiles the headers in OWNER. The targets
# below the directory share them if they have the same compile options and link a library that matches REGEX. Tests that
# clang compiles share them whatever they link; gcc would refuse them because of different definitions. A source with
# its own code generation, such as -O0, does not use them: the compiler would refuse them. Call this after all targets
# exist.
function(millpond_precompile owner directory)
  cmake_parse_arguments(PARSE_ARGV 2 precompile "" "LINKED" "HEADERS")
  if(CMAKE_DISABLE_PRECOMPILE_HEADERS OR NOT TARGET ${owner})
    return()
  endif()
  millpond_compiled_as(${owner} wanted)
  set(users)
  millpond_targets_below("${directory}" targets)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    get_target_property(linked ${target} LINK_LIBRARIES)
    get_target_property(by_clang ${target} MILLPOND_BY_CLANG)
    if(type MATCHES "EXECUTABLE|STATIC_LIBRARY" AND NOT target STREQUAL owner
       AND (by_clang OR linked MATCHES "${precompile_LINKED}"))
      millpond_compiled_as(${target} found)
      if(found STREQUAL wanted)
        list(APPEND users ${target})
      endif()
    endif()
  endforeach()
  target_precompile_headers(${owner} PRIVATE ${precompile_HEADERS})
  foreach(target IN LISTS owner users)
    if(NOT target STREQUAL owner)
      target_precompile_headers(${target} REUSE_FROM ${owner})
    endif()
    # For ccache: gcc's preprocessor names the precompiled header, clang leaves out its time stamp.
    get_target_property(by_clang ${target} MILLPOND_BY_CLANG)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT by_clang)
      target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
    elseif(target STREQUAL owner)
      target_compile_options(${target} PRIVATE
        "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp -fpch-instantiate-templates>")
    endif()
    get_target_property(options ${target} COMPILE_OPTIONS)
    get_target_property(sources ${target} SOURCES)
    get_target_property(folder ${target} SOURCE_DIR)
    foreach(source IN LISTS sources)
      cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${folder}")
      get_source_file_property(own "${source}" TARGET_DIRECTORY ${target} COMPILE_OPTIONS)
      list(REMOVE_ITEM own ${options})
      if(own MATCHES "-O0|-f")
        set_source_files_properties("${source}" TARGET_DIRECTORY ${target} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
      endif()
    endforeach()
  endforeach()
endfunction()

# Returns in `result` a text of the properties that two targets must have in common to share a precompiled header.
function(millpond_compiled_as target result)
  set(text)
  foreach(property COMPILE_OPTIONS CXX_STANDARD POSITION_INDEPENDENT_CODE MILLPOND_PLAIN MILLPOND_BY_CLANG)
    get_target_property(value ${target} ${property})
    list(FILTER value EXCLUDE REGEX "-W")
    string(APPEND text "${property}=${value};")
  endforeach()
  set(${result} "${text}" PARENT_SCOPE)
endfunction()
