# SPDX-License-Identifier: BSL-1.0
"""What surrounds a run: the machine, native programs, files and streams, errors and words."""
