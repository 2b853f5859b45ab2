"""What a controller is told when it starts: the fields of an experiment that concern it, as flags."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, get_type_hints

from hedera.experiment import Experiment
from hedera.parameter import narrowed, option_of, parameter, parameters_of

if TYPE_CHECKING:
    from hedera.placement import Placement

NEW_FLOWS = ("controller", "switch")


@dataclass(frozen=True)
class Settings(Experiment):
    """Scheme and network of one controller, which sees what traffic comes, not what was asked for.

    ``scheme`` is what `hedera.schemes.scheme` is asked for, the user's own included, and the same name is what the
    log says.

    Raises ValueError, with one sentence, for bad values.
    """

    scheme: str = narrowed(Experiment, "scheme", "ecmp")
    traffic: str = ""
    # Open vSwitch moves a flow's counters every 500 ms: polled faster, rates are mostly 0 or double.
    interval_s: float = narrowed(Experiment, "interval_s", 2.0, above=None, least=1)
    link_mbps: float = narrowed(Experiment, "link_mbps", 10.0)
    new_flows: str = parameter(
        "controller",
        "Who gives a flow its first path: the controller, which gets its first packet, or the switch, by a hash.",
        choices=NEW_FLOWS,
        controller=True,
    )

    @classmethod
    def from_text(cls, given: Mapping[str, str]) -> Settings:
        """Settings from flags as they were typed. Raises ValueError for unknown flags and bad values."""
        names = {flag: name for name, flag in FLAGS.items()}
        values: dict[str, Any] = {}
        for flag, text in given.items():
            if flag not in names:
                raise ValueError(f"{flag} is not a setting; there are {', '.join(names)}")
            kind = _HINTS[names[flag]]
            if not isinstance(text, str):  # POX says True for a flag without a value
                raise ValueError(f"{flag} needs a value")
            try:
                values[names[flag]] = kind(text)
            except ValueError:
                noun = "a whole number" if kind is int else "a number"
                raise ValueError(f"{flag} must be {noun}, not {text!r}") from None
        return cls(**values)

    def new_placement(self) -> Placement | None:
        """The scheme's placement, made anew; None for a static scheme."""
        return self.chosen.placement(self.tree, self.seed, self.options)


FLAGS = {
    name: option_of(name, known).lstrip("-").replace("-", "_")
    for name, known in parameters_of(Settings).items()
    if known.controller
}
"""The flags of a controller, the same on both platforms, by the fields they set."""
_HINTS = get_type_hints(Settings)


def flags_of(experiment: Experiment) -> dict[str, object]:
    values = asdict(experiment)
    return {flag: values[name] for name, flag in FLAGS.items() if name in values}
