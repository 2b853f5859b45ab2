"""Former names of options. One thing has one name in all commands; the former names still work."""

from __future__ import annotations

from collections.abc import Sequence

import click

_SCHEMES = {"--scheme": "--schemes", "--variant": "--variants"}
OLD: dict[tuple[str, ...], dict[str, str]] = {
    ("explain-sa",): {"--patterns": "--random-patterns"},
    ("flows-per-host",): {"--flows": "--flows-per-host"},
    ("hifi",): {"--only-kept": "--redraw", "--jitter": "--varying-delay"},
    ("hull",): {
        "--keep": "--results", "--link": "--bw", "--port-queue-packets": "--queue", "--tick": "--pacer-tick"
    },
    ("hull", "figure"): _SCHEMES,
    ("hull", "table"): _SCHEMES,
    ("kernel", "build"): {"--suite": "--apt-suite"},
    ("report",): {"--keep": "--publish"},
    ("topology",): {"--out": "--picture"},
}  # fmt: skip
"""Former and present name of each option, by the first words of the command line."""


def renamed(args: Sequence[str]) -> list[str]:
    """The command line (its first word is a command) in present names; warns on standard error of each former one."""
    names: dict[str, str] = {}
    for words, known in OLD.items():
        if tuple(args[: len(words)]) == words:
            names |= known
    ended = args.index("--") if "--" in args else len(args)
    found: dict[str, str] = {}
    new = []
    for word in args[:ended]:
        option, equals, value = word.partition("=")
        if option in names:
            found[option] = option = names[option]
        new.append(option + equals + value)
    for option in found:
        click.echo(f"hedera: {option} is now called {names[option]}; the old name still works", err=True)
    return [*new, *args[ended:]]
