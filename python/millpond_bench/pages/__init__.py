# SPDX-License-Identifier: BSL-1.0
"""Pages, charts and exports of results."""
