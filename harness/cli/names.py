"""The commands `hedera schemes` and `hedera patterns`: lists of valid names."""

from __future__ import annotations

from collections.abc import Mapping

import click


@click.command()
def schemes() -> None:
    """List the schemes: how flows get their paths."""
    from hedera.own_scheme import SPELLING
    from hedera.schemes import SCHEMES, SUBFLOWS

    _tell(
        {
            name: scheme.summary + (" (`--schemes all` leaves it out)" if scheme.hidden else "")
            for name, scheme in SCHEMES.items()
        }
        | {SUBFLOWS: "the same with N sub-flows for each flow of a collective"}
        | {SPELLING: "a scheduler of your own (docs/own-scheduler.md)"}
    )


@click.command()
def patterns() -> None:
    """List the traffic patterns: who sends to whom. docs/workloads.md describes each."""
    from traffic.patterns import PUBLISHED
    from traffic.workload import SPELLINGS

    _tell(SPELLINGS)
    click.echo(f"\nPublished matrices, as published:NAME: {' '.join(PUBLISHED)}")


def _tell(meanings: Mapping[str, str]) -> None:
    formatter = click.HelpFormatter(width=100)
    formatter.write_dl(list(meanings.items()), col_max=34)
    click.echo(formatter.getvalue(), nl=False)
