# SPDX-License-Identifier: BSL-1.0
"""The first `--` divides the command line, `--json` takes no following word, and the program's words stay unchanged."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millpond.system import arguments
from millpond.system.arguments import CommandLine
from millpond.system.errors import Failure, Status

words = st.lists(st.sampled_from(["--json", "--json=x", "--budget", "3", "-", "prog", "", "--", "-x"]), max_size=8)


@given(words.filter(lambda w: "--" not in w), words)
def test_everything_after_the_first_dashes_belongs_to_the_program(before: list[str], behind: list[str]) -> None:
    line = arguments.split([*before, "--", *behind])
    assert line.program == tuple(behind)
    assert line.options == tuple("--json=-" if w == "--json" else w for w in before)


@given(words.filter(lambda w: "--" not in w))
def test_without_dashes_there_is_no_program(before: list[str]) -> None:
    assert arguments.split(before).program is None


@pytest.mark.parametrize(
    ("line", "positional", "reason"),
    [
        (CommandLine((), None), ["prog"], "`--` is missing"),
        (CommandLine((), ()), [], "no program follows `--`"),
        (CommandLine((), ("",)), [""], "no program follows `--`"),
        (CommandLine((), ("prog",)), ["stray", "prog"], "'stray' before `--`"),
    ],
)
def test_a_wrongly_given_program_is_a_usage_failure(line: CommandLine, positional: list[str], reason: str) -> None:
    with pytest.raises(Failure, match=reason) as caught:
        arguments.program_of("advise", line, positional)
    assert caught.value.status == Status.USAGE
    assert "millpond advise [OPTIONS] -- PROGRAM ARGS..." in caught.value.message


def test_the_programs_words_are_passed_on_unchanged() -> None:
    line = CommandLine((), ("prog", "--json", "--", "-x"))
    assert arguments.program_of("trial", line, ["prog", "--json", "--", "-x"]) == ("prog", "--json", "--", "-x")


@pytest.mark.parametrize(
    ("text", "size"), [("4096", 4096), ("64MB", 64_000_000), ("1.5 GB", 1_500_000_000), ("2k", 2000), ("1t", 10**12)]
)
def test_a_size_has_decimal_units(text: str, size: int) -> None:
    assert arguments.bytes_of(text) == size


@pytest.mark.parametrize("text", ["", "0", "0.1", "-3", "MB", "3MiB", "3 4", "1e3", "nan"])
def test_malformed_sizes_are_refused_with_an_explanation(text: str) -> None:
    with pytest.raises(ValueError, match="is not a size; give bytes"):
        arguments.bytes_of(text)
