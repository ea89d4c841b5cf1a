# SPDX-License-Identifier: BSL-1.0
"""The options that several verbs share, each with its help."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from millpond.verbs.option import flag, option
from millpond.verbs.values import count, integer, number, output, setting, several_of

# Kept equal to millpond.store.store.DEFAULT and millpond.rounds.schedule.VERDICT_ROUNDS by a test: those modules are
# slow to import.
STORE = Path("results/store")
VERDICT_ROUNDS = 11


def outputs(help: str, forms: dict[str, str], **more: Any) -> Any:  # noqa: A002
    """The option -o of a verb: where to write, in the form of the file's ending."""
    return option("-o", "FILE", help, kind=output(forms, more.pop("bare", "json")), is_repeated=True,
                  writes_json="json" in forms.values(), **more)  # fmt: skip


def with_choices(choices: dict[str, str], help: str, **more: Any) -> Any:  # noqa: A002
    """The option --with of a verb: what it does in addition, as words separated by commas."""
    return option("--with", "WHAT,...", help, kind=several_of(list(choices)), is_repeated=True, choices=choices, **more)


def settings(help: str, choices: dict[str, str], readers: dict[str, Any]) -> Any:  # noqa: A002
    """The option --set of a verb: rarely needed numbers, by name."""
    return option("--set", "NAME=VALUE", help, kind=setting(readers), is_repeated=True, choices=choices, is_expert=True)


def rounds_option(is_expert: bool = False, help: str = "Measured rounds of each contender.") -> Any:  # noqa: A002
    return option("--rounds", "N", help, kind=count(1), default=VERDICT_ROUNDS, is_expert=is_expert)


def budget_option(help: str = "Time limit; at least one round is run.", is_expert: bool = False) -> Any:  # noqa: A002
    return option("--budget", "SECONDS", help, kind=number(), is_expert=is_expert)


def seed_option(help: str = "Seed for the order of the rounds; a new seed measures again.") -> Any:  # noqa: A002
    return option("--seed", "N", help, kind=integer, default=1, is_expert=True)


def kept_option(help: str = "Store the observations of all rounds here.") -> Any:  # noqa: A002
    return option("--store", "DIR", help, kind=Path, is_expert=True)


def store_option(help: str, is_expert: bool = True) -> Any:  # noqa: A002
    return option("--store", "DIR", help, kind=Path, default=STORE, is_expert=is_expert)


def verbose_option() -> Any:
    return flag("--verbose", "Print every table, not only the answer.")


def dry_run_flag() -> Any:
    return flag("--dry-run", "Show the cells and their expected cost; store nothing.", is_expert=True)


def cells_option() -> Any:
    text = "Only cells whose name matches, such as `plan:*`; may be repeated."
    return option("--cells", "FILTER", text, is_repeated=True, is_expert=True)


def shard_option() -> Any:
    return option("--shard", "I/N", "Run part I of N; each part may run on another machine.", is_expert=True)


def cluster_option() -> Any:
    text = "Run on the Dask cluster whose scheduler has this address, such as tcp://HOST:8786."
    return option("--cluster", "ADDRESS", text, is_expert=True)


def workers_option() -> Any:
    text = "Run on N worker processes of this machine, by Dask."
    return option("--workers", "N", text, kind=count(1), is_expert=True)


def prepare_option() -> Any:
    return option("--prepare", "COMMAND", "Shell command to run before each run; it is not measured.", is_expert=True)


def copy_flag() -> Any:
    text = "Run each time in a fresh copy of the working folder (at most 1 GB)."
    return flag("--cwd-copy", text, is_expert=True)


def debug_dir_option() -> Any:
    text = "Folder of separate debug files; may be repeated."
    return option("--debug-dir", "DIR", text, is_repeated=True, is_expert=True)


def sysroot_option() -> Any:
    return option("--sysroot", "DIR", "Folder below which the recorded program's files lie.", is_expert=True)


def damaged_flag() -> Any:
    text = "Use the readable part of a damaged trace, which is an error otherwise."
    return flag("--damaged", text, is_expert=True)
