# SPDX-License-Identifier: BSL-1.0
"""Reports on stored runs: cases, their pages and texts, and exports to other tools."""
