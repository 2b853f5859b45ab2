"""What keeps one bad event from ending the controller."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any


def guarded(handler: Callable[..., None]) -> Callable[..., None]:
    """Decorator for an adapter's handlers: what one raises is logged, in the event log too, and it goes on.

    os-ken would stop handling events without a word; POX would say so on standard error alone. The adapter
    has its `Controller` as ``core``.
    """

    @functools.wraps(handler)
    def guard(adapter: Any, *event: Any) -> None:
        try:
            handler(adapter, *event)
        except Exception as error:
            logging.getLogger(__name__).exception("%s has failed", handler.__name__)
            adapter.core.error(f"{handler.__name__}: {type(error).__name__}: {error}")

    return guard
