# SPDX-License-Identifier: BSL-1.0
"""Builds the consumer of tests/consumer/project with the Conan package, and runs it: `conan create` does."""

from __future__ import annotations

from pathlib import Path

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout

PROJECT = "../../../tests/consumer/project"


class MillpondConsumerRecipe(ConanFile):
    settings = "os", "compiler", "build_type", "arch"

    def requirements(self) -> None:
        self.requires(self.tested_reference_str)

    def layout(self) -> None:
        cmake_layout(self)

    def generate(self) -> None:
        toolchain = CMakeToolchain(self)
        toolchain.user_presets_path = False  # writes nothing next to the sources
        toolchain.cache_variables["wanted_version"] = str(self.dependencies["millpond"].ref.version)
        toolchain.generate()

    def build(self) -> None:
        cmake = CMake(self)
        cmake.configure(build_script_folder=PROJECT)
        cmake.build()

    def test(self) -> None:
        if can_run(self):
            self.run(str(Path(self.build_folder) / self.cpp.build.bindir / "consumer"), env="conanrun")
