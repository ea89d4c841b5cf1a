# SPDX-License-Identifier: BSL-1.0
"""The choices of an advice in words, one line each: fastest, leanest, without and with a change of the source, and
ours.
"""

from __future__ import annotations

from millpond.advice.advice_data import Advice, Option
from millpond.advice.code_homes import foreign_text
from millpond.system.wording import bytes_text, change_text, percent_text

_PREFERENCE_WORDS = {
    "cpu": "memory decides only between equals",
    "memory": "CPU decides only between equals",
    "balanced": "1 % of CPU weighs as much as 1 % of peak memory",
}


def lines(advice: Advice) -> list[tuple[str, str]]:
    """Returns a label and a line for each choice and for what we would do; empty without a verdict."""
    found = advice.choices
    if found is None or advice.choice is None:
        return []
    named = (
        ("fastest", found.fastest, "nothing is faster beyond the noise"),
        ("leanest", found.leanest, "nothing takes less memory beyond the noise"),
        ("without touching the source", found.without_source_change, "nothing is better beyond the noise"),
        ("in the source", found.source_change, "no pool and no arena is better beyond the noise"),
    )
    lines = [(label, option_text(one) if one else otherwise) for label, one, otherwise in named]
    foreign = foreign_text(advice)
    would_do = {
        "plan": _others_change(foreign, found.without_source_change) if foreign else "change the source",
        "malloc": f"run it on {advice.choice.what}",
        "nothing": "nothing",
        "trade": "choose by your own priority",
    }
    said = would_do.get(advice.choice.kind, "measure longer: some contender looks better, but that is not settled")
    if foreign:
        lines[-1] = (f"in the source of {foreign}", lines[-1][1])
    return [*lines, ("what we would do", f"{said} (--prefer {found.prefer}: {_PREFERENCE_WORDS[found.prefer]})")]


def _others_change(packages: str, otherwise: Option | None) -> str:
    """Returns the advice on a plan for other people's code: how to run the program now, and who could change the
    source.
    """
    malloc = f" or on {otherwise.what}" if otherwise else ""
    return f"run it under the plan{malloc}; the maintainers of {packages} could change the source"


def option_text(option: Option) -> str:
    """Returns `LD_PRELOAD=libfast.so: CPU -27.6 % (-28.0 % to -26.9 %), peak memory +3.0 % (+0.3 MB)`."""
    parts = []
    if option.cpu and (cpu := option.cpu.known):
        parts.append(f"CPU {change_text(cpu)}")
    if option.peak and (peak := option.peak.known):
        saved = option.peak.saved.known if option.peak.saved else None
        more = f" ({'-' if saved.median > 0 else '+'}{bytes_text(abs(saved.median))})" if saved else ""
        parts.append(f"peak memory {percent_text(peak.median)}{more}")
    return f"{option.what}: {', '.join(parts) or 'not measured'}"
