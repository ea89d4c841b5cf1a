# SPDX-License-Identifier: BSL-1.0
"""`python -m millpond`: the same command line as `millpond`."""

import sys

from millpond.cli import main

if __name__ == "__main__":
    sys.exit(main())
