# SPDX-License-Identifier: BSL-1.0
"""Two traces are compared by subsystem and by call context; counts have no noise, and builds are matched by names."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field

import pytest
from conftest import FakeLab
from msgspec import structs

from millpond.report import markdown
from millpond.report.comparison.trace_changes import (
    ContextChange,
    State,
    TraceComparison,
    compare_traces,
    require_known,
)
from millpond.report.figures.icicle_figure import difference
from millpond.report.views.trace_change_view import ANSWER, MARKDOWN, PAGE, trace_change_section
from millpond.rounds.characterisation import Characterisation, ProcessFacts, RecordedTrace, SampledIntervals, Subsystem
from millpond.statistics.conditions import parse
from millpond.store.call_tree import CallTree, Node
from millpond.system.errors import Failure

Key = tuple[str, tuple[str, ...]]
OPPOSITE: dict[State, State] = {"new": "gone", "gone": "new", "grown": "shrunk", "shrunk": "grown", "same": "same",
                               "unclear": "unclear"}  # fmt: skip


@dataclass
class SmallProgram:
    """A program by the bytes that it allocates for each subsystem and stack."""

    bytes_of: dict[Key, int] = field(default_factory=dict)

    def trace(self, build: str = "b", mark: str = "") -> tuple[Characterisation, CallTree]:
        """The characterisation and the call tree. `mark`: stands after each name, as in another build."""
        functions: dict[str, int] = {}
        subsystems = list(dict.fromkeys(name for name, _ in self.bytes_of))
        nodes: list[Node] = []
        number_of: dict[tuple[str, ...], int] = {(): 0}
        for (name, stack), size in self.bytes_of.items():
            for depth in range(1, len(stack) + 1):
                shorter, part = stack[:depth], stack[: depth - 1]
                # A node of its own for each context: characterise writes one for each place in a function.
                nodes.append(
                    (number_of[part], functions.setdefault(stack[depth - 1] + mark, len(functions)), -1, 0, 0, 0, 0)
                )
                number_of[shorter] = len(nodes)
            nodes[-1] = (*nodes[-1][:2], subsystems.index(name), 2, size, 1, size // 2)
        whole = sum(self.bytes_of.values())
        found = Characterisation(
            trace=RecordedTrace(path="t.mpt", events=3, allocations=2 * len(self.bytes_of), bytes=whole,
                                peak_live_bytes=whole, end_live_bytes=whole // 2),
            process=ProcessFacts(executable="/p", build_id=build, argv=("p",)),
            subsystems=tuple(
                Subsystem(name=name, bytes=sum(size for (own, _), size in self.bytes_of.items() if own == name))
                for name in subsystems
            ),
        )  # fmt: skip
        return found, CallTree(functions=tuple(functions), subsystems=tuple(subsystems), nodes=tuple(nodes))


def drawn(dice: random.Random) -> SmallProgram:
    """A random program of few functions, so that two of them share contexts."""
    made = SmallProgram()
    for _ in range(dice.randrange(12)):
        stack = tuple(dice.choice("fgh") for _ in range(dice.randint(1, 4)))
        made.bytes_of["s" + stack[-1], ("main", *stack)] = dice.choice((8, 16, 4096))
    return made


def by_key(found: TraceComparison) -> dict[Key, ContextChange]:
    assert len({(one.name, one.stack) for one in found.contexts}) == len(found.contexts), "a context stands twice"
    return {(one.name, one.stack): one for one in found.contexts}


def test_contexts_are_those_of_a_model(seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(200):
        a, b = drawn(dice), drawn(dice)
        found = by_key(compare_traces(a.trace(), b.trace()))
        assert found.keys() == a.bytes_of.keys() | b.bytes_of.keys()
        for key, one in found.items():
            before, after = a.bytes_of.get(key), b.bytes_of.get(key)
            assert (one.a and one.a.bytes, one.b and one.b.bytes) == (before, after)
            assert one.more_bytes == (after or 0) - (before or 0)


def test_the_other_direction_is_the_opposite(seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(100):
        a, b = drawn(dice).trace(), drawn(dice).trace()
        there, back = by_key(compare_traces(a, b)), by_key(compare_traces(b, a))
        assert {key: one.state for key, one in there.items()} == {key: OPPOSITE[one.state] for key, one in back.items()}


def test_those_that_changed_most_come_first(seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(100):
        found = compare_traces(drawn(dice).trace(), drawn(dice).trace())
        for rows in (found.subsystems, found.contexts):
            changes = [abs(one.more_bytes) for one in rows]
            assert changes == sorted(changes, reverse=True)


def test_a_trace_equals_itself_in_another_build(seed: int) -> None:
    """Functions without a name have another place in each build."""
    program = drawn(random.Random(seed))
    found = compare_traces(
        program.trace("b1", "!f424@289ee39f"), program.trace("b2", "!f7@0000aaaa"),
        [parse("new context > 0B"), parse("bytes > 0B"), parse("bytes < -0B")],
    )  # fmt: skip
    assert {one.state for one in (*found.subsystems, *found.contexts)} <= {"same"}
    assert not found.breaches
    assert any("two builds" in note for note in found.notes)
    assert trace_change_section(found, PAGE).title == "Both traces allocate the same"


A = SmallProgram({("x", ("main", "f")): 100, ("y", ("main", "g")): 1000})
B = SmallProgram({("x", ("main", "f")): 150, ("z", ("main", "h")): 2000, ("x", ("main", "k", "f")): 5})


@pytest.mark.parametrize(
    ("condition", "breached"),
    [
        ("new context > 1kB", ["h < main"]),
        ("new context > 4B", ["h < main", "f < k < main"]),
        ("new context > 2kB", []),
        ("new subsystem > 1kB", ["z"]),
        ("bytes > +50%", ["the program", "x"]),
        ("bytes > +1kB", ["the program", "z"]),
        ("bytes < -50%", ["y"]),
        ("end_live_bytes > +10MB", []),
    ],
)
def test_conditions_are_breached_by_name(condition: str, breached: list[str]) -> None:
    found = compare_traces(A.trace(), B.trace(), [parse(condition)])
    assert Counter(one.sentence.partition(" is new")[0].partition(": ")[0] for one in found.breaches) == Counter(
        breached
    )


def widened(trace: tuple[Characterisation, CallTree], by: float, unseen: int) -> tuple[Characterisation, CallTree]:
    """The trace as if it were a sample: with intervals from 1 / (1 + by) to 1 + by of each figure and `unseen`."""
    facts, tree = trace

    def ends(value: int | None) -> tuple[int, int]:
        return int((value or 0) / (1 + by)), int((value or 0) * (1 + by)) + unseen

    def intervals(one: RecordedTrace | Subsystem) -> SampledIntervals:
        return SampledIntervals(bytes=ends(one.bytes), end_live_bytes=ends(one.end_live_bytes))

    return (
        structs.replace(
            facts,
            trace=structs.replace(facts.trace, intervals=intervals(facts.trace), sample_bytes=4096),
            subsystems=tuple(structs.replace(one, intervals=intervals(one)) for one in facts.subsystems),
        ),
        structs.replace(
            tree, intervals=tuple((*ends(node[-3]), *ends(node[-1])) for node in tree.nodes), unseen=(unseen, unseen)
        ),
    )


def test_exact_intervals_decide_as_counts_do(seed: int) -> None:
    dice = random.Random(seed)
    wanted = [parse("bytes > +5%"), parse("new context > 10B"), parse("bytes < -5B")]
    for _ in range(100):
        a, b = drawn(dice).trace(), drawn(dice).trace()
        counted, sampled = compare_traces(a, b, wanted), compare_traces(widened(a, 0, 0), widened(b, 0, 0), wanted)
        assert [one.state for one in counted.contexts] == [one.state for one in sampled.contexts]
        assert counted.breaches == sampled.breaches


@pytest.mark.parametrize("sampled_sides", [(True, True), (True, False), (False, True)])
def test_what_a_sample_does_not_decide_is_unclear(seed: int, sampled_sides: tuple[bool, bool]) -> None:
    dice = random.Random(seed)
    wanted = [parse("bytes > 0B"), parse("new context > 0B"), parse("bytes < -0B"), parse("new subsystem > 0B")]
    for _ in range(50):
        a, b = (widened(drawn(dice).trace(), 1e6, 10**9) if one else drawn(dice).trace() for one in sampled_sides)
        found = compare_traces(a, b, wanted)
        assert {one.state for one in (*found.subsystems, *found.contexts)} <= {"unclear"}
        assert not found.breaches
        assert trace_change_section(found, PAGE).title == "No change stands out from the samples"


def test_a_change_beyond_its_interval_is_told() -> None:
    """h allocates 2000 B, surely more than 1000 B; g no longer 1000 B; 100 B and 150 B are not told apart."""
    a, b = widened(A.trace(), 0.5, 400), widened(B.trace(), 0.5, 400)
    found = compare_traces(a, b, [parse("new context > 400B"), parse("bytes > +1kB"), parse("new context > 2kB")])
    assert {"/".join(one.stack[1:]): one.state for one in found.contexts} == {
        "h": "new", "g": "gone", "f": "unclear", "k/f": "unclear",
    }  # fmt: skip
    assert [one.condition for one in found.breaches] == ["new context > 400B", "bytes > +1kB"]
    assert found.breaches[1].sentence.startswith("z: bytes 0 B → 2.00 kB")
    text = markdown.render_section(trace_change_section(found, MARKDOWN))
    assert "A is a sample, one byte in 4096" in text and "more" in text


def test_a_new_leak_is_a_change() -> None:
    facts, tree = A.trace()
    leaking = structs.replace(tree, nodes=tuple((*node[:-1], node[-1] * 2) for node in tree.nodes))
    states = {one.name: one.state for one in compare_traces((facts, tree), (facts, leaking)).contexts}
    assert states == {"x": "grown", "y": "grown"}


@pytest.mark.parametrize("condition", ["cpu_seconds > +5%", "new context > +5%", "new context > 3", "bytes > +3s",
                                       "new context < -1MB", "new thing > 1MB"])  # fmt: skip
def test_conditions_that_traces_lack_are_refused(condition: str) -> None:
    with pytest.raises(Failure, match="--fail-if"):
        require_known([parse(condition)])


def test_the_document_is_read_as_it_was_written() -> None:
    found = compare_traces(A.trace(), B.trace("c"), [parse("bytes > +1%")])
    assert TraceComparison.from_json(found.to_json()) == found


def test_every_level_of_detail_has_its_rows() -> None:
    found = compare_traces(A.trace(), B.trace())
    for detail in (*ANSWER, MARKDOWN, PAGE):
        text = markdown.render_section(trace_change_section(found, detail))
        assert "3 contexts" in text or "4 contexts" in text
        assert ("h < main" in text.replace("&lt;", "<")) is (detail.contexts > 0)


def test_the_figure_has_the_bytes_that_were_added_and_removed() -> None:
    figure = difference(compare_traces(A.trace(), B.trace()).contexts)
    assert figure is not None
    at = {figure.names[node.name]: node.values for node in figure.nodes if node.parent >= 0}
    measures = [axis.name for axis in figure.measures]
    assert dict(zip(measures, at["h"], strict=True)) == {"more in B": 2000, "fewer in B": 0, "A": 0, "B": 2000}
    assert dict(zip(measures, at["g"], strict=True))["fewer in B"] == 1000
    roots = [node.values for node in figure.nodes if node.parent < 0]
    assert roots == [[2055, 1000, 1100, 2155]]
    assert difference(compare_traces(A.trace(), A.trace()).contexts) is None


def test_the_verb_writes_every_form_and_is_a_gate(lab: FakeLab) -> None:
    for name in ("a.mpt", "b.mpt"):
        (lab.work / name).write_text("1000")
    lab.configure(subsystems=[{"name": "book", "bytes": 5000}])
    done = lab.run(
        "compare", "a.mpt", "b.mpt", "-o", "c.json", "-o", "c.html", "-o", "c.md", "--fail-if", "bytes > +5%"
    )
    assert done.status == 0, done.stderr
    assert TraceComparison.read(lab.work / "c.json").conditions == ("bytes > +5%",)
    assert "Both traces allocate the same" in (lab.work / "c.md").read_text()
    assert "Both traces allocate the same" in (lab.work / "c.html").read_text()
    assert "Both traces allocate the same" in done.stdout


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--cells=x"], "--cells is for"),
        (["--fail-if", "cpu_seconds > +5%"], "traces have"),
        (["-o", "missing/c.json"], "missing/c.json"),
    ],
)
def test_a_wrong_comparison_of_traces_is_refused(lab: FakeLab, words: list[str], reason: str) -> None:
    for name in ("a.mpt", "b.mpt"):
        (lab.work / name).touch()
    done = lab.run("compare", "a.mpt", "b.mpt", *words)
    assert done.status in (2, 4) and reason in done.stderr


def test_only_traces_have_a_page(lab: FakeLab) -> None:
    done = lab.run("compare", "one", "two", "-o", "c.html")
    assert done.status == 2 and "two traces" in done.stderr
