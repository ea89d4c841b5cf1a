# SPDX-License-Identifier: BSL-1.0
"""Removes from texts what tells where they were written: host, user, folders, every other path, network addresses.

    "no program in /people/ann/mill/build on box7"  ──removed_from──▶  "no program in PATH on HOST"

For texts that leave the machine. The names are those of the running process, so results must be packed on the machine
that made them: the name of another host or user is not known here.
"""

from __future__ import annotations

import os
import pwd
import re
import socket
import sys
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

HOST, USER, PATH = "HOST", "USER", "PATH"
# Names that every machine may have.
_COMMON = frozenset({"", "localhost", "root"})
_PART = r"[^\s/'\"`,;:()<>|]+"
# A path begins where no word runs on: not in `and/or`, in a cell's name (`lists/size=7`) or in `http://…`. Relative
# paths go, too, where they name a folder: `../customer/store`.
_ANY_PATH = re.compile(rf"(?<![\w…/])(?:~[\w.-]*|\.\.?)?/{_PART}(?:/{_PART})*/?")
# Addresses of this host or of a cluster's workers: `tcp://node3:8786`, `10.0.0.7:8786`; no version of three numbers.
_ADDRESS = re.compile(
    r"\b(?:tcp|tls|ucx|inproc)://[^\s,;'\"()<>]+|(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?(?!\w|\.\d)"
)


@dataclass(frozen=True)
class PrivateNames:
    """The names of a machine and its user. `folders`: absolute paths, which may have spaces. Thread-safe."""

    hosts: frozenset[str]
    users: frozenset[str]
    folders: frozenset[str]

    @classmethod
    def of_this_process(cls) -> PrivateNames:
        """The names that this process can see: of its host, of its user, of its home and working folders."""
        environment = os.environ.get
        hosts = {socket.gethostname(), os.uname().nodename, environment("HOSTNAME", "")}
        users = {environment(name, "") for name in ("USER", "LOGNAME", "USERNAME", "SUDO_USER")}
        homes = {environment("HOME", "")}
        with suppress(KeyError):  # a container's user may have no entry
            entry = pwd.getpwuid(os.getuid())
            users |= {entry.pw_name, *entry.pw_gecos.split(",")[:1]}
            homes.add(entry.pw_dir)
        users |= {Path(home).name for home in homes}
        folders = {*homes, tempfile.gettempdir(), sys.prefix}
        with suppress(OSError):  # the working folder may be gone
            folders.add(str(Path.cwd()))
        folders |= {os.path.realpath(folder) for folder in folders if folder}
        return cls(
            hosts=frozenset({*hosts, *(host.partition(".")[0] for host in hosts)} - _COMMON),
            users=frozenset(users - _COMMON),
            folders=frozenset(folder for folder in folders if folder.startswith("/") and len(folder) > 1),
        )

    def removed_from(self, text: str) -> str:
        """The text on one line, with PATH, HOST and USER in place of these names. O(names × length)."""
        line = _ADDRESS.sub(HOST, " ".join(text.split()))
        for folder in sorted(self.folders, key=len, reverse=True):
            line = re.sub(rf"{re.escape(folder)}(?![\w.-])(?:/{_PART})*/?", PATH, line)
        line = _ANY_PATH.sub(PATH, line)
        line = _without_words(line, self.hosts, HOST)
        return _without_words(line, self.users, USER)


def _without_words(text: str, names: Iterable[str], instead: str) -> str:
    """The text without these names where they are whole words, in any case: other words may contain them."""
    for name in sorted(names, key=len, reverse=True):
        text = re.sub(rf"(?<![^\W_]){re.escape(name)}(?![^\W_])", instead, text, flags=re.IGNORECASE)
    return text
