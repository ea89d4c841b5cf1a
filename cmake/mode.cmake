# SPDX-License-Identifier: BSL-1.0
# The mode in which code that uses millpond::millpond is compiled. All translation units of a program must have the same
# mode; otherwise they do not link (core/abi.hpp). libmillpond.a is the same in all modes. Our build and the installed
# package both include this file, so a project always chooses with -DMILLPOND_MODE.
#
#   release    adds nothing
#   checked    in_mode<A> is checked<A>: every misuse is reported with its sites. Executables also get operators new and
#              delete that are watched while a skipped destructor runs (wrap/watched_operators.cpp)
#   hardened   encodes the links in freed memory, and ends the program when they reveal a misuse
set(MILLPOND_MODE "release" CACHE STRING "release, checked or hardened")
set_property(CACHE MILLPOND_MODE PROPERTY STRINGS release checked hardened)

if(NOT MILLPOND_MODE MATCHES "^(release|checked|hardened)$")
  message(FATAL_ERROR "MILLPOND_MODE is \"${MILLPOND_MODE}\"; it must be release, checked or hardened")
endif()

# Adds the mode to all users of `target`, whose headers lie in `include_dir`. An installed package does not export it.
function(millpond_add_mode target include_dir)
  if(MILLPOND_MODE STREQUAL "checked")
    set_property(TARGET ${target} APPEND PROPERTY INTERFACE_COMPILE_DEFINITIONS $<BUILD_INTERFACE:MILLPOND_CHECKED>)
    # Plain programs are left out: some of them do not link the C++ library.
    set(is_executable "$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>")
    set(is_watched "$<AND:${is_executable},$<NOT:$<BOOL:$<TARGET_PROPERTY:MILLPOND_PLAIN>>>>")
    set_property(TARGET ${target} APPEND PROPERTY INTERFACE_SOURCES
      "$<BUILD_INTERFACE:$<${is_watched}:${include_dir}/millpond/wrap/watched_operators.cpp>>")
    # Checked mode uses optional system calls if they are linked (os/optional_calls.hpp); this links them.
    if(UNIX AND NOT APPLE)
      set_property(TARGET ${target} APPEND PROPERTY INTERFACE_LINK_OPTIONS
        "$<BUILD_INTERFACE:$<${is_watched}:LINKER:--undefined=_ZN8millpond2os18all_optional_callsE>>")
    endif()
  elseif(MILLPOND_MODE STREQUAL "hardened")
    set_property(TARGET ${target} APPEND PROPERTY INTERFACE_COMPILE_DEFINITIONS $<BUILD_INTERFACE:MILLPOND_HARDENED>)
  endif()
endfunction()
