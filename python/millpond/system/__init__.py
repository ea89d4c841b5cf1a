# SPDX-License-Identifier: BSL-1.0
"""The layer below all others: the machine, native programs, files and streams, errors and wording."""
