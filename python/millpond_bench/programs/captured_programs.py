# SPDX-License-Identifier: BSL-1.0
"""Programs for measurements of captures and simulators: real ones, with inputs of a suitable size.

Under a Valgrind tool a program takes ten to fifty times as long. Cachegrind runs only the short forms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from millpond.rounds.real_program import RealProgram, require_program
from millpond.system import native
from millpond_bench.programs import more_real_programs, real_programs
from millpond_bench.programs.real_programs import write_once

_SHORT_LINES = 10_000


def _lines(folder: Path, count: int) -> Path:
    """The first lines of the text that gawk reads."""

    def make() -> str:
        with (real_programs.gawk(folder).stdin or Path()).open(encoding="ascii") as words:
            return "".join(line for _, line in zip(range(count), words, strict=False))

    return write_once(folder / f"words_{count}.txt", make)


def gawk_short(folder: Path) -> RealProgram:
    return replace(real_programs.gawk(folder), stdin=_lines(folder, _SHORT_LINES))


def sqlite3_short(folder: Path) -> RealProgram:
    whole = real_programs.sqlite3(folder)
    sql = (whole.stdin or Path()).read_text(encoding="utf-8").replace("250000", "12000")
    return replace(whole, stdin=write_once(folder / "load_short.sql", lambda: sql))


def _ghostscript(folder: Path, name: str, device: str, *options: str) -> RealProgram:
    whole = real_programs.ghostscript(folder)
    words = [f"-sDEVICE={device}" if word.startswith("-sDEVICE") else word for word in whole.command]
    return replace(whole, name=f"ghostscript, {name}", command=(*words[:-1], *options, words[-1]))


def ghostscript_short(folder: Path) -> RealProgram:
    """Two pages of text and curves, as characters."""
    return _ghostscript(folder, "two pages", "txtwrite", "-dLastPage=2")


def ghostscript_pixels(folder: Path, pages: int = 10) -> RealProgram:
    """The pages as pixels at 600 dpi: short loops over bytes."""
    return _ghostscript(folder, "600 dpi", "pgmraw", "-r600", f"-dLastPage={pages}")


def orders(_folder: Path, count: int = 1_300_000) -> RealProgram:
    """A program of standard containers: maps, sets and lists, traversed."""
    return RealProgram("orders", (str(native.find("orders")), "--orders", str(count)))


def orders_short(folder: Path) -> RealProgram:
    return orders(folder, 10_000)


def catalogue_short(_folder: Path) -> RealProgram:
    """Standard containers too; unlike `orders`, it does not read the clock, so that two runs make the same accesses."""
    return RealProgram("catalogue", (str(native.find("catalogue")), "--repeats", "5"))


def catalogue_long(_folder: Path) -> RealProgram:
    """10^8 references."""
    return RealProgram("catalogue", (str(native.find("catalogue")), "--repeats", "40"))


def layout_containers(_folder: Path) -> RealProgram:
    """Maps, strings and lists: written to look at layouts, 10^8 references."""
    return RealProgram("layout_program containers", (str(native.find("layout_program")), "containers", "160000"))


def layout_threads(_folder: Path) -> RealProgram:
    """Threads one after the other, with malloc's whole family: written to look at layouts, 10^8 references."""
    return RealProgram("layout_program threads", (str(native.find("layout_program")), "threads", "60000"))


def sort_short(folder: Path) -> RealProgram:
    words = str(_lines(folder, _SHORT_LINES))
    return RealProgram("sort", (require_program("sort"), "--parallel=1", words), None, {"LC_ALL": "C"})


def od_short(folder: Path) -> RealProgram:
    words = str(_lines(folder, _SHORT_LINES))
    return RealProgram("od", (require_program("od"), "-An", "-c", words), None, {"LC_ALL": "C"})


def shuffled_lists(_folder: Path) -> RealProgram:
    """Benchmark II of P0089R0: lists whose nodes were shuffled, traversed."""
    shape = ("--log2_g", "16", "--log2_s", "12", "--af", "4", "--rf", "4")
    words = (str(native.find("millpond-p0089-suite")), "--workload", "locality", "--contender", "AS1", *shape)
    return RealProgram("shuffled lists", words)


def orders_affine(folder: Path) -> RealProgram:
    return orders(folder, 30_000)


def xmllint_short(folder: Path) -> RealProgram:
    return more_real_programs.xmllint(folder, 5000)


def xsltproc_short(folder: Path) -> RealProgram:
    return more_real_programs.xsltproc(folder, 3000)


def python3_short(folder: Path) -> RealProgram:
    return replace(real_programs.python3(folder), stdin=_lines(folder, 5000))


def request_server(_folder: Path) -> RealProgram:
    return RealProgram("request_server", (str(native.find("request_server")), "--repeats", "2000"))


ProgramMaker = Callable[[Path], RealProgram]
# The programs on which predictions are validated, by the names that a user gives.
PREDICTED: Mapping[str, ProgramMaker] = {
    "gawk": gawk_short,
    "sqlite3": sqlite3_short,
    "catalogue": catalogue_long,
    "containers": layout_containers,
    "threads": layout_threads,
}
# More programs that a user may name.
MORE_PREDICTED: Mapping[str, ProgramMaker] = {
    "ghostscript": ghostscript_short,
    "sort": sort_short,
    "od": od_short,
    "orders": orders_short,
}
# The programs on which the affinity plan is compared with the plan by subsystem.
AFFINE: Mapping[str, ProgramMaker] = {
    "orders": orders_affine,
    "xmllint": xmllint_short,
    "xsltproc": xsltproc_short,
    "python3": python3_short,
    "request_server": request_server,
}
