# SPDX-License-Identifier: BSL-1.0
# The mode of everything that is built with millpond::millpond: it must be one for all translation units of a program.
# Those that do not agree do not link (core/abi.hpp); libmillpond.a itself is the same in all modes. Both our own build
# and the installed package include this file, so a project chooses by -DMILLPOND_MODE either way.
#
#   release    nothing is added
#   checked    in_mode<A> is checked<A>: every misuse is reported with its sites. Executables get operator new and delete
#              that are watched while a skipped destructor runs (wrap/watched_operators.cpp)
#   hardened   links in freed memory are encoded, and what they show of a misuse ends the program
set(MILLPOND_MODE "release" CACHE STRING "release, checked or hardened")
set_property(CACHE MILLPOND_MODE PROPERTY STRINGS release checked hardened)

if(NOT MILLPOND_MODE MATCHES "^(release|checked|hardened)$")
  message(FATAL_ERROR "MILLPOND_MODE is \"${MILLPOND_MODE}\"; it must be release, checked or hardened")
endif()

# Adds the mode to what uses `target`, whose headers lie in `include_dir`. It is not part of what an install exports.
function(millpond_add_mode target include_dir)
  if(MILLPOND_MODE STREQUAL "checked")
    set_property(TARGET ${target} APPEND PROPERTY INTERFACE_COMPILE_DEFINITIONS $<BUILD_INTERFACE:MILLPOND_CHECKED>)
    # Not for plain programs: some of them know no C++ library.
    set(is_executable "$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>")
    set(is_watched "$<AND:${is_executable},$<NOT:$<BOOL:$<TARGET_PROPERTY:MILLPOND_PLAIN>>>>")
    set_property(TARGET ${target} APPEND PROPERTY INTERFACE_SOURCES
      "$<BUILD_INTERFACE:$<${is_watched}:${include_dir}/millpond/wrap/watched_operators.cpp>>")
    # Checked mode uses the system's calls where they are linked (os/optional_calls.hpp): here they are.
    if(UNIX AND NOT APPLE)
      set_property(TARGET ${target} APPEND PROPERTY INTERFACE_LINK_OPTIONS
        "$<BUILD_INTERFACE:$<${is_watched}:LINKER:--undefined=_ZN8millpond2os18all_optional_callsE>>")
    endif()
  elseif(MILLPOND_MODE STREQUAL "hardened")
    set_property(TARGET ${target} APPEND PROPERTY INTERFACE_COMPILE_DEFINITIONS $<BUILD_INTERFACE:MILLPOND_HARDENED>)
  endif()
endfunction()
