# SPDX-License-Identifier: BSL-1.0
# Rules of `cmake --install`. Component library: the headers, libmillpond.a, the CMake package and the file of pkg-config.
# Component lab: the programs and their preloaded libraries. A Python wheel takes only the component lab.
include(CMakePackageConfigHelpers)

set(millpond_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/millpond")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/millpond" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  COMPONENT library FILES_MATCHING PATTERN "*.hpp" PATTERN "phase.h" PATTERN "watched_operators.cpp" PATTERN "gdb_printers.py")
install(TARGETS millpond EXPORT millpond_targets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT library)
install(EXPORT millpond_targets NAMESPACE millpond:: DESTINATION "${millpond_package_dir}"
  FILE millpond-targets.cmake ${millpond_module_export} COMPONENT library)
configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/millpond-config.cmake.in"
  "${PROJECT_BINARY_DIR}/millpond-config.cmake" INSTALL_DESTINATION "${millpond_package_dir}"
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR
  NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/millpond-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/millpond-config.cmake" "${PROJECT_BINARY_DIR}/millpond-config-version.cmake"
  "${CMAKE_CURRENT_LIST_DIR}/mode.cmake" DESTINATION "${millpond_package_dir}" COMPONENT library)

# For build systems other than CMake: `pkg-config --cflags --libs millpond`.
cmake_path(ABSOLUTE_PATH CMAKE_INSTALL_LIBDIR BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}" NORMALIZE
  OUTPUT_VARIABLE millpond_pc_dir)
cmake_path(APPEND millpond_pc_dir pkgconfig)
file(RELATIVE_PATH millpond_pc_prefix "${millpond_pc_dir}" "${CMAKE_INSTALL_PREFIX}")
string(REGEX REPLACE "/$" "" millpond_pc_prefix "${millpond_pc_prefix}")
set(millpond_pc_libdir "\${prefix}")
cmake_path(APPEND millpond_pc_libdir "${CMAKE_INSTALL_LIBDIR}")  # an absolute path stands for itself
set(millpond_pc_includedir "\${prefix}")
cmake_path(APPEND millpond_pc_includedir "${CMAKE_INSTALL_INCLUDEDIR}")
configure_file("${CMAKE_CURRENT_LIST_DIR}/millpond.pc.in" "${PROJECT_BINARY_DIR}/millpond.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/millpond.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT library)

# Installs the programs below a folder of the project whose names begin with `millpond-`; other programs are subjects of
# measurements. Targets that are built only on demand, for benchmarks, are not installed. Those with the property
# MILLPOND_KEEPS_SYMBOLS are never stripped: a plan names their functions.
function(millpond_install_programs_below folder)
  millpond_targets_below("${PROJECT_SOURCE_DIR}/${folder}" targets)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    get_target_property(on_demand ${target} EXCLUDE_FROM_ALL)
    get_target_property(keeps_symbols ${target} MILLPOND_KEEPS_SYMBOLS)
    if(NOT type STREQUAL "EXECUTABLE" OR NOT target MATCHES "^millpond-" OR on_demand)
      continue()
    endif()
    if(keeps_symbols)
      install(PROGRAMS $<TARGET_FILE:${target}> DESTINATION "${MILLPOND_INSTALL_BIN}" COMPONENT lab)
    else()
      install(TARGETS ${target} RUNTIME DESTINATION "${MILLPOND_INSTALL_BIN}" COMPONENT lab)
    endif()
  endforeach()
endfunction()

# The sources from which `millpond synthesize --preload` compiles a malloc.
if(MILLPOND_BUILD_LAB)
  set(millpond_source_dir "${MILLPOND_INSTALL_PRELOAD}/source")
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/preload" "${PROJECT_SOURCE_DIR}/include" DESTINATION "${millpond_source_dir}"
    COMPONENT lab FILES_MATCHING PATTERN "*.hpp" PATTERN "*.cpp")
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/lab/mallocs" DESTINATION "${millpond_source_dir}/lab"
    COMPONENT lab FILES_MATCHING PATTERN "classic_*")
  install(FILES "${PROJECT_SOURCE_DIR}/src/os/posix.cpp" DESTINATION "${millpond_source_dir}/src/os" COMPONENT lab)
endif()
