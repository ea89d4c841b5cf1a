# SPDX-License-Identifier: BSL-1.0
"""A new store that stays empty is removed; one that existed before stays."""

from __future__ import annotations

import pytest
from conftest import FakeLab


@pytest.mark.parametrize("failing", ["record", "round"])
def test_no_empty_store_stays_behind(lab: FakeLab, failing: str) -> None:
    lab.configure(events=1000, subsystems=[{"name": "book", "bytes": 5000}], fails={failing: [4, "no luck"]})
    assert lab.run("advise", "--store=a/b/store", "--", "true").status == 4
    assert not (lab.work / "a").exists()


def test_folders_that_were_there_or_are_used_stay(lab: FakeLab) -> None:
    (lab.work / "a").mkdir()
    lab.configure(fails={"record": [4, "no luck"]})
    assert lab.run("advise", "--store=a/b", "--", "true").status == 4
    assert list((lab.work / "a").iterdir()) == []
    lab.configure()
    assert lab.run("advise", "--store=a/b", "--", "true").status == 0
    assert (lab.work / "a" / "b" / "advice").is_dir()
