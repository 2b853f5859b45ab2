"""Settings of the whole machine that a run changes and puts back, whatever becomes of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Setting:
    """A file of the kernel's, what it is called in a sentence, and which texts the kernel would take back.

    ``told``: what has to be written for it to become the second text, from the first.
    """

    path: Path
    name: str
    sane: Callable[[str], bool]
    told: Callable[[str, str], str] = lambda before, after: after

    def read(self) -> str:
        """What it is set to. OSError where the kernel has no such setting."""
        return self.path.read_text().strip()

    @contextmanager
    def changed_to(self, value: str, run_folder: Path) -> Iterator[None]:
        """Have it at ``value`` while the block runs. A note in ``run_folder`` lets `restore` put it back should this
        process be killed. OSError when it cannot be written."""
        before = self.read()
        if before == value:
            yield
            return
        (run_folder / self.path.name).write_text(f"{before}\n{value}\n")
        try:
            self.path.write_text(self.told(before, value))
            yield
        finally:
            self.restore(run_folder)

    @contextmanager
    def changed_where_allowed(self, value: str, run_folder: Path) -> Iterator[bool]:
        """As `changed_to`, where there is such a setting and it is ours to change: in a container it may not be. The
        block runs all the same. Whether it is changed."""
        with ExitStack() as stack:
            try:
                stack.enter_context(self.changed_to(value, run_folder))
                changed = True
            except OSError:
                changed = False
            yield changed

    def restore(self, run_folder: Path) -> bool:
        """Take back what a run has changed; whether there was something. OSError when it cannot be: the note stays,
        for the next who tries. What is no note of ours, or makes no sense, or is of a setting that has gone with its
        module, is left."""
        note = run_folder / self.path.name
        try:
            with os.fdopen(os.open(note, os.O_RDONLY | os.O_NOFOLLOW)) as file:
                before, _, ours = file.read(1000).partition("\n")
        except (OSError, ValueError):
            return False
        if not self.path.exists():
            return False
        now = self.read()
        value = _without(now, before, ours or now)
        if not (before + ours).strip() or not self.sane(value):
            return False
        if value != now:
            self.path.write_text(self.told(now, value))
        note.unlink()
        return True


def _without(now: str, before: str, ours: str) -> str:
    """A setting, a word or a list of some, without our change of it. No more is ours to undo: a run in another
    container changes the same machine, and whoever ends first must not end what the other has begun."""
    kept = [word for word in now.split() if word in before.split() or word not in ours.split()]
    gone = [word for word in before.split() if word not in ours.split() and word not in kept]
    return " ".join(gone + kept)
