# SPDX-License-Identifier: BSL-1.0
"""Long steps report their progress and the remaining time; short ones are silent."""

from __future__ import annotations

import re
import threading
import time

import pytest

from millpond.system import progress
from millpond.system.progress import ProgressReport, phase_text, report_phase


def lines_of(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], step_seconds: float) -> list[str]:
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    report = ProgressReport()
    report.begin("judging", 40)
    for _ in range(40):
        now[0] += step_seconds
        report.step()
    report.end()
    return capsys.readouterr().err.splitlines()


def test_a_long_step_reports_a_falling_remaining_time(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = lines_of(monkeypatch, capsys, 3.0)
    found = [re.fullmatch(r"millpond: judging: (\d+) of 40 runs, at most (.+) s left", line) for line in lines]
    assert len(lines) > 3
    done = [(int(m[1]), float(m[2])) for m in found if m]
    assert done == [(n, pytest.approx(3.0 * (40 - n), rel=0.01)) for n, _ in done]
    assert len(done) == len(lines)
    assert sorted(done) == done


def test_a_short_step_is_silent(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert lines_of(monkeypatch, capsys, 0.01) == []


def test_a_long_phase_reports_its_amount_until_it_ends(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "_LINE_EVERY_SECONDS", 0.001)
    asked = threading.Semaphore(0)

    def amount() -> str:
        asked.release()
        return "840 MB of trace"

    with report_phase("recording", amount, 1000):
        for _ in range(3):
            asked.acquire()
    first, *lines = capsys.readouterr().err.splitlines()
    assert first == "millpond: recording"
    assert len(lines) >= 2
    form = re.compile(r"millpond: recording: 840 MB of trace after \S+ m?s, at most \S+ s left")
    assert all(form.fullmatch(line) for line in lines)


def test_a_phase_without_a_limit_has_no_time_left() -> None:
    assert phase_text("characterising", "1.2 GB read", 34.0) == "characterising: 1.2 GB read after 34.0 s"
    assert phase_text("recording", "1 kB", 34.0, 30.0).endswith("at most 0 s left")
