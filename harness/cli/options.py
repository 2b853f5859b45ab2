"""The options that describe an experiment: `run` and `sweep` share them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from harness.errors import UnfitMachine, UserMistake
from harness.network import machine
from harness.network.lock import sole_use
from harness.run.resolution import time_of
from harness.run.spec import RunSpec
from harness.sweep import calibration
from hedera.options import field_options, options, quiet_option
from results.output import quiet
from topos.wire import DEFAULT_MTU

results_option = click.option(
    "--results",
    type=click.Path(path_type=Path),
    default=Path("results/runs"),
    help="Folder that sweeps are kept in.",
    show_default=True,
)

RatesOf = Callable[[RunSpec, Sequence[int]], dict[int, float]]
"""The highest link rate, Mb/s, for each of these packet sizes."""


class RateOrAuto(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A number of Mb/s, or ``auto``."""

    name = "mbps|auto"

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> float | str:
        """For click; raises its BadParameter for anything else."""
        try:
            return "auto" if value == "auto" else float(value)
        except ValueError:
            self.fail(f"{value!r} is neither a rate in Mb/s nor auto", parameter, context)


def spec_from(**options: Any) -> tuple[RunSpec, tuple[int, ...]]:
    """A RunSpec from command-line options, and for ``--bw auto`` the packet sizes that `with_rate` finds a rate for.

    Until then the rate is 10 Mb/s, so that everything else can be checked. UserMistake when an option makes no sense.
    """
    rate, mtu = options.pop("link_mbps"), options.pop("mtu")
    told = rate != "auto"
    spec = RunSpec(**options, link_mbps=rate if told else 10.0, mtu=DEFAULT_MTU if mtu is None else mtu)
    return spec, () if told else calibration.MTUS if mtu is None else (mtu,)


def rates_here(spec: RunSpec, mtus: Sequence[int]) -> dict[int, float]:
    """The highest link rate this machine carries with each packet size, remembered or measured."""
    return machine_rates(spec, mtus, again=False)


def with_rate(spec: RunSpec, mtus: Sequence[int], rates_of: RatesOf = rates_here) -> RunSpec:
    """The spec with the rate of ``--bw auto``, looked up or measured: minutes, so everything else is checked before.

    ``mtus``: packet sizes to find a rate for; the size with the highest rate is taken. Empty if the user gave a rate.
    UserMistake in virtual time, where there is nothing to measure.
    """
    if not mtus:
        return spec
    if time_of(spec) == "virtual":
        raise UserMistake(
            "--bw auto finds the highest rate this machine carries; in virtual time it carries any: give a rate"
        )
    rates = rates_of(spec, mtus)
    fastest = max(rates, key=lambda size: rates[size])
    return replace(spec, link_mbps=rates[fastest], mtu=fastest)


def machine_rates(spec: RunSpec, mtus: Sequence[int], *, again: bool) -> dict[int, float]:
    """`machine_rate` for each packet size that works on this machine; UnfitMachine when none does."""
    rates = {}
    for mtu in mtus:
        try:
            rates[mtu] = machine_rate(replace(spec, mtu=mtu), again=again)
        except UnfitMachine as error:
            if len(mtus) == 1:
                raise
            warn_user(f"packets of {mtu} bytes: {error}")
    if not rates:
        raise UnfitMachine("no link rate was found that this machine carries")
    return rates


def machine_rate(spec: RunSpec, *, again: bool) -> float:
    """The highest link rate this machine carries, as remembered, or measured if unknown or with ``again``."""
    spec = replace(spec, fail=(), disturb=())
    if not again and (known := calibration.remembered(spec)) is not None:
        return known
    machine.require_root()
    machine.require_tools()
    with sole_use("measuring which link rate the machine carries", tell_user):
        tell_user(
            f"measuring the link rate that this machine carries with packets of {spec.mtu} bytes: a few minutes, once"
        )
        return calibration.calibrate(spec, _tell_probe)


def tell_user(sentence: str) -> None:
    """A line of progress on standard error, unless --quiet."""
    if not quiet():
        warn_user(sentence)


def warn_user(sentence: str) -> None:
    """A line on standard error, even with --quiet."""
    click.echo(sentence, err=True)


def _tell_probe(probe: calibration.Probe) -> None:
    verdict = "enough" if probe.enough else "too little"
    tell_user(f"  {probe.bw:g} Mb/s links: {probe.share:.1%} of capacity, {verdict}")
    for reason in probe.reasons:
        tell_user(f"    {reason}")


experiment_options = options(
    field_options(RunSpec, without="scheme traffic seconds disturb", kinds={"link_mbps": RateOrAuto()}, mtu=None),
    quiet_option,
)
"""The options that `run`, `sweep` and `table 2` share: the fields of RunSpec, and --quiet. ``--bw`` may be ``auto``,
which also chooses ``--mtu`` unless that is given."""
