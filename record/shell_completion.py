"""How a shell asks what it completes when the tab key is pressed: the script that it reads for that (`hedera
completion-script`), and how Bash puts the question. click answers with commands, options and their choices,
`record.options` with the names of schemes and traffic."""

from __future__ import annotations

import os
import re
from pathlib import Path

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    add_completion_class,
    get_completion_class,
    split_arg_string,
)

SHELLS = ("bash", "zsh", "fish")


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
