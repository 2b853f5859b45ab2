"""The numbers of `topos.links` for compiled loops, which look at one flow at a time."""

from __future__ import annotations

from hedera.compiled import compiled
from topos import links

NO_LINK = links.NO_LINK

tier_links = compiled(links.tier_links)
climb = compiled(links.climb)


@compiled
def choice_links(src: int, dst: int, core: int, half: int) -> tuple[int, int, int, int]:
    """The links of a path that its core decides, from edge switch to edge switch; NO_LINK for a tier not reached."""
    _, edge_up, core_up, core_down, edge_down, _ = tier_links(src, dst, core, half)
    climbed = climb(src, dst, half)
    if climbed == 0:
        return (NO_LINK, NO_LINK, NO_LINK, NO_LINK)
    if climbed == 1:
        return (edge_up, NO_LINK, NO_LINK, edge_down)
    return (edge_up, core_up, core_down, edge_down)
