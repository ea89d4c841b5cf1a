# SPDX-License-Identifier: BSL-1.0
"""A server on a unix socket, and its load, for tests of `advise --load`.

  fake_server.py serve SOCKET [FAULT]     answers each line with the same line; prints the ids of its processes
  fake_server.py load SOCKET N            sends N lines, waits for each answer, prints `N.0 requests per second`
FAULT: busy (ends, because the address is in use), deaf (never listens), dies (at the first line), stays (ignores
SIGTERM), fails (exits with 3 on SIGTERM), forks (a child answers)
"""

import os
import signal
import socket
import sys
from pathlib import Path


def serve(place: str, fault: str) -> None:
    print(f"process {os.getpid()}", flush=True)
    if fault == "busy":
        sys.exit(f"{place}: address in use")
    if fault == "stays":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if fault == "fails":
        signal.signal(signal.SIGTERM, lambda *_: os._exit(3))
    listener = socket.socket(socket.AF_UNIX)
    Path(place).unlink(missing_ok=True)
    listener.bind(place)
    if fault == "deaf":
        signal.pause()
    listener.listen()
    if fault == "forks" and (child := os.fork()):
        print(f"process {child}", flush=True)
        signal.pause()
    while True:
        connection, _ = listener.accept()
        with connection, connection.makefile("rwb", buffering=0) as lines:
            for line in lines:
                if fault == "dies":
                    os.kill(os.getpid(), signal.SIGKILL)
                lines.write(line)


def load(place: str, count: int) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(place)
        with client.makefile("rwb", buffering=0) as lines:
            for number in range(count):
                lines.write(b"%d\n" % number)
                if not lines.readline():
                    sys.exit("the server has gone")
    print(f"{count}.0 requests per second, p50={count / 4}, p99={count / 2}")


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else "")
    else:
        load(sys.argv[2], int(sys.argv[3]))
