# SPDX-License-Identifier: BSL-1.0
"""Our caches agree with Cachegrind's on real programs, with references from lackey and from our captures.

All tools run the program in the same environment and without address randomisation: one more variable moves the
stack, and with it the misses. The names of Valgrind's libraries are in that environment, too, so Cachegrind and our
tool lie in one folder.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from millpond.rounds.capture_tools import ToolFolder, one_tool_folder
from millpond.rounds.layouts import layout_of
from millpond.rounds.predicted_misses import WORST_PERCENT, predict_program
from millpond.rounds.real_program import RealProgram
from millpond.system.errors import Failure
from tiers import mostly_more

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = Path(os.environ.get("MILLPOND_BIN") or ROOT / "build" / "release" / "bin").absolute() / "millpond-simulate"
CAPTURE = PROGRAM.with_name("millpond-references")
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "PERL_HASH_SEED": "0"}
HANGS_AFTER_SECONDS = 200
ALIKE = 1e-6

pytestmark = pytest.mark.skipif(
    not (shutil.which("valgrind") and shutil.which("setarch")), reason="valgrind or setarch is not installed"
)


class Cache(NamedTuple):
    """A first-level data cache, as an option of both programs."""

    kibibytes: int
    ways: int
    line: int

    def of(self, simulators: list[dict[str, list[dict[str, object]]]]) -> int:
        found = [
            row["value"]
            for simulator in simulators
            for row in simulator["metrics"]
            if row["metric"] == "misses"
            and (row["cache_bytes"], row["ways"], row["line_bytes"]) == (self.kibibytes * 1024, self.ways, self.line)
        ]
        assert len(set(found)) == 1, found
        (value, *_) = found
        assert isinstance(value, int)
        return value


CACHES = [Cache(16, 1, 32), Cache(64, 1, 32), Cache(256, 1, 32), Cache(32, 8, 32)]
DESCRIPTIONS = ("direct:line=32,size=16K/64K/256K", "lru:line=32,sets=64-4096,ways=8")

# Lists, a sort, copies by string instructions, modifications in memory, accesses across lines.
C_PROGRAM = r"""
#include <stdlib.h>
#include <string.h>
struct node { struct node* next; long value; char text[40]; };
static int ascending(const void* a, const void* b) { return *(const int*)a - *(const int*)b; }
int main(void) {
    struct node* first = 0;
    for (int i = 0; i < 2000; ++i) {
        struct node* one = malloc(sizeof *one);
        one->next = first; one->value = i; memset(one->text, i, sizeof one->text);
        first = one;
    }
    long sum = 0;
    for (int round = 0; round < 5; ++round) for (struct node* at = first; at; at = at->next) sum += at->value++;
    int* numbers = malloc(4000 * sizeof *numbers);
    for (int i = 0; i < 4000; ++i) numbers[i] = i * 7919 % 4001;
    qsort(numbers, 4000, sizeof *numbers, ascending);
    char* bytes = malloc(40000);
    for (int i = 0; i + 8 < 20000; i += 13) { long* across = (long*)(bytes + i); *across += sum; }
    char* to = bytes + 20000; const char* from = bytes; unsigned long count = 19999;
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
    return (int)(sum + numbers[17] + bytes[30000]) & 1 ? 0 : 0;
}
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("program")
    (folder / "program.c").write_text(C_PROGRAM)
    subprocess.run(["gcc", "-O1", "-o", folder / "program", folder / "program.c"], check=True)
    return folder / "program"


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> ToolFolder:
    try:
        return one_tool_folder(tmp_path_factory.mktemp("tools"))
    except Failure as failure:
        pytest.skip(failure.message)


def under(tool: str, *arguments: str) -> list[str]:
    return ["setarch", os.uname().machine, "-R", "valgrind", f"--tool={tool}", *arguments]


def cachegrind(
    command: Sequence[str], cache: Cache, folder: Path, more: Mapping[str, str] | None = None
) -> tuple[int, int]:
    """Returns the references and misses that Cachegrind counts. `more`: additional environment variables."""
    shape = f"{cache.kibibytes * 1024},{cache.ways},{cache.line}"
    options = (f"--D1={shape}", "--I1=32768,8,64", "--LL=8388608,16,64", "--cachegrind-out-file=/dev/null")
    log = folder / "cachegrind.log"
    subprocess.run(
        [*under("cachegrind", "--vgdb=no", "--cache-sim=yes", f"--log-file={log}", *options), *command],
        env={**ENVIRONMENT, **(more or {})},
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
        timeout=HANGS_AFTER_SECONDS,
    )
    said = log.read_text()
    found = [re.search(rf"{what}:\s+([\d,]+)", said) for what in ("D\\s+refs", "D1\\s+misses")]
    references, misses = (int(each[1].replace(",", "")) for each in found if each)
    return references, misses


def simulated(command: Sequence[str], folder: Path) -> dict[str, list[dict[str, list[dict[str, object]]]]]:
    """Returns our counts for the references that lackey prints, read while it runs."""
    pipe = folder / "references"
    os.mkfifo(pipe)
    lackey = subprocess.Popen(
        [*under("lackey", "--trace-mem=yes", f"--log-file={pipe}"), *command],
        env=ENVIRONMENT,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    options = [word for description in DESCRIPTIONS for word in ("--simulate", description)]
    with pipe.open("rb") as references:
        done = subprocess.run(
            [PROGRAM, *options, "--bytes-max", "32", "--json", "-", "-"],
            stdin=references,
            capture_output=True,
            check=False,
            timeout=HANGS_AFTER_SECONDS,
        )
    assert lackey.wait(HANGS_AFTER_SECONDS) == 0
    assert done.returncode == 0, done.stderr
    document: dict[str, list[dict[str, list[dict[str, object]]]]] = json.loads(done.stdout)
    return document


# Only programs that do the same in every run; gawk, grep and perl use random bytes or their process id.
PROGRAMS = {
    "true": ["/bin/true"],
    "compiled": ["COMPILED"],
    "sed": ["sed", "-n", "s/a\\(.*\\)b/\\1/p", "/etc/passwd"],
    # Without a size of its own, sort divides by the memory that is free at the moment.
    "sort": ["sort", "--parallel=1", "--buffer-size=1M", "/etc/services"],
    "od": ["od", "-x", "/etc/passwd"],
}


@pytest.mark.parametrize("name", mostly_more(PROGRAMS, next(iter(PROGRAMS))))
def test_misses_equal_those_of_cachegrind(name: str, compiled: Path, tmp_path: Path) -> None:
    command = [str(compiled) if word == "COMPILED" else word for word in PROGRAMS[name]]
    if not shutil.which(command[0]):
        pytest.skip(f"{command[0]} is not installed")
    found = simulated(command, tmp_path)
    references = found["input"]["references"]  # type: ignore[call-overload]
    for cache in CACHES:
        expected_references, expected_misses = cachegrind(command, cache, tmp_path)
        misses = cache.of(found["simulators"])
        print(f"{name} {cache}: {references} references, {misses} misses; Cachegrind {expected_misses}")
        assert abs(references - expected_references) <= max(1, ALIKE * references)
        assert abs(misses - expected_misses) <= max(1, ALIKE * references), cache


@pytest.mark.parametrize("name", mostly_more(PROGRAMS, next(iter(PROGRAMS))))
def test_captured_misses_equal_those_of_cachegrind(
    name: str, compiled: Path, tools: ToolFolder, tmp_path: Path
) -> None:
    command = [str(compiled) if word == "COMPILED" else word for word in PROGRAMS[name]]
    if not shutil.which(command[0]):
        pytest.skip(f"{command[0]} is not installed")
    environment = {"VALGRIND_LIB": str(tools.folder)}
    trace = tmp_path / "trace.mpt"
    simulators = [word for description in DESCRIPTIONS for word in ("--simulate", description)]
    capture = [tools.capture, "-o", trace, "--bytes-max=32", *simulators]
    subprocess.run(
        ["setarch", os.uname().machine, "-R", *capture, "--", *command],
        env={**ENVIRONMENT, **environment}, cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, check=True, timeout=HANGS_AFTER_SECONDS,
    )  # fmt: skip
    told = subprocess.run([PROGRAM, "--json", "-", trace], capture_output=True, check=True, timeout=HANGS_AFTER_SECONDS)
    found = json.loads(told.stdout)
    references = found["input"]["references"]
    for cache in CACHES:
        expected_references, expected_misses = cachegrind(command, cache, tmp_path, environment)
        misses = cache.of(found["simulators"])
        print(f"{name} {cache}: {references} references, {misses} misses; Cachegrind {expected_misses}")
        # Every capture has two references more than Cachegrind's count; both hit.
        assert abs(references - expected_references) <= 2
        assert abs(misses - expected_misses) <= max(1, ALIKE * references), cache


@pytest.mark.usefixtures("tools")
def test_misses_on_another_malloc_are_predicted_from_a_recording(tmp_path: Path) -> None:
    """`sort` recorded on glibc and played on a first-fit malloc, against Cachegrind on that malloc."""
    try:
        layout_of("first_fit")
    except Failure as failure:
        pytest.skip(failure.message)
    text = tmp_path / "words"
    text.write_text("".join(f"{7919 * number % 4001}\n" for number in range(4000)), encoding="utf-8")
    workload = RealProgram("sort", ("sort", "--parallel=1", "--buffer-size=1M", str(text)))
    found = predict_program(workload, tmp_path, 1, mallocs=("first_fit",))
    assert found.why_not == {} and found.recorded_on == {"first_fit": "glibc"}
    counts = {cache: count for cache, [count] in found.counts["first_fit"].items() if not cache.is_memory}
    print({cache.name: count for cache, count in counts.items()})
    assert counts and all(abs(count.error_percent) <= WORST_PERCENT for count in counts.values())
