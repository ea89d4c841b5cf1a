# SPDX-License-Identifier: BSL-1.0
"""The verb `millpond demo`: two command lines on a program that comes with Millpond.

    millpond advise … request_server                      a tree for each request: which change pays?
    millpond compare --after request_server_changed …     the same program after the change: did it pay as told?

Each is printed before it runs, so that a user can run it again, with other words.
"""

from __future__ import annotations

import shlex
import subprocess
import sys

from millpond.system import native
from millpond.system.errors import Status
from millpond.verbs.requests import DemoRequest


def demo(request: DemoRequest) -> int:
    """Advises on the example, then measures the advised change. Returns the status of the first command that fails."""
    before, after = (str(native.find_example(name)) for name in ("request_server", "request_server_changed"))
    program = (before, "--repeats", str(request.requests), "--seed", str(request.seed))
    shared = ("--store", str(request.store), "--seed", str(request.seed))
    status = _run("advise", "--budget", f"{request.budget:g}", *shared, *program)
    return status if status != Status.OK else _run("compare", "--after", shlex.quote(after), *shared, *program)


def _run(*words: str) -> int:
    """Prints a command line of ours and runs it. Returns its status."""
    print(f"$ {shlex.join(('millpond', *words))}", flush=True)
    return subprocess.run([sys.executable, "-m", "millpond", *words], check=False).returncode
