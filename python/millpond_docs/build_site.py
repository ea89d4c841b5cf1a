# SPDX-License-Identifier: BSL-1.0
"""`make docs`: builds the site in build/docs/site. A broken link is an error.

python -m millpond_docs.build_site
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from millpond.system.errors import Failure, Status
from millpond.system.progress import say
from millpond_docs import command_pages, header_pages, schema_pages, staging

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/docs"
SITE = BUILD / "site"


def build() -> None:
    """Writes the generated pages, and has Sphinx make the site. Failure (status 1) if a page has a warning."""
    pages = {**command_pages.pages(), **schema_pages.pages(), **header_pages.pages(ROOT, BUILD / "doxygen")}
    generated = {f"{staging.DOCS}/{place}": text for place, text in pages.items()}
    staging.stage(ROOT, generated, BUILD / "source")
    jobs = os.environ.get("JOBS") or str(os.cpu_count() or 1)
    settings = Path(__file__).parent
    words = ["-W", "--keep-going", "-q", "-j", jobs, "-c", settings, "-d", BUILD / "doctrees"]
    command = [sys.executable, "-m", "sphinx", *map(str, words), str(BUILD / "source"), str(SITE)]
    environment = {**os.environ, "PYTHONPATH": str(settings.parent)}
    if subprocess.run(command, env=environment, cwd=ROOT, check=False).returncode:
        raise Failure(Status.GATE, "the site has warnings, see above")
    say(f"the site: {SITE.relative_to(ROOT)}/index.html")


def main() -> int:
    """Builds the site; returns the exit status."""
    try:
        build()
    except Failure as failure:
        print(f"millpond: {failure.message}", file=sys.stderr)
        return failure.status
    return 0


if __name__ == "__main__":
    sys.exit(main())
