# SPDX-License-Identifier: BSL-1.0
"""Drives Debian's headless Chromium through the pipe of its DevTools protocol, without a driver or a web socket.

we ──fd 3──▶ {"id": 1, "method": …}\\0 ──▶ Chromium        replies carry our id, events carry a method
we ◀─fd 4── {"id": 1, "result": …}\\0 ◀── Chromium
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any

PATIENCE_SECONDS = 60.0
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")

# Text whose contrast with its background is below the minimum of WCAG AA (4.5), with its ratio.
FAINT = """(() => {
  const parse = (c) => (c.match(/[\\d.]+/g) || []).map(Number);
  const lum = ([r, g, b]) => [r, g, b].map((v) => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
  const below = (e) => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor);
    if (c.length == 3 || c[3] == 1) return c; } return [255, 255, 255]; };
  const faint = [];
  for (const e of document.querySelectorAll("body *")) {
    if (![...e.childNodes].some((n) => n.nodeType == 3 && n.data.trim()) || !e.checkVisibility()) continue;
    if (["SCRIPT", "TITLE", "title"].includes(e.tagName)) continue;
    const style = getComputedStyle(e);
    const [a, b] = [lum(parse(e.namespaceURI.includes("svg") ? style.fill : style.color)), lum(below(e))];
    const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (ratio < 4.5) faint.push(`${ratio.toFixed(2)} ${e.tagName}.${e.className} ${e.textContent.slice(0, 40)}`);
  }
  return faint;
})()"""

# The checker of accessibility, which scripts/setup test installs.
AXE = Path(__file__).resolve().parents[2] / "web/node_modules/axe-core/axe.min.js"


def find_chromium() -> str | None:
    """Returns the path of a Chromium, or None if it is not installed."""
    return next((path for path in map(shutil.which, PROGRAMS) if path), None)


class Chromium:
    """A browser with one page. `events` keeps the page's errors and network requests."""

    def __init__(self, folder: Path) -> None:
        program = find_chromium()
        assert program is not None
        to_read, self._to = os.pipe()
        self._from, to_write = os.pipe()
        # The browser's ends must be its descriptors 3 and 4: a shell puts them there.
        line = f'exec "$@" 3<&{to_read} 4>&{to_write}'
        flags = [
            "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run",
            "--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update",
            "--hide-scrollbars", "--force-color-profile=srgb", f"--user-data-dir={folder}", "about:blank",
        ]  # fmt: skip
        self._process = subprocess.Popen(
            ["bash", "-c", line, "bash", program, *flags],
            pass_fds=(to_read, to_write),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": str(folder)},
        )
        os.close(to_read)
        os.close(to_write)
        self._number = 0
        self._rest = b""
        self._session = ""
        self.events: list[dict[str, Any]] = []
        pages = [t for t in self.send("Target.getTargets")["targetInfos"] if t["type"] == "page"]
        attached = self.send("Target.attachToTarget", targetId=pages[0]["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def __enter__(self) -> Chromium:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._to)
        os.close(self._from)
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Sends one command and waits for its reply. Events that arrive meanwhile go to `events`."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)

    def _receive(self) -> dict[str, Any]:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._from], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, f"Chromium has said nothing for {PATIENCE_SECONDS:.0f} s"
            piece = os.read(self._from, 1 << 20)
            assert piece, "Chromium has ended"
            self._rest += piece
        line, _, self._rest = self._rest.partition(b"\0")
        found: dict[str, Any] = json.loads(line)
        return found

    def open(self, page: Path, width: int, height: int, *, scheme: str = "light") -> None:
        """Opens a file in a window of that size and waits until it is laid out."""
        mobile = width < 600
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.events.clear()
        self.send("Page.navigate", url=page.resolve().as_uri())
        while not any(e.get("method") == "Page.loadEventFired" for e in self.events):
            self.events.append(self._receive())
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def evaluate(self, expression: str) -> Any:
        """Returns the value of a JavaScript expression in the page."""
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def findings(self) -> list[str]:
        """Returns the violations that axe-core finds in the open page: its rule, and the place of each."""
        self.evaluate(f"{AXE.read_text(encoding='utf-8')}; 0")
        run = "axe.run({resultTypes: ['violations']})"
        place = "`${one.id}: ${node.target.join(' ')}: ${node.failureSummary}`"
        found: list[str] = self.evaluate(
            f"{run}.then((all) => all.violations.flatMap((one) => one.nodes.map((node) => {place})))"
        )
        return found

    def screenshot(self, file: Path, *, whole: bool = False) -> None:
        """Writes the visible part (or the whole page) as PNG."""
        answer = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        file.write_bytes(base64.b64decode(answer["data"]))

    def complaints(self) -> list[str]:
        """Returns console errors, exceptions and refused content of the open page."""
        said = []
        for event in self.events:
            method, parameters = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                said.append(str(parameters["exceptionDetails"]))
            elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "assert"):
                said.append(str(parameters["args"]))
            elif method == "Log.entryAdded" and parameters["entry"]["level"] == "error":
                said.append(str(parameters["entry"]))
        return said

    def requests(self) -> list[str]:
        """Returns all requests of the page."""
        return [e["params"]["request"]["url"] for e in self.events if e.get("method") == "Network.requestWillBeSent"]
