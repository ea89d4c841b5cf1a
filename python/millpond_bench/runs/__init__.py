# SPDX-License-Identifier: BSL-1.0
"""How an experiment is run and judged."""
