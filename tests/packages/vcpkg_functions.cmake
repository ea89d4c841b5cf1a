# SPDX-License-Identifier: BSL-1.0
# Runs a portfile without vcpkg: the functions that it calls, in the form that a release build on Linux needs.
#   cmake -D port=FOLDER -D work=FOLDER -D compiler=C++ -P vcpkg_functions.cmake
# The package is in work/packages afterwards. Every other function of vcpkg is unknown, so it ends the run.
cmake_minimum_required(VERSION 3.25)

set(PORT millpond)
set(CURRENT_PORT_DIR "${port}")
set(CURRENT_PACKAGES_DIR "${work}/packages")
set(CURRENT_BUILDTREES_DIR "${work}/buildtrees")
set(VCPKG_LIBRARY_LINKAGE dynamic)
set(VCPKG_BUILD_TYPE release)

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
endfunction()

# Refuses words that the function does not know.
function(expect_no_more)
  if(ARGN)
    message(FATAL_ERROR "unknown arguments: ${ARGN}")
  endif()
endfunction()

function(vcpkg_check_linkage word)
  expect_no_more(${ARGN})
  if(NOT word STREQUAL "ONLY_STATIC_LIBRARY")
    message(FATAL_ERROR "unknown linkage ${word}")
  endif()
  set(VCPKG_LIBRARY_LINKAGE static PARENT_SCOPE)
endfunction()

function(vcpkg_cmake_configure)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCE_PATH" "OPTIONS")
  expect_no_more(${arg_UNPARSED_ARGUMENTS})
  run("${CMAKE_COMMAND}" -S "${arg_SOURCE_PATH}" -B "${CURRENT_BUILDTREES_DIR}" -G Ninja ${arg_OPTIONS}
    -D CMAKE_BUILD_TYPE=Release -D "CMAKE_CXX_COMPILER=${compiler}" -D CMAKE_INSTALL_LIBDIR:STRING=lib
    -D "CMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR}" -D BUILD_SHARED_LIBS=OFF)
endfunction()

function(vcpkg_cmake_install)
  expect_no_more(${ARGN})
  run("${CMAKE_COMMAND}" --build "${CURRENT_BUILDTREES_DIR}" --target install)
endfunction()

# Moves the package to share/PORT, which is one folder nearer to the prefix.
function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "CONFIG_PATH" "")
  expect_no_more(${arg_UNPARSED_ARGUMENTS})
  set(share "${CURRENT_PACKAGES_DIR}/share/${PORT}")
  file(GLOB files "${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}/*")
  file(COPY ${files} DESTINATION "${share}")
  file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/lib/cmake")
  set(step "get_filename_component(_IMPORT_PREFIX \"\${_IMPORT_PREFIX}\" PATH)\n")
  foreach(file IN ITEMS targets config)
    file(READ "${share}/${PORT}-${file}.cmake" text)
    string(REPLACE "${step}${step}${step}" "${step}${step}" text "${text}")
    string(REPLACE "/../../../\" ABSOLUTE" "/../../\" ABSOLUTE" text "${text}")
    file(WRITE "${share}/${PORT}-${file}.cmake" "${text}")
  endforeach()
endfunction()

function(vcpkg_fixup_pkgconfig)
  expect_no_more(${ARGN})
  file(READ "${CURRENT_PACKAGES_DIR}/lib/pkgconfig/${PORT}.pc" text)
  if(text MATCHES "${work}")
    message(FATAL_ERROR "${PORT}.pc names the build's folder")
  endif()
endfunction()

function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "FILE_LIST")
  expect_no_more(${arg_UNPARSED_ARGUMENTS})
  file(COPY_FILE "${arg_FILE_LIST}" "${CURRENT_PACKAGES_DIR}/share/${PORT}/copyright")
endfunction()

include("${port}/portfile.cmake")
if(NOT VCPKG_LIBRARY_LINKAGE STREQUAL "static")
  message(FATAL_ERROR "the port does not ask for the static library")
endif()
