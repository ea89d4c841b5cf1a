# SPDX-License-Identifier: BSL-1.0
"""How the benchmarks of captures call Valgrind, our capturing tool and the simulators."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from millpond.bench.laboratory.bench_rows import Bench
from millpond.system import callgrind, native
from millpond.system.errors import Failure, Status

CAPTURE, SIMULATE = "millpond-references", "millpond-simulate"
# What Valgrind says under -d of the tool that it starts.
_STARTED = re.compile(r"launching (\S+)/none-amd64-linux")


def valgrind(tool: str, *options: str) -> list[str]:
    return [callgrind.find_valgrind(), "-q", f"--tool={tool}", "--trace-children=yes", "--vgdb=no", *options]


def one_tool_folder(bench: Bench) -> Path:
    """A folder with Valgrind's own tools and ours: VALGRIND_LIB for both. Failure (4) where there are none."""
    ours = native.find(CAPTURE).parent.parent / "lib" / "millpond" / "valgrind"
    asked = subprocess.run(
        [callgrind.find_valgrind(), "-d", "--tool=none", "true"], capture_output=True, text=True, check=False
    )  # fmt: skip
    started = _STARTED.search(asked.stderr)
    if started is None or not (ours / "millpond-amd64-linux").exists():
        raise Failure(Status.ENVIRONMENT, "Valgrind's tools or our capturing tool are missing")
    folder = bench.folder.resolve() / "tools"
    folder.mkdir(exist_ok=True)
    for each in (*Path(started[1]).iterdir(), *ours.iterdir()):
        link = folder / each.name
        link.unlink(missing_ok=True)
        link.symlink_to(each.resolve())
    return folder


def json_of(command: Sequence[str]) -> dict[str, Any]:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failure(Status.ENVIRONMENT, f"{Path(command[0]).name} failed: {done.stderr.strip()[-300:]}")
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found
