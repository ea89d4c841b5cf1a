# SPDX-License-Identifier: BSL-1.0
"""The store: observations as relations, documents, and the log from which a run can be resumed."""
