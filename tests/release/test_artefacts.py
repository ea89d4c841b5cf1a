# SPDX-License-Identifier: BSL-1.0
"""The files in dist/ are whole: names, sizes, licences, components and sums."""

from __future__ import annotations

import email
import json
import platform
import re
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest
import roots
from elftools.elf.elffile import ELFFile

WHEEL_BYTES = 12_000_000
# _dl_find_object, by which the preloaded libraries find call-frame rules without a lock, came with glibc 2.35.
TAG = "manylinux_2_35"


@pytest.fixture(scope="module", params=["x86_64", "aarch64"])
def architecture(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture(scope="module")
def either_wheel(architecture: str) -> Path:
    return roots.wheel_for(architecture)


@pytest.fixture(scope="module")
def opened(either_wheel: Path) -> zipfile.ZipFile:
    return zipfile.ZipFile(either_wheel)


@pytest.fixture(scope="module")
def metadata(opened: zipfile.ZipFile) -> email.message.Message:
    (name,) = (name for name in opened.namelist() if name.endswith(".dist-info/METADATA"))
    return email.message_from_bytes(opened.read(name))


def test_dist_has_the_artefacts_and_their_sums() -> None:
    sums = (roots.DIST / "SHA256SUMS").read_text(encoding="utf-8")
    listed = {line.split()[1] for line in sums.splitlines()}
    assert listed == {path.name for path in roots.DIST.iterdir() if path.is_file()} - {"SHA256SUMS"}
    endings = sorted(name.rpartition(".")[2] for name in listed)
    assert endings == ["deb", "deb", "gz", "hpp", "json", "json", "whl", "whl"]
    subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=roots.DIST, check=True)


def test_wheel_is_small_and_names_its_platform(either_wheel: Path, architecture: str) -> None:
    assert either_wheel.stat().st_size <= WHEEL_BYTES
    assert either_wheel.name.split("-")[2:] == ["py3", "none", f"{TAG}_{architecture}.whl"]


def test_native_files_are_of_the_platform_and_stripped(opened: zipfile.ZipFile, architecture: str) -> None:
    """The examples keep their symbols: the answers of `millpond demo` name functions and lines."""
    unstripped, machines = [], set()
    for name in opened.namelist():
        with opened.open(name) as file:
            if file.read(4) != b"\x7fELF":
                continue
            elf = ELFFile(file)
            machines.add(elf["e_machine"])
            if "/lib/millpond/examples/" not in name and elf.get_section_by_name(".debug_info") is not None:
                unstripped.append(name)
    assert not unstripped
    assert machines == {{"x86_64": "EM_X86_64", "aarch64": "EM_AARCH64"}[architecture]}


def test_description_has_no_relative_links(metadata: email.message.Message) -> None:
    text = metadata.get_payload()
    assert isinstance(text, str) and text.startswith("# Millpond")
    assert not re.findall(r"\]\((?!https?:)[^)]*\)", text)
    assert metadata["Keywords"] and metadata.get_all("Classifier")


def test_wheel_has_the_licence_of_each_copied_library(
    opened: zipfile.ZipFile, metadata: email.message.Message, architecture: str
) -> None:
    names = metadata.get_all("License-File", [])
    held = {name.split("/licenses/")[1] for name in opened.namelist() if "/licenses/" in name}
    assert set(names) == held
    libraries = re.findall(r"^millpond\.libs/(lib[a-zA-Z]+)", "\n".join(opened.namelist()), re.MULTILINE)
    copied = {library.lower() for library in libraries}
    assert {"libdw", "libelf", "libzstd"} <= copied
    assert [library for library in copied if not any(name.startswith(library) for name in names)] == []
    # Only the tool inside Valgrind is under the GPL, and it is for x86-64.
    of_the_tool = {"GPL-2.txt", "valgrind.txt"} if architecture == "x86_64" else set()
    assert held & {"LICENSE", "GPL-2.txt", "valgrind.txt"} == {"LICENSE", *of_the_tool}
    assert ("GPL" in metadata["License-Expression"]) == bool(of_the_tool)


def test_list_of_components_names_python_and_native_code(opened: zipfile.ZipFile, architecture: str) -> None:
    (path,) = roots.DIST.glob(f"*-{architecture}.cdx.json")
    listed = json.loads(path.read_text(encoding="utf-8"))
    assert listed["bomFormat"] == "CycloneDX"
    names = {one["name"] for one in listed["components"]}
    assert {"numpy", "libdw1", "libzstd1"} <= names
    assert ("valgrind" in names) == (architecture == "x86_64")
    inside = [name for name in opened.namelist() if "/sboms/" in name]
    assert [json.loads(opened.read(name)) for name in inside] == [listed]


def test_source_archive_configures_and_builds_the_library(tmp_path: Path) -> None:
    """The configuration of the whole project fails if a source of any program is missing."""
    (path,) = roots.DIST.glob("millpond-*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    subprocess.run(["tar", "-xf", str(path), "-C", str(tmp_path)], check=True)
    assert {"LICENSE", "Containerfile", "packaging/debian/rules"} <= names
    assert not [name for name in names if name.startswith(("build/", "dist/", ".venv/", "web/node_modules/"))]
    (source,) = tmp_path.iterdir()
    configure = ["cmake", "-G", "Ninja", "-S", str(source), "-B", str(tmp_path / "build"), "-DMILLPOND_BUILD_TESTS=OFF"]
    subprocess.run(configure, capture_output=True, check=True)
    build = ["cmake", "--build", str(tmp_path / "build"), "--target", "libmillpond.a"]
    subprocess.run(build, capture_output=True, check=True)


def test_readme_installs_the_wheel_of_this_machine() -> None:
    (pattern,) = re.findall(r"`pip install (dist/[^`]+)`", (roots.ROOT / "README.md").read_text(encoding="utf-8"))
    found = subprocess.run(["bash", "-c", f"ls {pattern}"], cwd=roots.ROOT, capture_output=True, text=True, check=True)
    assert found.stdout.splitlines() == [str(roots.wheel_for(platform.machine()).relative_to(roots.ROOT))]
