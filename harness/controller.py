"""The OpenFlow controller as a process: which platform, how it is started, what its log says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from controllers.find_pox import find_pox
from harness.errors import RunFailed, UnfitMachine, UserMistake
from harness.processes import Children

PORT = 6653
ROOT = Path(__file__).resolve().parent.parent


def choose_platform(asked: str) -> str:
    """``pox`` or ``os-ken`` for ``auto`` (POX when it is found), ``pox`` or ``os-ken``."""
    if asked == "os-ken":
        return asked
    try:
        found = find_pox() is not None
    except ValueError as error:
        raise UserMistake(str(error)) from None
    if found:
        return "pox"
    if asked == "pox":
        raise UnfitMachine(
            "POX was not found: put a checkout at ~/pox or /opt/pox, or name it in POX_DIR "
            "(git clone -b halosaur https://github.com/noxrepo/pox ~/pox), or use --platform os-ken"
        )
    return "os-ken"


def command(platform: str, address: str, options: Mapping[str, object]) -> list[str]:
    """The command line of a platform's controller; ``options`` become ``--name=value``."""
    flags = [f"--{name}={value}" for name, value in options.items()]
    if platform == "os-ken":
        return [sys.executable, "-m", "controllers.os_ken_main", f"--listen={address}:{PORT}", *flags]
    pox = find_pox()
    assert pox is not None, "choose_platform found it"
    of_01 = ["openflow.of_01", f"--address={address}", f"--port={PORT}"]
    return [sys.executable, str(pox / "pox.py"), *of_01, "controllers.pox_component", *flags]


class Controller:
    """A running controller and the events it has logged so far (``events``, oldest first)."""

    def __init__(
        self, platform: str, address: str, namespace: int, options: Mapping[str, object], directory: Path,
        children: Children,
    ) -> None:  # fmt: skip
        self.platform = platform
        self.events: list[dict[str, Any]] = []
        self._log = directory / "controller.jsonl"
        self._output = directory / "controller.txt"
        self._read = 0
        self.process: subprocess.Popen[bytes] = children.spawn(
            "controller",
            command(platform, address, {**options, "log": self._log}),
            namespace=namespace,
            output=self._output,
            environment={**os.environ, "PYTHONPATH": str(ROOT)},
        )

    def read(self) -> None:
        """Take in what has been logged since; a line still being written waits for the next call."""
        if not self._log.exists():
            return
        with self._log.open("rb") as log:
            log.seek(self._read)
            text = log.read()
        whole = text[: text.rfind(b"\n") + 1]
        self._read += len(whole)
        self.events += [json.loads(line) for line in whole.splitlines()]

    def find(self, event: str) -> list[dict[str, Any]]:
        """The events of one kind."""
        return [entry for entry in self.events if entry["event"] == event]

    def wait_for(self, event: str, deadline: float) -> dict[str, Any]:
        """The first event of a kind; RunFailed when it does not come within ``deadline`` seconds."""
        limit = time.monotonic() + deadline
        while True:
            self.read()
            if found := self.find(event):
                return found[0]
            if self.process.poll() is not None:
                raise RunFailed(f"the controller ended before it was '{event}': {self._last_words()}")
            if time.monotonic() > limit:
                up = sum(1 for entry in self.find("switch") if entry["state"] == "up")
                raise RunFailed(f"the controller was not '{event}' within {deadline:g} s ({up} switches up)")
            time.sleep(0.01)

    def _last_words(self) -> str:
        text = self._output.read_text(errors="replace").strip() if self._output.exists() else ""
        return text.splitlines()[-1] if text else f"status {self.process.returncode}"
