# SPDX-License-Identifier: BSL-1.0
"""What is kept: observations as relations, documents, and the log of a run that can go on."""
