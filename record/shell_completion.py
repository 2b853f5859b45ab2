"""What a shell completes when the tab key is pressed: names of schemes and traffic, beside what click knows itself
(commands, options and their choices); and the script that a shell reads for it (`hedera completion-script`)."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    add_completion_class,
    get_completion_class,
    split_arg_string,
)

Completing = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]
SHELLS = ("bash", "zsh", "fish")


def _list_schemes() -> Iterable[str]:
    from hedera.schemes import SCHEMES

    return SCHEMES


def _list_traffic() -> Iterable[str]:
    """Names of patterns up to their parameters, and all published ones."""
    from traffic.patterns import PUBLISHED, REPLICATION
    from traffic.workload import SPELLINGS

    for spelling in SPELLINGS:
        name, colon, parameters = spelling.partition(":")
        if name in ("published", "replication"):
            yield from (f"{name}:{each}" for each in (PUBLISHED if name == "published" else REPLICATION))
        elif name.replace("-", "").isalpha():
            yield name + colon if parameters else name


def complete_names(names: Callable[[], Iterable[str]], several: bool = False) -> Completing:
    """``several``: names separated by commas; each once. A name of a file's is completed as a file."""

    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        before, _, last = incomplete.rpartition(",") if several else ("", "", incomplete)
        taken = before.split(",") if before else []
        matching = [name for name in names() if name.startswith(last) and name not in taken]
        if matching or ("/" not in last and not last.startswith(".")):
            return [CompletionItem(",".join([*taken, name])) for name in matching]
        return [CompletionItem(last, type="file")]

    return complete


OF_FIELDS = {"scheme": complete_names(_list_schemes), "traffic": complete_names(_list_traffic)}
"""By the field that an option is made of."""
schemes, patterns = complete_names(_list_schemes, several=True), complete_names(_list_traffic, several=True)


class _Bash(BashComplete):
    """Bash breaks words at colons, and takes what is completed as it stands: the line is broken here, and values that a
    shell would take for more than a word are escaped."""

    name = "bash"
    source_template = BashComplete.source_template.replace(
        '"${COMP_WORDS[*]}"', '"${COMP_LINE:0:$COMP_POINT}"'
    ).replace("read type", "read -r type")

    def get_completion_args(self) -> tuple[list[str], str]:
        line = os.environ["COMP_WORDS"]
        words = split_arg_string(line)
        self.begun = words.pop() if words and not line[-1:].isspace() else ""
        return words[1:], self.begun

    def format_completion(self, item: CompletionItem) -> str:
        on_the_line = re.match(r".*[:=]", self.begun)  # up to here the word is on the line already
        value = str(item.value)
        if on_the_line and value.startswith(on_the_line[0]):
            value = value[on_the_line.end() :]
        return f"{item.type}," + re.sub(r"([^\w@%+=:,./-])", r"\\\1", value)


add_completion_class(_Bash)


@click.command("completion-script")
@click.argument("shell", required=False, type=click.Choice(SHELLS))
def completion_script(shell: str | None) -> None:
    """Write a script by which your shell completes commands, options and names when you press the tab key.

    \b
    eval "$(hedera completion-script)"                            # in ~/.bashrc or ~/.zshrc
    hedera completion-script fish > ~/.config/fish/completions/hedera.fish

    SHELL: default is the one that you log in to.
    """
    own = Path(os.environ.get("SHELL", "bash")).name
    made = get_completion_class(shell or (own if own in SHELLS else "bash"))
    assert made is not None
    click.echo(made(click.Command("hedera"), {}, "hedera", "_HEDERA_COMPLETE").source())
