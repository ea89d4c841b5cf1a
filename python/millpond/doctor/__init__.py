# SPDX-License-Identifier: BSL-1.0
"""Whether this machine can be believed: what doctor examines, and replay held against the real thing."""
