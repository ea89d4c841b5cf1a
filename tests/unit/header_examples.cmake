# SPDX-License-Identifier: BSL-1.0
# Collects the code under `// Example:` of every header of the library into one test source, a test for each header.
# Sets `header_examples` to its path. Lines of an example are indented by five blanks behind the slashes.

set(header_examples "${CMAKE_CURRENT_BINARY_DIR}/header_examples.cpp")
file(GLOB_RECURSE headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/millpond/*.hpp")
set(code "// Made from the headers' examples.\n#include <gtest/gtest.h>\n\n#include <cassert>\n#include <cstdlib>\n")
string(APPEND code "#include <list>\n#include <map>\n#include <memory_resource>\n#include <millpond/millpond.hpp>\n")
string(APPEND code "#include <string>\n#include <thread>\n#include <unistd.h>\n#include <vector>\n\n#undef NDEBUG\n#include <cassert>\n\n")
string(APPEND code "// Values of an example may serve its asserts only.\n")
string(APPEND code "#pragma GCC diagnostic ignored \"-Wunused-variable\"\n#pragma GCC diagnostic ignored \"-Wunused-but-set-variable\"\n")
foreach(header IN LISTS headers)
  file(READ "${header}" text)
  string(REGEX MATCH "// Example:\n(//     [^\n]*\n|//\n)+" example "${text}")
  if(example)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${header}")
    string(REGEX REPLACE "^// Example:\n" "" example "${example}")
    string(REGEX REPLACE "(^|\n)//" "\\1" example "${example}")
    cmake_path(GET header STEM name)
    string(APPEND code "\nTEST(header_example, ${name}) {\n${example}}\n")
  endif()
endforeach()
file(CONFIGURE OUTPUT "${header_examples}" CONTENT "${code}" @ONLY)
