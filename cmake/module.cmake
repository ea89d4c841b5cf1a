# SPDX-License-Identifier: BSL-1.0
# millpond::module: `import millpond;` (src/module/millpond.cppm), an experiment that only a user who asks for it builds.
# An installed package has its source, which every project compiles with its own options.
option(MILLPOND_MODULE "Also build the C++20 module millpond: needs CMake 3.28, Ninja and clang 16, or gcc 14" OFF)

set(millpond_module_export)  # words for install(EXPORT)
if(NOT MILLPOND_MODULE)
  return()
endif()
if(CMAKE_VERSION VERSION_LESS 3.28)
  message(FATAL_ERROR "MILLPOND_MODULE needs CMake 3.28 or later, and this is ${CMAKE_VERSION}")
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 14)
  message(FATAL_ERROR "MILLPOND_MODULE needs gcc 14 or clang 16, and this is gcc ${CMAKE_CXX_COMPILER_VERSION}")
endif()

add_library(millpond_module STATIC)
add_library(millpond::module ALIAS millpond_module)
target_sources(millpond_module PUBLIC FILE_SET modules TYPE CXX_MODULES
  BASE_DIRS "${PROJECT_SOURCE_DIR}/src/module" FILES "${PROJECT_SOURCE_DIR}/src/module/millpond.cppm")
target_link_libraries(millpond_module PUBLIC millpond)
set_target_properties(millpond_module PROPERTIES EXPORT_NAME module POSITION_INDEPENDENT_CODE ON)
install(TARGETS millpond_module EXPORT millpond_targets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT library
  FILE_SET modules DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/millpond/module" COMPONENT library)
set(millpond_module_export CXX_MODULES_DIRECTORY module)
