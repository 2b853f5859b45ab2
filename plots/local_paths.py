"""What is handed on of a sweep names no place of the machine that made it.

A user's own scheme, traffic or network is named by its file. Where that is an absolute path, or one that leaves the
folder of the command, its folder stays away: ``/home/ann/best.py:Best`` becomes ``best.py:Best``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path

from record.run import Run

_PLACE = re.compile(r"(?:^|(?<=[:=,(\s]))(?P<folder>(?:/|~|\.\./)[^:,\0]*/|/|~/|\.\./)(?P<name>[^/:,\0]+)")
"""A path in a name, up to its last slash; ``:`` and ``,`` stand between the parts of traffic's and schemes' names."""


def make_local_path_remover(runs: Iterable[Run]) -> Callable[[str], str]:
    """A function that takes these runs' folders out of a text: out of names, out of the names of runs' folders that
    were made of them (`harness.jobs.carry_out.make_slug`), and out of sentences. Two files of one name stay two."""
    folders: dict[str, dict[str, None]] = {}
    for run in runs:
        topology = getattr(run.spec, "topology", None) or ""
        for name in (run.scheme, *run.traffic.split(" + "), topology, *run.inputs):
            for place in _PLACE.finditer(name):
                folders.setdefault(place["folder"], {})[place["name"]] = None
    # Two files of one name in different folders must stay two after their folders are gone: the second gets a number in
    # the place of its folder.
    taken_names: set[str] = set()
    instead: dict[str, str] = {}
    for number, (folder, names) in enumerate(folders.items()):
        instead[folder] = f"{number + 1}/" if taken_names & names.keys() else ""
        taken_names |= names.keys()
    for own_folder in (Path(__file__).parents[1], Path.cwd(), Path.home()):  # in a sentence that says where code failed
        if len(own_folder.parts) > 2:
            instead.setdefault(f"{own_folder}/", "")

    def remove_local_paths(text: str) -> str:
        # The longest first: /home/ann/x/ is inside of /home/ann/, which would leave x/ behind.
        for folder in sorted(instead, key=len, reverse=True):
            new = instead[folder]
            for spelled in {folder, json.dumps(folder)[1:-1], json.dumps(folder, ensure_ascii=False)[1:-1]}:
                if len(spelled) > 1:
                    text = text.replace(spelled, new)
            if name := re.sub(r"[^A-Za-z0-9.,_-]+", "_", folder).strip("_."):
                text = re.sub(rf"(?<![A-Za-z0-9]){re.escape(name)}_", new.replace("/", "_"), text)
        return text

    return remove_local_paths
