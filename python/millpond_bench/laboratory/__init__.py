# SPDX-License-Identifier: BSL-1.0
"""The benchmark of the laboratory's own costs."""
