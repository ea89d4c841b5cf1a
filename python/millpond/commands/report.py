# SPDX-License-Identifier: BSL-1.0
"""The verb `millpond report [STORE]`: reports the stored results as a page, text, data, or a file for another tool.

    html text json markdown           the latest run of each workload, each a section; --run picks one
    results                           the results of `millpond-bench` on papers' statements, as a folder of pages
    csv subsystems                    the observations, or the subsystems, of one run
    pprof collapsed speedscope        the call tree of one run; objects, live_bytes: collapsed with these widths
    chrome                            live bytes and pages over time of one run
    contribution                      the results on papers' statements as one file for other people

Given contributions instead of a store, it reports every statement on every machine, as html, text, json, markdown or
results.

The form follows from the ending of the file given by -o; without one the report goes to the terminal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from millpond.commands.writing import prove_all, write_form
from millpond.report import cases as report_cases
from millpond.report.cases import Case
from millpond.store.check import WRONG_DATA
from millpond.store.run_contents import RunContents
from millpond.store.store import DEFAULT, Store
from millpond.system import extensions, output
from millpond.system.any_bytes import shown
from millpond.system.errors import Failure, Status
from millpond.system.progress import say
from millpond.verbs.requests import REPORT_FORMS, ReportRequest
from millpond.verbs.values import STDOUT, Output

FORMS = (*REPORT_FORMS.values(), "results")
_CONTRIBUTION = ".contribution.json"
_MATRIX_FORMS = ("html", "markdown", "text", "json", "results")


def report(request: ReportRequest) -> None:
    """Reports the stored results as a page, text, data, or a file for another tool."""
    wanted = _wanted(request)
    if any(map(_is_contribution, request.sources)):
        _report_contributions(request, wanted)
        return
    if len(request.sources) > 1:
        raise Failure(Status.USAGE, f"report takes one store, not {len(request.sources)}; or several contributions")
    source = Store(request.sources[0] if request.sources else request.store)
    if not source.folder.is_dir():
        of_papers = any(one.form in ("results", "contribution") for one in wanted)
        verb = "millpond-bench run EXPERIMENT" if of_papers else "millpond advise"
        raise Failure(Status.INPUT, f"there is no store {source.folder}; `{verb} --store DIR` makes one")
    prove_all([one for one in wanted if one.form != "results"])
    for one in wanted:
        if one.form == "results":
            _write_results(source, one.path)
        elif one.form == "contribution":
            packed = extensions.part("pack_results", f"-o FILE{_CONTRIBUTION}")(source)
            write_form(packed or _no_verdicts(source), one.place)
        elif not request.out and request.format is None:
            _print(source, request)
        else:
            write_form(_make(source, one.form, request.run), one.place)
    source.finish()


def _print(store: Store, request: ReportRequest) -> None:
    from millpond.report import terminal
    from millpond.report.answer_text import ResultFiles

    cases, damaged, missing, _ = _reported(store, "text", request.run)
    if request.is_verbose:
        terminal.print_cases(cases, terminal.console(), damaged, missing)
        return
    kept_in = "" if store.folder == DEFAULT else str(store.folder)
    terminal.print_answer(cases, terminal.console(), ResultFiles(store=kept_in), damaged, missing)


def _wanted(request: ReportRequest) -> tuple[Output, ...]:
    """The places and forms to write; text on the terminal by default. Understands the words of earlier versions."""
    wanted = request.out or (Output(STDOUT, "text"),)
    if (request.format, request.weight, request.relation) == (None, None, None):
        return wanted
    say("--format, --weight, --relation are old words: the ending of -o FILE names the form, or write -o FORM:FILE")
    forms = [request.format or one.form for one in wanted]
    newer = {"csv": request.relation, "collapsed": request.weight}
    forms = [{"observations": "csv", "bytes": "collapsed"}.get(new, new) for new in (newer.get(f) or f for f in forms)]
    if forms[0] not in FORMS:
        raise Failure(Status.USAGE, f"{forms[0]!r} is not one of the forms {', '.join(FORMS)}")
    return tuple(Output(one.place, form) for one, form in zip(wanted, forms, strict=True))


def _write_results(store: Store, folder: Path) -> None:
    """Writes the store's results on papers' statements to a folder, and merges them with the results already there."""
    _require_folder(folder)
    if not extensions.part("write_results", "-o results:FOLDER")(store, folder):
        _no_verdicts(store)


def _require_folder(folder: Path) -> None:
    if str(folder) == STDOUT or (folder.exists() and not folder.is_dir()):
        raise Failure(Status.USAGE, "results are several files: write -o results:FOLDER, such as docs/results")


def _no_verdicts(store: Store) -> NoReturn:
    raise Failure(
        Status.INPUT,
        f"the store {store.folder} has no verdicts on statements; `millpond-bench run EXPERIMENT --store DIR` stores "
        "those of whole experiments",
    )


def _is_contribution(path: Path) -> bool:
    return not path.is_dir() and (path.exists() or path.name.endswith(_CONTRIBUTION))


def _report_contributions(request: ReportRequest, wanted: Sequence[Output]) -> None:
    """Reports contributions. Failure before anything is written if one of them is refused (3) or a form is not one of
    theirs (2).
    """
    for one in wanted:
        if one.form not in _MATRIX_FORMS:
            raise Failure(Status.USAGE, f"contributions have no {one.form}; their forms: {', '.join(_MATRIX_FORMS)}")
        if one.form == "results":
            _require_folder(one.path)
    if request.run:
        raise Failure(Status.USAGE, "--run picks a run of a store, and contributions have none")
    prove_all([one for one in wanted if one.form != "results"])
    found = extensions.part("report_on_contributions", "a report on contributions")(request.sources)
    for one in wanted:
        if one.form == "results":
            found.write_results(one.path)
        elif not request.out:
            found.show()
        else:
            write_form(found.render(one.form), one.place)


def _make(store: Store, chosen: str, run: str | None) -> str | bytes:
    from millpond.report.exports import chrome, csv, pprof, stacks

    exports: dict[str, Callable[[RunContents], str | bytes]] = {
        "csv": lambda of: csv.table(of, "observations"),
        "subsystems": lambda of: csv.table(of, "subsystems"),
        "pprof": lambda of: pprof.profile(stacks.tree_of(of), of.run),
        "collapsed": lambda of: stacks.collapsed(stacks.tree_of(of), "bytes"),
        "objects": lambda of: stacks.collapsed(stacks.tree_of(of), "objects"),
        "live_bytes": lambda of: stacks.collapsed(stacks.tree_of(of), "live_bytes"),
        "speedscope": lambda of: stacks.speedscope(stacks.tree_of(of), of.run),
        "chrome": chrome.counters,
    }
    if chosen in exports:
        of = report_cases.latest(store, run)
        try:
            return exports[chosen](of)
        except Failure as failure:
            damaged = [str(skipped) for skipped in store.skipped if skipped.path.name.startswith(of.run)]
            raise Failure(failure.status, "; ".join([failure.message, *damaged])) from failure
        except WRONG_DATA as error:
            raise Failure(
                Status.INPUT,
                f"run {of.run} of the store {store.folder} is damaged or of another version, so no {chosen} can be "
                f"made of it ({type(error).__name__} {' '.join(str(error).split())[:80]}); `millpond advise` again",
            ) from error
    return _reported(store, chosen, run)[-1]


def document(chosen: str, cases: Sequence[Case], damaged: Sequence[str] = (), missing: Sequence[str] = ()) -> str:
    """Returns the report in one of its four forms. `damaged`, `missing`: files that the store could not provide."""
    from millpond.report import markdown, page, terminal

    if chosen == "html":
        return shown(page.render(cases, damaged, missing))
    if chosen == "markdown":
        return shown(markdown.render(cases, damaged, missing))
    if chosen == "json":
        return output.json_text({
            "schema": "millpond.report/1", "skipped": list(damaged), "missing": list(missing),
            "cases": [c.to_json() for c in cases],
        })  # fmt: skip
    return shown(terminal.render(cases, damaged, missing))


def _reported(store: Store, chosen: str, run: str | None) -> tuple[list[Case], list[str], list[str], str]:
    """Returns the cases that can be reported, the skipped files, the missing ones, and the report. A file that does
    not fit becomes a skipped one.

    Failure (status 3) if no case is left.
    """
    cases, stopped = report_cases.load(store, run, chosen == "json")

    def reported(cases: list[Case]) -> tuple[list[Case], list[str], list[str], str]:
        in_order = sorted(cases, key=lambda case: bool(case.inputs))
        missing = [*(line for case in in_order for line in case.missing), *stopped]
        damaged = [str(skipped) for skipped in store.skipped]
        return cases, damaged, missing, document(chosen, cases, damaged, missing)

    try:
        return reported(cases)
    except WRONG_DATA:  # in some case; finding it takes a second pass over all cases
        fitting = [case for found in cases for case in _fitting(store, chosen, found)]
    if not fitting:
        raise Failure(Status.INPUT, f"nothing can be reported: {'; '.join(map(str, store.skipped))}")
    return reported(fitting)


def _fitting(store: Store, chosen: str, case: Case) -> list[Case]:
    """Returns the case as far as it can be reported: without a faulty characterisation, or not at all."""
    faults = []
    for tried in (case, replace(case, characterisation=None, names=())):
        try:
            document(chosen, [tried])
        except WRONG_DATA as error:
            faults.append(error)
            continue
        if faults:
            store.blame("characterisation", case.run, faults[0])
        return [tried]
    store.blame(case.kind, case.kept_as, faults[-1])
    return []
