# SPDX-License-Identifier: BSL-1.0
"""The product's Python package: records a program's heap, tries local allocators on it, and reports where one pays.

Imports nothing here: `millpond trace record` becomes the recorder, and must not load libraries that it never uses.
"""

__version__ = "0.2.0"
