# SPDX-License-Identifier: BSL-1.0
# The mode of everything that is built with millpond::millpond: it must be one for all translation units of a program.
# Those that do not agree do not link (core/abi.hpp); libmillpond.a itself is the same in all modes.
#
#   release    nothing is added
#   checked    in_mode<A> is checked<A>: every misuse is reported with its sites. Executables get operator new and delete
#              that are watched while a skipped destructor runs (wrap/watched_operators.cpp)
#   hardened   links in freed memory are encoded, and what they show of a misuse ends the program
set(MILLPOND_MODE "release" CACHE STRING "release, checked or hardened")
set_property(CACHE MILLPOND_MODE PROPERTY STRINGS release checked hardened)

if(MILLPOND_MODE STREQUAL "checked")
  target_compile_definitions(millpond INTERFACE MILLPOND_CHECKED)
  # Not for plain programs: some of them know no C++ library.
  set(millpond_is_watched "$<AND:$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>,$<NOT:$<BOOL:$<TARGET_PROPERTY:MILLPOND_PLAIN>>>>")
  set(millpond_watched "millpond/wrap/watched_operators.cpp")
  target_sources(millpond INTERFACE
    "$<BUILD_INTERFACE:$<${millpond_is_watched}:${CMAKE_CURRENT_SOURCE_DIR}/include/${millpond_watched}>>"
    "$<INSTALL_INTERFACE:$<${millpond_is_watched}:$<INSTALL_PREFIX>/${CMAKE_INSTALL_INCLUDEDIR}/${millpond_watched}>>")
elseif(MILLPOND_MODE STREQUAL "hardened")
  target_compile_definitions(millpond INTERFACE MILLPOND_HARDENED)
elseif(NOT MILLPOND_MODE STREQUAL "release")
  message(FATAL_ERROR "MILLPOND_MODE is ${MILLPOND_MODE}; it must be release, checked or hardened")
endif()
