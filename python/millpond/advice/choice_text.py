# SPDX-License-Identifier: BSL-1.0
"""The choices of an advice in words, one line each: fastest, leanest, without and with a change of the source, and
ours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from millpond.advice.advice_data import Advice, Option
from millpond.advice.code_homes import foreign_text
from millpond.advice.metric_words import speed_words
from millpond.system.wording import bytes_text, percent_text

_PREFERENCE_WORDS = {
    "cpu": "memory decides only between equals",
    "memory": "CPU decides only between equals",
    "balanced": "1 % of CPU weighs as much as 1 % of peak memory",
}


@dataclass(frozen=True)
class ChoiceLine:
    """The answer to one question of a user: the option, or `otherwise` the reason without one."""

    label: str
    option: Option | None
    otherwise: str


def choices(advice: Advice) -> list[ChoiceLine]:
    """Returns the four choices; empty without a verdict."""
    found = advice.choices
    if found is None or advice.choice is None:
        return []
    foreign = foreign_text(advice)
    source = f"in the source of {foreign}" if foreign else "in the source"
    return [
        ChoiceLine("fastest", found.fastest, "nothing is faster beyond the noise"),
        ChoiceLine("leanest", found.leanest, "nothing takes less memory beyond the noise"),
        ChoiceLine("without touching the source", found.without_source_change, "nothing is better beyond the noise"),
        ChoiceLine(source, found.source_change, "no pool and no arena is better beyond the noise"),
    ]


def what_to_do(advice: Advice, name_of: Callable[[Option], str]) -> str:
    """Returns what we would do, without the preference; `name_of` gives the words for a contender."""
    found = advice.choices
    if found is None or advice.choice is None:
        return ""
    foreign = foreign_text(advice)
    otherwise = name_of(found.without_source_change) if found.without_source_change else ""
    would_do = {
        "plan": _others_change(foreign, otherwise) if foreign else "change the source",
        "malloc": f"run it on {name_of(advice.choice)}",
        "nothing": "nothing",
        "trade": "choose by your own priority",
    }
    return would_do.get(advice.choice.kind, "measure longer: some contender looks better, but that is not settled")


def preference_text(advice: Advice) -> str:
    """Returns `--prefer balanced: 1 % of CPU weighs as much as 1 % of peak memory`."""
    prefer = advice.choices.prefer if advice.choices else ""
    words = _PREFERENCE_WORDS.get(prefer, "")
    return f"--prefer {prefer}: {words.replace('CPU', 'throughput') if advice.load else words}" if prefer else ""


def lines(advice: Advice) -> list[tuple[str, str]]:
    """Returns a label and a line for each choice and for what we would do; empty without a verdict."""
    found = choices(advice)
    if not found:
        return []
    said = [(one.label, option_text(one.option) if one.option else one.otherwise) for one in found]
    ours = f"{what_to_do(advice, lambda option: option.what)} ({preference_text(advice)})"
    return [*said, ("what we would do", ours)]


def _others_change(packages: str, otherwise: str) -> str:
    """Returns the advice on a plan for other people's code: how to run the program now, and who could change the
    source.
    """
    malloc = f" or on {otherwise}" if otherwise else ""
    return f"run it under the plan{malloc}; the maintainers of {packages} could change the source"


def option_text(option: Option) -> str:
    """Returns `LD_PRELOAD=libfast.so: CPU -27.6 % (-28.0 % to -26.9 %), peak memory +3.0 % (+0.3 MB)`."""
    parts = speed_words({metric: known for metric, change in option.changes.items() if (known := change.known)})
    if option.peak and (peak := option.peak.known):
        saved = option.peak.saved.known if option.peak.saved else None
        more = f" ({'-' if saved.median > 0 else '+'}{bytes_text(abs(saved.median))})" if saved else ""
        parts.append(f"peak memory {percent_text(peak.median)}{more}")
    return f"{option.what}: {', '.join(parts) or 'not measured'}"
