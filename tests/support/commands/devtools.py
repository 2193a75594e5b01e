"""A headless browser that a test drives: by the DevTools protocol, over pipes (messages of JSON that end with 0)."""

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from time import monotonic
from typing import Any

import pytest

from commands.browser import BROWSERS

TIME_LIMIT_S = 120


@dataclass
class Page:
    """A page of the browser. A message that waits longer than TIME_LIMIT_S fails the test."""

    requests: int  # file descriptors
    answers: int
    session: str = ""
    console: list[str] = field(default_factory=list)  # what scripts wrote there, and their errors
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))
    _bytes: bytes = b""

    def call(self, method: str, **parameters: object) -> dict[str, Any]:
        """Call a method of the protocol and return its result."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.requests, json.dumps(message).encode() + b"\0")
        deadline = monotonic() + TIME_LIMIT_S
        while True:
            answer = self._next(deadline)
            if answer.get("method") in {"Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled"}:
                self.console.append(json.dumps(answer["params"]))
            if answer.get("id") == number:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result

    def _next(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self._bytes:
            with DefaultSelector() as selector:
                selector.register(self.answers, EVENT_READ)
                assert selector.select(max(0.0, deadline - monotonic())), "the browser does not answer"
            received = os.read(self.answers, 1 << 16)
            assert received, "the browser has ended"
            self._bytes += received
        text, _, self._bytes = self._bytes.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        return message

    def open(self, address: str, width: int, *, is_dark: bool = False) -> None:
        """Show a page in a window of so many CSS pixels."""
        features = [{"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=features)
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.call("Page.navigate", url=address)

    def value(self, expression: str) -> Any:  # noqa: ANN401 (JSON)
        """Return what a JavaScript expression yields."""
        done = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in done, done
        return done["result"].get("value")

    def wait_for(self, condition: str) -> None:
        """Wait until a JavaScript expression is true."""
        deadline = monotonic() + TIME_LIMIT_S
        while not self.value(f"Boolean({condition})"):
            assert monotonic() < deadline, f"never: {condition}"

    def press(self, key: str, code: int) -> None:
        """Press a key by its name and its Windows code."""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code)

    def screenshot(self, path: Path) -> None:
        """Write the whole page as PNG."""
        shown = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shown["data"]))


@contextmanager
def browser_page(profile: Path) -> Iterator[Page]:
    """Start a browser and yield an empty page; skip the test where none is installed.

    `profile` is a new folder for it. The network ends at this machine.
    """
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        pytest.skip(f"no browser: none of {', '.join(BROWSERS)} is installed")
    read_requests, requests = os.pipe()
    answers, write_answers = os.pipe()
    # The browser reads requests at 3 and writes answers at 4: a shell puts them there.
    options = (
        *("--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe"),
        *("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", f"--user-data-dir={profile}", "about:blank"),
    )
    redirected = ("bash", "-c", f'exec "$@" 3<&{read_requests} 4>&{write_answers}', "bash", browser, *options)
    process = subprocess.Popen(redirected, pass_fds=(read_requests, write_answers), stderr=subprocess.DEVNULL)
    os.close(read_requests)
    os.close(write_answers)
    try:
        page = Page(requests, answers)
        target = page.call("Target.createTarget", url="about:blank")["targetId"]
        page.session = page.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            page.call(f"{domain}.enable")
        yield page
    finally:
        process.terminate()
        process.wait(TIME_LIMIT_S)
        os.close(requests)
        os.close(answers)
