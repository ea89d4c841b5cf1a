# SPDX-License-Identifier: BSL-1.0
"""Empty Debian systems in folders: what a machine has on which nothing of Millpond was built."""

from __future__ import annotations

import fcntl
import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DIST = ROOT / "dist"
LOGS = DIST / "logs"
ROOTS = ROOT / "build/release_roots"
# Mounts end with the processes: the command has namespaces of its own.
ENTER = 'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$0" "$@"'
# The kernel starts programs for aarch64 by this emulator, in these namespaces only (since Linux 6.7).
EMULATOR = ROOTS / "aarch64-emulator/usr/bin/qemu-aarch64-static"
REGISTER = (
    "mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc && printf %s ':aarch64:M::"
    r"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00:"
    r"\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:"
    f"{EMULATOR}:FP' > /proc/sys/fs/binfmt_misc/register"
)
VARIABLES = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/tmp"}


class Root:
    """A Debian system in a folder of its own; `log` gets every command with its output.

    `emulated`: of aarch64. Needs root. Not thread-safe.
    """

    def __init__(self, place: Path, log: Path, emulated: bool = False) -> None:
        self.place = place
        self.variables = dict(VARIABLES)
        self._log = log
        self._own = ["--user", "--map-root-user"] if emulated else []
        self._enter = f"{REGISTER} && {ENTER}" if emulated else ENTER
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text("", encoding="utf-8")

    def run(self, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Runs a command in the system, in /tmp."""
        own = [*self._own, "--mount", "--pid", "--fork", "--kill-child"]
        command = ["unshare", *own, "sh", "-c", self._enter, str(self.place)]
        inside = ["env", "--ignore-environment", "--chdir=/tmp", *(f"{k}={v}" for k, v in self.variables.items())]
        start = time.monotonic()
        done = subprocess.run([*command, *inside, *words], capture_output=True, text=True, check=False)
        seconds = time.monotonic() - start
        with self._log.open("a", encoding="utf-8") as log:
            log.write(f"$ {shlex.join(words)}\n{done.stdout}{done.stderr}status {done.returncode}, {seconds:.1f} s\n\n")
        assert not check or done.returncode == 0, f"{shlex.join(words)}\n{done.stdout}\n{done.stderr}"
        return done

    def copy(self, *sources: Path, to: str) -> None:
        """Copies files and folders into a folder of the system."""
        folder = self.place / to.lstrip("/")
        folder.mkdir(parents=True, exist_ok=True)
        for source in sources:
            if source.is_dir():
                shutil.copytree(source, folder / source.name)
            else:
                shutil.copy(source, folder)

    def install(self, *packages: str) -> None:
        """Installs Debian packages by name, or files of packages by their path in the system."""
        self.variables["DEBIAN_FRONTEND"] = "noninteractive"
        self.run("apt-get", "update")
        self.run("apt-get", "install", "--yes", "--no-install-recommends", *packages)

    def install_wheel(self, wheel: Path, folder: Path) -> None:
        """Installs the wheel in a virtual environment, which comes first in PATH, with packages from that folder."""
        self.copy(folder, wheel, to="/opt")
        self.run("python3", "-m", "venv", "/opt/millpond")
        pip = ("/opt/millpond/bin/pip", "install", "--no-index", "--find-links", f"/opt/{folder.name}")
        self.run(*pip, f"/opt/{wheel.name}")
        self.variables["PATH"] = f"/opt/millpond/bin:{VARIABLES['PATH']}"


@contextmanager
def new_root(suite: str, name: str) -> Iterator[Root]:
    """An empty system whose log is dist/logs/NAME.log, removed afterwards. Skips the test without root rights."""
    if os.geteuid() != 0:
        pytest.skip("only root can make an empty root (debootstrap, chroot)")
    with _own_place(name) as place:
        subprocess.run(["tar", "-xf", str(base_system(suite)), "-C", str(place)], check=True)
        yield Root(place, LOGS / f"{name}.log")


@contextmanager
def new_emulated_root(name: str) -> Iterator[Root]:
    """The same with Debian 12 for aarch64 and its Python. Skips the test where the kernel has no emulators for
    namespaces.
    """
    unpacked = ROOTS / "aarch64-python"
    for *words, folder in (["--only", "amd64", "aarch64-emulator", EMULATOR.parents[2]],
                           ["arm64", "aarch64-python", unpacked]):  # fmt: skip
        with _held(folder):
            subprocess.run([str(ROOT / "scripts/unpack"), *words, str(folder.relative_to(ROOT))], check=True)
    with _own_place(name) as place:
        subprocess.run(["cp", "-a", f"{unpacked}/.", str(place)], check=True)
        root = Root(place, LOGS / f"{name}.log", emulated=True)
        # The emulator's tables grow with the addresses that pools reserve: 8 GiB are enough.
        root.variables["QEMU_RESERVED_VA"] = "8G"
        tried = root.run("true", check=False)
        if tried.returncode != 0:
            pytest.skip(f"the kernel cannot start programs for aarch64 in a root: {tried.stderr.strip()}")
        yield root


@contextmanager
def _held(place: Path) -> Iterator[None]:
    """Keeps other processes from making this file or folder meanwhile: tests run in several."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.with_name(f"{place.name}.lock").open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def _own_place(name: str) -> Iterator[Path]:
    place = ROOTS / f"{name}-{os.getpid()}"
    place.mkdir(parents=True)
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def base_system(suite: str) -> Path:
    """Returns an archive of that suite's smallest system, made once by debootstrap."""
    archive = ROOTS / f"{suite}.tar.zst"
    with _held(archive):
        if archive.exists():
            return archive
        place = ROOTS / f"{suite}.partial"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        # Its mounts end with it.
        debootstrap = ["unshare", "--mount", "debootstrap", "--variant=minbase", suite, str(place), mirror()]
        subprocess.run(debootstrap, check=True)
        shutil.rmtree(place / "var/cache/apt/archives")
        written = archive.with_suffix(".partial")
        subprocess.run(["tar", "--zstd", "--numeric-owner", "-cf", str(written), "-C", str(place), "."], check=True)
        written.rename(archive)
        shutil.rmtree(place)
    return archive


def mirror() -> str:
    """Returns the address from which apt on this machine gets Debian itself."""
    command = ["apt-get", "indextargets", "--format", "$(ORIGIN) $(CODENAME) $(SITE)"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for line in listed.splitlines():
        origin, codename, site = line.split(" ", 2)
        if origin == "Debian" and "-" not in codename:
            return site
    raise AssertionError("apt on this machine has no source of Debian's own packages")


def wheel_for(architecture: str) -> Path:
    """Returns the wheel that scripts/release made."""
    (found,) = DIST.glob(f"millpond-*_{architecture}.whl")
    return found


def wheel_folder(python: str, architecture: str = "x86_64") -> Path:
    """Returns a folder with the locked packages as wheels for that version of Python, collected once for a lock."""
    lock = ROOT / "requirements/run.lock"
    folder = ROOTS / f"wheels-{python}-{architecture}"
    stamp = folder / lock.name
    with _held(folder):
        if stamp.exists() and stamp.read_bytes() == lock.read_bytes():
            return folder
        shutil.rmtree(folder, ignore_errors=True)
        platforms = [f"--platform=manylinux_2_{minor}_{architecture}" for minor in (17, 24, 26, 27, 28)]
        command = [
            str(ROOT / ".venv/bin/python"), "-m", "pip", "--quiet", "--disable-pip-version-check", "download",
            "--no-deps", "--only-binary=:all:", "--require-hashes", f"--python-version={python}", *platforms,
            f"--platform=manylinux2014_{architecture}", f"--dest={folder}", f"--requirement={lock}",
        ]  # fmt: skip
        subprocess.run(command, check=True)
        shutil.copy(lock, stamp)
    return folder


def advise_and_report(root: Root, program: Sequence[str], seconds: str) -> None:
    """Advises on a program of the system within that budget, and makes both reports. Fails if they do not name it."""
    advise = ("millpond", "advise", "--budget", seconds, "--store", "store", "--seed", "1")
    root.run(*advise, "--", *program)
    root.run("millpond", "report", "store", "-o", "page.html", "-o", "answer.md")
    page = (root.place / "tmp/page.html").read_text(encoding="utf-8")
    assert program[0] in page and "</html>" in page
    assert program[0] in (root.place / "tmp/answer.md").read_text(encoding="utf-8")


def container_steps(path: Path) -> list[tuple[str, Sequence[str]]]:
    """Returns the steps of a Containerfile: the keyword and its words. Knows FROM, COPY, RUN and ENV."""
    steps = []
    for line in path.read_text(encoding="utf-8").replace("\\\n", " ").splitlines():
        if line.strip() and not line.startswith("#"):
            keyword, rest = line.split(maxsplit=1)
            steps.append((keyword, [rest] if keyword == "RUN" else rest.split()))
    return steps
