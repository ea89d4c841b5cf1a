# SPDX-License-Identifier: BSL-1.0
"""Finds the package of a file with the system's own command."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from millpond.system.packages import known_package, package_of, packages_of, symbols_command

ANSWERS = """#!/bin/sh
echo "$2" >> "$0.asked"
case $2 in
/usr/lib/libthing.so.2) echo "libthing2:amd64: $2" ;;
/usr/bin/thing) echo "thing: $2" ;;
*) exit 1 ;;
esac
"""


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Fakes a system with two packages. The given file gets a line for each call of its command."""
    command = tmp_path / "dpkg-query"
    command.write_text(ANSWERS)
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/nowhere")
    known_package.cache_clear()
    yield tmp_path / "dpkg-query.asked"
    known_package.cache_clear()


@pytest.mark.parametrize(
    ("path", "package"),
    [
        ("/usr/lib/libthing.so.2", "libthing2"),
        ("/lib/libthing.so.2", "libthing2"),  # the same file, where /lib leads to /usr/lib
        ("/usr/bin/thing", "thing"),
        ("/usr/bin/by_hand", None),
    ],
)
@pytest.mark.usefixtures("asked")
def test_a_file_has_the_package_that_put_it_there(path: str, package: str | None) -> None:
    assert package_of(path) == package


@pytest.mark.parametrize("path", ["/srv/shop", "/usr/local/lib/libmine.so", "shop", ""])
def test_files_outside_system_folders_have_no_package(asked: Path, path: str) -> None:
    assert package_of(path) is None and not asked.exists()


@pytest.mark.usefixtures("asked")
def test_several_files_are_of_packages_if_each_is() -> None:
    both = packages_of(["/usr/lib/libthing.so.2", "/usr/bin/thing"])
    assert both == "libthing2 and thing"
    assert packages_of(["/usr/lib/libthing.so.2", "/srv/shop"]) is None and packages_of([]) is None


def test_without_any_command_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    known_package.cache_clear()
    assert package_of("/usr/lib/libthing.so.2") is None
    known_package.cache_clear()


@pytest.mark.usefixtures("asked")
def test_a_package_has_a_command_that_installs_its_symbols() -> None:
    assert symbols_command("/usr/lib/libthing.so.2") == "apt install libthing2-dbgsym"
    assert symbols_command("/usr/bin/by_hand") == symbols_command("/srv/shop") == ""
