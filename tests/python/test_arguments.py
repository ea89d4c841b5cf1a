# SPDX-License-Identifier: BSL-1.0
"""Sizes have decimal units, and malformed ones are refused."""

from __future__ import annotations

import pytest

from millpond.system import arguments


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("4096", 4096),
        ("64MB", 64_000_000),
        ("1.5 GB", 1_500_000_000),
        ("2k", 2000),
        ("1t", 10**12),
        ("512KiB", 512 << 10),
    ],
)
def test_a_size_has_decimal_or_binary_units(text: str, size: int) -> None:
    assert arguments.bytes_of(text) == size


@pytest.mark.parametrize("text", ["", "0", "0.1", "-3", "MB", "3Mi", "3iB", "3 4", "1e3", "nan"])
def test_malformed_sizes_are_refused_with_an_explanation(text: str) -> None:
    with pytest.raises(ValueError, match="is not a size; give bytes"):
        arguments.bytes_of(text)
