# SPDX-License-Identifier: BSL-1.0
"""Millpond's conductor: records a program's heap, tries local allocators on it, and says where one pays.

Nothing is imported here: `millpond record` replaces itself by the recorder and must not pay for libraries that it
never uses.
"""

__version__ = "0.1.0"
