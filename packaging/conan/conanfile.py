# SPDX-License-Identifier: BSL-1.0
"""The Conan 2 recipe of the library. It takes the sources from this tree: `conan create packaging/conan`."""

from __future__ import annotations

import re
from pathlib import Path

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load

SOURCES = ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "src/*")


class MillpondRecipe(ConanFile):
    """libmillpond.a, the headers, and the project's own CMake package, so `-DMILLPOND_MODE=checked` works as always."""

    name = "millpond"
    description = "Local allocators for C++: pools, arenas, regions, and containers that own one"
    license = "BSL-1.0"
    topics = ("allocator", "memory-pool", "arena", "pmr")
    package_type = "static-library"
    settings = "os", "compiler", "build_type", "arch"

    def set_version(self) -> None:
        listed = load(self, Path(self.recipe_folder) / "../../CMakeLists.txt")
        found = re.search(r"project\(millpond VERSION ([0-9.]+)", listed)
        self.version = self.version or (found[1] if found else None)

    def export_sources(self) -> None:
        for pattern in SOURCES:
            copy(self, pattern, Path(self.recipe_folder) / "../..", self.export_sources_folder)

    def validate(self) -> None:
        check_min_cppstd(self, 20)

    def layout(self) -> None:
        cmake_layout(self)

    def generate(self) -> None:
        toolchain = CMakeToolchain(self)
        toolchain.user_presets_path = False  # writes nothing next to the sources
        for part in ("LAB", "TESTS", "EXAMPLES"):
            toolchain.cache_variables[f"MILLPOND_BUILD_{part}"] = False
        toolchain.generate()

    def build(self) -> None:
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self) -> None:
        copy(self, "LICENSE", self.source_folder, Path(self.package_folder) / "licenses")
        CMake(self).install(component="library")

    def package_info(self) -> None:
        self.cpp_info.libs = ["millpond"]
        # The installed package, not one that Conan makes.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["lib/cmake/millpond"]
