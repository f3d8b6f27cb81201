"""Chromium without a network, driven through its pipe."""

from __future__ import annotations

import json
import os
import subprocess
from select import select
from time import monotonic
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")
SECONDS = 90


class Browser:
    """One page of Chromium: its console, its requests, and what scripts say of it."""

    def __init__(self, profile: Path) -> None:
        to_read, self.write_end = os.pipe()
        self.read_end, to_write = os.pipe()

        def joined() -> None:  # the browser reads commands from 3 and writes answers to 4
            os.dup2(to_read, 13)
            os.dup2(to_write, 14)
            os.dup2(13, 3)
            os.dup2(14, 4)

        command = ["chromium", *FLAGS, f"--user-data-dir={profile}", "--remote-debugging-pipe", "about:blank"]
        self.process = subprocess.Popen(
            command, preexec_fn=joined, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(to_read)
        os.close(to_write)
        self.number, self.buffer = 0, b""
        self.session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Log", "Runtime"):
            self.call(f"{domain}.enable")
        self.call("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=0, uploadThroughput=0)

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.read_end)
        os.close(self.write_end)

    def _message(self) -> dict[str, Any]:
        end = monotonic() + SECONDS
        while b"\0" not in self.buffer:
            assert select([self.read_end], [], [], max(0.0, end - monotonic()))[0], "the browser is silent"
            chunk = os.read(self.read_end, 1 << 16)
            assert chunk, "the browser has ended"
            self.buffer += chunk
        raw, _, self.buffer = self.buffer.partition(b"\0")
        found: dict[str, Any] = json.loads(raw)
        return found

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Return what the browser answers to a command."""
        self.number += 1
        whole: dict[str, Any] = {"id": self.number, "method": method, "params": params}
        if self.session:
            whole["sessionId"] = self.session
        os.write(self.write_end, json.dumps(whole).encode() + b"\0")
        while True:
            message = self._message()
            if message.get("id") == self.number:
                assert "error" not in message, message
                found: dict[str, Any] = message["result"]
                return found
            self.events.append(message)

    def open(self, page: Path, *, width: int = 1200, dark: bool = False) -> None:
        """Open a file and wait until it is loaded."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.events.clear()
        self.call("Page.navigate", url=page.as_uri())
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._message())

    def of(self, method: str) -> list[dict[str, Any]]:
        """Return the parameters of every event of a kind."""
        return [event["params"] for event in self.events if event.get("method") == method]

    def say(self, expression: str) -> Any:
        """Return the value of an expression on the page."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")
