"""What is to be known of data and results, as warnings of Python."""

from __future__ import annotations

import sys
import warnings
from typing import Iterable, Type


class DataWarning(UserWarning):
    """What a library or the server says of the data of a job, such as samples that were left out."""


def tell(texts: Iterable[str], category: Type[Warning]) -> None:
    """Warns as of the line outside of this package that asked for what was done."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__package__") == __package__:
        level, frame = level + 1, frame.f_back
    for text in texts:
        warnings.warn(text, category, stacklevel=level)
