# SPDX-License-Identifier: BSL-1.0
"""The report for a terminal: the tables of `advise`, then the limits of the figures and how to repeat them."""

from __future__ import annotations

import io
import shlex
import shutil
import sys
from collections.abc import Sequence
from typing import IO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from millpond.advice import choice_text, container_text
from millpond.advice.advice_data import Advice, Alternative, AnalysedProgram, Effect, Row
from millpond.advice.missing_symbols import missing_symbols
from millpond.advice.row_reasons import legality_text
from millpond.report import reference_text, replay_text, symbols_table
from millpond.report.cases import Case
from millpond.report.report_text import (
    EFFECT_WORDS,
    answer,
    commands,
    density_note,
    facts,
    not_measured,
    taken_off,
    trace_warnings,
    window_text,
)
from millpond.rounds.characterisation import Characterisation, MissingSymbols, ReferenceFacts, SubsystemFacts
from millpond.rounds.fresh_process import describe
from millpond.rounds.trial_data import TrialResult
from millpond.system.wording import (
    bytes_text,
    change_text,
    count_text,
    effect_text,
    percent_text,
    plural,
    saved_text,
    seconds_text,
    share_text,
)

ROWS_AT_MOST = 15
TRIAL_EFFECTS = (*EFFECT_WORDS, "shared_pool", "shared_pool_huge", "interposer", "look_up")


def console(file: IO[str] | None = None) -> Console:
    """Returns a console on standard output, or on `file`; wide enough for the tables unless the user has set
    a width.
    """
    stream = file or sys.stdout
    width = None if stream.isatty() else shutil.get_terminal_size((140, 50)).columns
    return Console(file=stream, width=width, highlight=False, soft_wrap=False)


def render(cases: Sequence[Case], damaged: Sequence[str] = (), missing: Sequence[str] = ()) -> str:
    """Returns the text of these cases, without colours, as wide as the terminal or $COLUMNS."""
    file = io.StringIO()
    print_cases(cases, console(file), damaged, missing)
    return file.getvalue()


def print_cases(cases: Sequence[Case], out: Console, damaged: Sequence[str] = (), missing: Sequence[str] = ()) -> None:
    """Prints these cases to a console."""
    print_warnings([*(f"not read: {line}" for line in damaged), *(f"missing: {line}" for line in missing)], out)
    for number, case in enumerate(cases):
        if number:
            out.rule()
        _print_case(case, out)


def _print_case(case: Case, out: Console) -> None:
    _, headline = answer(case.advice)
    out.print(Text(headline), style="bold")
    print_advice(case.advice, out)
    out.print(Text(f"{', '.join(facts(case))}. {case.advice.machine or ''}"))
    for i in case.inputs:
        out.print(Text(f"Input {i.number} ({' '.join(i.arguments)}): {i.verdict}"))
    _print_replay(case, out)
    if case.came_out:
        out.print(Text(case.came_out.heading), style="bold")
        for came_out in case.came_out.lines:
            out.print(Text(f"- {came_out.sentence}"))
    out.print(Text("Not measured"), style="bold")
    for line in not_measured(case):
        out.print(Text(f"- {line}"))
    out.print(Text(f"Repeat it (run {case.run or 'unknown'})"), style="bold")
    for what, command in commands(case):
        # Keeps one line even if it is long, so that it can be copied.
        out.print(Text(f"# {what}"), style="dim")
        out.print(Text(command), soft_wrap=True)


def _print_replay(case: Case, out: Console) -> None:
    out.print(Text(replay_text.sentence(case)))
    for line in replay_text.lines(case):
        if line.kind == "trial":
            out.print(Text(f"  {line.subject}"))
        out.print(Text(f"    {line.what}: saves CPU {line.cpu}, peak resident bytes {line.peak}"))


def print_warnings(warnings: Sequence[str], out: Console) -> None:
    """Prints a line for each warning, with a mark."""
    for warning in warnings:
        out.print(Text(f"! {warning}"), style="yellow")


def titled_table(title: str, *columns: str, left: int = 1) -> Table:
    """Returns an empty table; columns after the first `left` hold numbers."""
    table = Table(title=title, title_justify="left", title_style="bold", header_style="bold")
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number < left else "right", overflow="fold")
    return table


def subsystems_table(subsystems: Sequence[SubsystemFacts]) -> Table:
    """Returns the table of each subsystem's memory use."""
    table = titled_table(
        "Subsystems", "subsystem", "kind", "events", "bytes", "peak live", *"DVLUC", "legality", left=2
    )
    table.columns[-1].justify = "left"
    for s in subsystems[:ROWS_AT_MOST]:
        table.add_row(
            Text(s.label),
            s.kind or "",
            count_text(s.events),
            bytes_text(s.bytes),
            bytes_text(s.peak_live_bytes),
            *[share_text(s.dimension(letter).value) for letter in "DVLUC"],
            Text(legality_text(s.legality)),
        )
    if len(subsystems) > ROWS_AT_MOST:
        table.caption = f"and {len(subsystems) - ROWS_AT_MOST} smaller ones; --json has them all"
    return table


def references_text(counted: ReferenceFacts) -> str:
    """Returns one line on the references of a trace as a whole."""
    misses = counted.misses
    return (
        f"D, L and C are counted from {count_text(counted.references)} references. L = I/(I + M·T): I references to a "
        f"subsystem's objects, M the most cache lines that hold them, T transitions to other subsystems. The "
        f"allocator executes {share_text(counted.instruction_share)} of the instructions; in a cache of "
        f"{bytes_text(counted.cache.bytes)} the program misses {count_text(misses.get('program'))} times, "
        f"{count_text(misses.get('indirect'))} of them on lines that the allocator evicted."
    )


def print_characterisation(data: Characterisation, out: Console) -> None:
    """Prints the table of `millpond trace show`."""
    trace = data.trace
    out.print(Text(data.process.words), style="bold")
    named = trace.named_share
    said = [
        f"{count_text(trace.events)} heap events",
        f"{bytes_text(trace.bytes)} allocated",
        f"{bytes_text(trace.peak_live_bytes)} live at the peak",
        plural(trace.threads or 1, "thread"),
        "names unknown" if named is None else f"{100 * named:.0f} % of events are from functions with a name",
    ]
    out.print(Text(", ".join(said)))
    print_warnings(trace_warnings(trace), out)
    out.print(subsystems_table(data.subsystems))
    print_symbols(missing_symbols(trace), out)
    if data.window:
        out.print(Text(window_text(data.window)))
    if note := density_note(data.subsystems):
        out.print(Text(note))
    if data.references:
        out.print(Text(references_text(data.references)))


def print_advice(advice: Advice, out: Console) -> None:
    """Prints the tables of `millpond advise`: the verdict first, then the figures behind it."""
    program = advice.program
    out.print(Text(" ".join(program.argv)), style="bold")
    is_better = answer(advice)[0] in ("pays", "other")
    out.print(Text(advice.verdict), style="bold green" if is_better else "bold")
    for label, line in choice_text.lines(advice):
        out.print(Text(f"  {label}: {line}"))
    print_warnings([*advice.notes, *trace_warnings(advice.trace)], out)
    if len(program.processes) > 1:
        out.print(_processes(program))
    if program.signal or program.exit:
        out.print(Text(f"The program {describe(program.exit or 0, program.signal or 0)}."))
    if advice.subsystems:
        _print_tables(advice, out)
    print_symbols(advice.symbols, out)
    _print_references(advice, out)


def print_symbols(symbols: MissingSymbols | None, out: Console) -> None:
    """Prints the modules without symbols and the command that gets these; nothing if no name is missing."""
    if symbols:
        table = titled_table(symbols_table.TITLE, *symbols_table.HEADINGS, left=2)
        for cells in symbols_table.rows(symbols):
            table.add_row(*map(Text, cells))
        out.print(table, Text(symbols.sentence), sep="\n")


def _print_tables(advice: Advice, out: Console) -> None:
    if advice.rounds:
        out.print(_effects_table(advice))
    if advice.alternatives:
        out.print(_alternatives_table(advice.alternatives))
    out.print(_advice_table(advice.subsystems))
    _print_code(advice.subsystems, out)
    out.print(subsystems_table(advice.subsystems))


def _print_references(advice: Advice, out: Console) -> None:
    """Prints a captured run's misses; nothing if no capture was requested."""
    for sentence in reference_text.sentences(advice):
        out.print(Text(sentence))
    for title, headings, rows in (
        ("Where references miss", reference_text.HEADINGS, reference_text.rows(advice)),
        ("Misses by place", reference_text.PLACE_HEADINGS, reference_text.places(advice)),
        ("Accessed together", reference_text.affinity_headings(advice), reference_text.affinity_rows(advice)),
        ("Predicted layouts", reference_text.PREDICTED_HEADINGS, reference_text.predicted_rows(advice)),
    ):
        if rows:
            table = titled_table(title, *headings)
            for row in rows:
                table.add_row(Text(row.name), *row.cells)
            out.print(table)
    words_below = [reference_text.rest_text(advice), reference_text.EXPLANATION]
    if reference_text.affinity_rows(advice):
        words_below.append(f"Accessed together: {reference_text.AFFINITY_EXPLANATION}")
    words_below.append(reference_text.predicted_note(advice))
    for words in words_below:
        if words and reference_text.rows(advice):
            out.print(Text(words))


def _processes(program: AnalysedProgram) -> Table:
    table = titled_table("Processes (--process N analyses another)", "N", "program", "events", "bytes", left=2)
    for p in program.processes:
        mark = "→ " if p.number == program.analysed else "  "
        table.add_row(f"{mark}{p.number}", Text(p.words[:80]), count_text(p.events), bytes_text(p.bytes))
    return table


def _effects_table(advice: Advice) -> Table:
    rounds, bare = plural(advice.rounds, "round"), advice.noise.get("cpu_seconds")
    spread = f"; half of the bare program's rounds within {100 * bare.spread:.1f} %" if bare else ""
    table = titled_table(f"Effects ({rounds}{spread})", "what", "CPU", "saves", "peak memory", left=2)
    for name, words in EFFECT_WORDS.items():
        effect = advice.every_effect.get(name) or Effect()
        table.add_row(words, effect_text(effect), saved_text(effect.saved, "seconds"), effect_text(effect.peak))
    for words, effect in taken_off(advice):
        table.add_row(words, change_text(effect), "–", change_text(effect.peak))
    return table


def _alternatives_table(alternatives: Sequence[Alternative]) -> Table:
    table = titled_table("Other contenders", "kind", "what", "CPU", "peak memory", "rounds", left=2)
    table.columns[-1].justify = "left"
    for a in alternatives:
        judged = "judged" if a.judged else "while choosing"
        table.add_row(
            Text(a.kind),
            Text(a.command or a.name),
            effect_text(a.cpu) if a.cpu else "–",
            effect_text(a.peak) if a.peak else "–",
            Text(a.why_null or judged),
        )
    return table


def _advice_table(rows: Sequence[Row]) -> Table:
    table = titled_table("Advice", "subsystem", "best", "saves CPU", "saves bytes", "reason", left=2)
    table.columns[-1].justify = "left"
    for r in rows[:ROWS_AT_MOST]:
        table.add_row(
            Text(r.label),
            Text(r.best),
            saved_text(r.saves_cpu_seconds, "seconds"),
            saved_text(r.saves_bytes, "bytes"),
            Text(r.reason),
            style="green" if r.pays else None,
        )
    return table


def _print_code(rows: Sequence[Row], out: Console) -> None:
    """Prints for each advised subsystem its allocations, the owner of the allocator, and the declarations to change."""
    for r in rows[:ROWS_AT_MOST]:
        if r.code is None:
            continue
        out.print(Text(f"{r.label}: {r.code.owner}"), style="bold")
        for line in container_text.lines(r):
            out.print(Text(f"  {line}"))
        for line in container_text.change_lines(r.code):
            out.print(Text(f"  {line}"), soft_wrap=True)


def print_inputs(advice: Advice, out: Console) -> None:
    """Prints the table of `advise --inputs`: a row for each input; then the advice that holds only in some."""
    table = titled_table(
        plural(len(advice.inputs), "input"), "N", "arguments", "a faster malloc", "placement", "by itself", left=5
    )
    for given in advice.inputs:
        table.add_row(
            str(given.number),
            Text(shlex.join(given.arguments)),
            effect_text(given.effects.get("faster_malloc")),
            effect_text(given.effects.get("placement")),
            Text(given.verdict),
        )
    out.print(table)
    print_warnings([f"{row.name}: {row.warning}" for row in advice.subsystems if row.warning], out)


def print_trial(trial: TrialResult, out: Console) -> None:
    """Prints the tables of `millpond try`: each contender, then each plan's effects."""
    table = titled_table(
        f"{plural(trial.rounds, 'round')} of each", "contender", "CPU", "wall", "peak resident", "faults"
    )
    for contender in trial.contenders:
        m = contender.metrics
        cells = [
            show(m[metric].median) if metric in m else "–"
            for metric, show in (
                ("cpu_seconds", seconds_text),
                ("wall_seconds", seconds_text),
                ("peak_bytes", bytes_text),
                ("page_faults", count_text),
            )
        ]
        table.add_row(Text(contender.name), *cells)
    out.print(table)
    effects = titled_table("Effects", "what", "CPU", "peak resident", left=3)
    for plan in trial.plans:
        for name, metrics in plan.effects.items():
            if name in TRIAL_EFFECTS:
                peak = metrics.get("peak_bytes")
                label = name if len(trial.plans) == 1 else f"{plan.name}: {name}"
                effects.add_row(
                    label,
                    effect_text(metrics.get("cpu_seconds")),
                    f"{percent_text(peak.median)}, {peak.verdict}" if peak else "–",
                )
    out.print(effects)
    print_warnings(trial.notes, out)
