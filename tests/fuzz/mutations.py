"""Inputs that are nearly right: a valid one, changed in a few places.

FUZZ_EXAMPLES says how many of each kind are tried; 150 unless told.
"""

import os
from collections import Counter

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

TRIED: Counter[str] = Counter()
FUZZ = settings(
    max_examples=int(os.environ.get("FUZZ_EXAMPLES", "150")),
    deadline=20_000,  # ms: what takes longer hangs, however busy the machine is
    suppress_health_check=list(HealthCheck),
)

NASTY = [
    b"",
    b"\x00",
    b"\n",
    b"\r\n",
    b",",
    b";",
    b" ",
    b"-",
    b"#",
    b'"',
    b"'",
    b"\\",
    b"\xff",
    b"\xef\xbb\xbf",
    b"0",
    b"-1",
    b"1e999",
    b"-nan",
    b"nan",
    b"inf",
    b"1e308",
    b"99999999999999999999",
    b"0x10",
    b"\xd9\xa3",
    b"null",
    b"true",
    b"[]",
    b"{}",
    b"[" * 2000,
    b"$(touch pwned)",
    b"`touch pwned`",
    b"; touch pwned",
    b"../../pwned",
    b"/etc/passwd",
    b"%s%n",
    b"{0}",
    b"=cmd",
    b"<script>",
    b"\x1b[2J",
    b"\xe2\x80\xae",
    b"9" * 5000,
]
"""Pieces that have broken parsers."""


def mutated(*originals: bytes) -> st.SearchStrategy[bytes]:
    """One of the originals after one to six changes: cuts, repetitions, exchanges, nasty pieces."""

    @st.composite
    def change(draw):
        text = draw(st.sampled_from(originals))
        for _ in range(draw(st.integers(1, 6))):
            a, b = sorted(draw(st.tuples(*[st.integers(0, len(text))] * 2)))
            kind = draw(st.sampled_from(["cut", "end", "repeat", "insert", "replace", "word", "random"]))
            piece = draw(st.sampled_from(NASTY))
            if kind == "cut":
                text = text[:a] + text[min(b, a + 40) :]
            elif kind == "end":
                text = text[:b]
            elif kind == "repeat":
                text = text[:b] + text[a : min(b, a + 200)] + text[b:]
            elif kind == "insert":
                text = text[:a] + piece + text[a:]
            elif kind == "replace":
                text = text[:a] + piece + text[min(b, a + 8) :]
            elif kind == "random":
                text = text[:a] + draw(st.binary(max_size=8)) + text[min(b, a + 8) :]
            else:  # a whole field
                fields = text.replace(b";", b",").split(b",")
                n = draw(st.integers(0, len(fields) - 1))
                start = sum(len(field) + 1 for field in fields[:n])
                text = text[:start] + piece + text[start + len(fields[n]) :]
        return text

    return change()
