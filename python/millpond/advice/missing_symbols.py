# SPDX-License-Identifier: BSL-1.0
"""The modules whose missing symbols hide names, and the one command that gets the symbols.

    trace.modules_without_symbols ──package_of──▶ MissingSymbols ──▶ one sentence, one command, one table

Nothing is downloaded here: the package database is asked on this machine, and debuginfod only by the analysis, if
DEBUGINFOD_URLS is set.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence

from msgspec.structs import replace

from millpond.rounds.characterisation import HiddenModule, MissingSymbols, ModuleSymbols, TraceSummary
from millpond.system.packages import package_of, symbols_command

# A module that hides less than this share of the events is not in the command.
SHARE_MIN = 0.001
_DEBIAN = "apt install "


def missing_symbols(trace: TraceSummary) -> MissingSymbols | None:
    """Returns what a trace lacks; None if each function that matters has a name, or an older version made the trace."""
    share = sum(module.share or 0 for module in trace.modules_without_symbols)
    if share < SHARE_MIN:
        return None
    modules = tuple(_with_command(module) for module in trace.modules_without_symbols)
    large = [module for module in modules if (module.share or 0) >= SHARE_MIN]
    command = _joined([module.command for module in large if module.command])
    named = sum(module.share or 0 for module in large if module.command)
    near = trace.near_share or 0
    sentence = f"{_percent(share)} of the events are from functions without a symbol"
    if near >= SHARE_MIN:
        sentence += f" ({_percent(near)} are shown with the closest function that has one)"
    sentence += f": {_remedy(command, named, share)}."
    return MissingSymbols(sentence=sentence, command=command, share=share, named_by_command=named, modules=modules)


def hidden_in_all(traces: Sequence[TraceSummary]) -> tuple[HiddenModule, ...]:
    """Returns the modules of several traces, with the sums of their events and their largest share."""
    found: dict[str, HiddenModule] = {}
    for module in (m for trace in traces for m in trace.modules_without_symbols):
        known = found.get(module.path)
        found[module.path] = module if known is None else replace(
            known,
            events=known.events + module.events, bytes=known.bytes + module.bytes,
            near_events=known.near_events + module.near_events,
            share=max(known.share or 0, module.share or 0),
        )  # fmt: skip
    return tuple(sorted(found.values(), key=lambda m: -m.events))


def _with_command(module: HiddenModule) -> ModuleSymbols:
    is_other_build = "record again" in module.why  # whose symbols would not fit
    command = "" if is_other_build else symbols_command(module.path)
    facts = {name: getattr(module, name) for name in HiddenModule.__struct_fields__}
    return ModuleSymbols(**facts, package=package_of(module.path) or "", command=command)


def _remedy(command: str, named: float, share: float) -> str:
    others = "build with -g and do not strip, or give the folder of the separate debug files with --debug-dir"
    if not command:
        return others
    rest = "" if named >= 0.9 * share else f"; for the rest, {others}"
    archive = f", from the debug archive{_suite()}" if command.startswith(_DEBIAN) else ""
    if "DEBUGINFOD_URLS" not in os.environ:
        archive += ", or set DEBUGINFOD_URLS to your distribution's server"
    return f"`{command}` names {_percent(named)}{archive}{rest}"


def _suite() -> str:
    """Returns the name of Debian's suite that has the symbols of this release; empty on other systems."""
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        return ""
    name = release.get("VERSION_CODENAME", "")
    return f" (suite {name}-debug)" if name and release.get("ID") == "debian" else ""


def _joined(commands: Sequence[str]) -> str:
    """Joins commands with the same words before the package to one; the commands of a system all have them."""
    if not commands:
        return ""
    words, _, _ = commands[0].rpartition(" ")
    packages = [command.rpartition(" ")[2] for command in commands if command.startswith(f"{words} ")]
    return f"{words} {' '.join(dict.fromkeys(packages))}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
