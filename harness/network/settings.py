"""Settings of the whole machine that a run changes and puts back, whatever becomes of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Setting:
    """A file of the kernel's, what it is called in a sentence, and which texts the kernel would take back."""

    path: Path
    name: str
    sane: Callable[[str], bool]

    def read(self) -> str:
        """What it is set to. OSError where the kernel has no such setting."""
        return self.path.read_text().strip()

    @contextmanager
    def changed_to(self, value: str, run_folder: Path) -> Iterator[None]:
        """Have it at ``value`` while the block runs. A copy in ``run_folder`` lets `restore` put it back should this
        process be killed. OSError when it cannot be written."""
        before = self.read()
        if before == value:
            yield
            return
        (run_folder / self.path.name).write_text(before)
        try:
            self.path.write_text(value)
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
        """Put back what a run has changed; whether it had. What is no copy of ours, or makes no sense, is left."""
        saved = run_folder / self.path.name
        try:
            with os.fdopen(os.open(saved, os.O_RDONLY | os.O_NOFOLLOW)) as copy:
                before = copy.read(1000).strip()
        except (OSError, ValueError):
            return False
        saved.unlink()
        if not self.sane(before):
            return False
        self.path.write_text(before)
        return True
