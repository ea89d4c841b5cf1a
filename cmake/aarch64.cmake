# SPDX-License-Identifier: BSL-1.0
# Compiles for aarch64 with Debian's gcc 12 (preset aarch64). scripts/unpack aarch64 puts the compiler and the
# laboratory's libraries into build/aarch64; qemu-aarch64 runs what is built.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
cmake_path(SET millpond_aarch64 NORMALIZE "${CMAKE_CURRENT_LIST_DIR}/../build/aarch64")
find_program(CMAKE_C_COMPILER aarch64-linux-gnu-gcc-12 HINTS "${millpond_aarch64}/compiler/usr/bin" REQUIRED)
find_program(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++-12 HINTS "${millpond_aarch64}/compiler/usr/bin" REQUIRED)
set(CMAKE_FIND_ROOT_PATH "${millpond_aarch64}/root")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L "${millpond_aarch64}/root")
# Libraries that these libraries need.
foreach(folder lib usr/lib)
  string(APPEND CMAKE_EXE_LINKER_FLAGS_INIT " -Wl,-rpath-link,${CMAKE_FIND_ROOT_PATH}/${folder}/aarch64-linux-gnu")
endforeach()
