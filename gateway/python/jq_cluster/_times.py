"""Moments as people write them."""

from __future__ import annotations

import re
import time
from datetime import date, datetime, timedelta
from typing import Union

from ._errors import InputError

#: Seconds since the epoch, a date or time (without a zone: of this machine), or how long ago: `7d`, `timedelta(days=7)`.
Moment = Union[float, str, date, datetime, timedelta]

_LENGTH = re.compile(r"(\d+(?:\.\d+)?) ?(s|min|h|d)$")
_SECONDS = {"s": 1, "min": 60, "h": 3600, "d": 86400}


def moment(given: Moment, name: str) -> float:
    """Seconds since the epoch. Raises `InputError` for what is no moment."""
    if isinstance(given, timedelta):
        return time.time() - given.total_seconds()
    if isinstance(given, datetime):
        return given.timestamp()
    if isinstance(given, date):
        return datetime(given.year, given.month, given.day).timestamp()
    if isinstance(given, str):
        return _written(given.strip(), name)
    if isinstance(given, (int, float)) and not isinstance(given, bool):
        return float(given)
    raise _no_moment(given, name)


def _written(text: str, name: str) -> float:
    ago = _LENGTH.match(text)
    if ago:
        return time.time() - float(ago[1]) * _SECONDS[ago[2]]
    try:
        # Before version 3.11, Python knows no Z.
        return datetime.fromisoformat(re.sub("[zZ]$", "+00:00", text)).timestamp()
    except ValueError:
        raise _no_moment(text, name) from None


def _no_moment(given: object, name: str) -> InputError:
    return InputError(f"{name}: {given!r} is no moment, such as '7d' (of s, min, h and d), '2026-11-29', a datetime or a timedelta")
