"""How much of a file is another's: the share of its runs of tokens that the other has, too. Shown, never scored.

Names, numbers and texts do not count, nor do comments and spaces; so renaming and reformatting hide nothing. What a
template gives to everybody is left out. (Why no library does it: docs/notes/class.md.)
"""

from __future__ import annotations

import io
import keyword
import tokenize
from collections.abc import Sequence

from classroom.intake import HandIn
from classroom.packing import TEMPLATES
from classroom.submission import NAMES, ROOT
from hedera.text import one_line

RUN, LEAST = 12, 25
"""Tokens in a run; and runs of its own that a file must have for a share to mean something."""
OURS = {
    "demand.py": ("hedera/demand.py",),
    "first_fit.py": ("hedera/global_first_fit.py",),
    "annealing.py": ("hedera/simulated_annealing.py",),
    "scheduler.py": ("docs/examples/least_loaded.py", "hedera/global_first_fit.py", "hedera/clos.py"),
}
"""What is published: this repository's solutions, and the example in the handout."""
_DROPPED = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)


def runs(source: str) -> frozenset[tuple[str, ...]]:
    """All runs of RUN tokens, as far as the text is Python."""
    told = list[str]()
    try:
        for kind, text, *_ in tokenize.generate_tokens(io.StringIO(source).readline):
            if kind == tokenize.NAME:
                told.append(text if keyword.iskeyword(text) else "name")
            elif kind not in _DROPPED:
                told.append(text if kind == tokenize.OP else str(kind))
    except (tokenize.TokenError, SyntaxError, ValueError):
        pass
    return frozenset(tuple(told[n : n + RUN]) for n in range(len(told) - RUN + 1))


def likeness(made: Sequence[HandIn]) -> list[tuple[float | None, str]]:
    """For each submission the highest share in percent of a file of its own that another has, too, and for each file
    whose. None where there is too little to compare."""
    best = [dict[str, tuple[float, str]]() for _ in made]
    for file in NAMES:
        given = runs((TEMPLATES / file.replace(".py", ".txt")).read_text(encoding="utf-8"))
        held = [one.files.get(file, "") for one in made]
        theirs = [runs(one.decode("utf-8-sig", "replace") if isinstance(one, bytes) else "") - given for one in held]
        ours = {name: runs((ROOT / name).read_text(encoding="utf-8")) for name in OURS[file] if (ROOT / name).is_file()}
        for n, mine in enumerate(theirs):
            if len(mine) < LEAST:
                continue
            others = [(len(mine & one) / len(mine), made[m].name) for m, one in enumerate(theirs) if m != n]
            found = max(others + [(len(mine & one) / len(mine), name) for name, one in ours.items()])
            best[n][file] = (100 * found[0], f"{file}: {100 * found[0]:.0f} % {found[1]}")
    highest = [max((share for share, _ in each.values()), default=None) for each in best]
    return [(top, one_line("; ".join(w for _, w in each.values()))) for top, each in zip(highest, best, strict=True)]
