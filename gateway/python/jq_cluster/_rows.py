"""The rows of frames: what they are called, and which of two tables belong together."""

from __future__ import annotations

import re
from typing import Any, List, NamedTuple, Optional, Tuple

from ._errors import InputError

#: A column that names samples, as in tables on disk.
_NAMES = re.compile(r"(samples?|ids?|sample[ _.-]*(ids?|nr|no|names?|numbers?|codes?))$", re.IGNORECASE)


class Rows(NamedTuple):
    """What tells the rows of a table apart, as far as anything does."""

    #: Of a column of names.
    column: Optional[List[Any]]
    #: Of the index of a frame or a series.
    labels: Optional[List[Any]]

    def names(self) -> Optional[List[str]]:
        """What the samples are called; an index that merely counts calls them nothing."""
        for labels in (self.column, self.labels):
            if labels is not None and labels != list(range(len(labels))):
                return _texts(labels)
        return None


def names_column(given: Any) -> Optional[Any]:
    """The column of a frame that names its samples; None where there is none, or several, or nothing beside it."""
    columns: List[Any] = list(getattr(given, "columns", []))
    found = [one for one in columns if isinstance(one, str) and _NAMES.match(one.strip())]
    return found[0] if len(found) == 1 and len(columns) > 1 else None


def rows_apart(given: Any) -> Tuple[Any, Rows]:
    """What a table holds beside the names of its samples, and what tells its rows apart."""
    index: Any = getattr(given, "index", None)
    labels = index.tolist() if callable(getattr(index, "tolist", None)) else None
    column = names_column(given)
    if column is None:
        return given, Rows(None, labels)
    names = [None if value != value else value for value in given[column].to_numpy().tolist()]
    return given[[one for one in given.columns if one != column]], Rows(names, labels)


def order_of(x: Rows, y: Rows, what: str) -> Optional[List[int]]:
    """Where in `y` the rows of `x` stand; None where they stand in the same order, or nothing says where they stand.

    Raises `InputError` where the labels of both contradict each other.
    """
    for one, other in ((x.column, y.column), (x.labels, y.labels)):
        if one is None or other is None:
            continue
        if one == other or len(one) != len(other):
            return None
        places = {label: place for place, label in enumerate(other)}
        if len(places) == len(set(one)) == len(one) and all(label in places for label in one):
            return [places[label] for label in one]
        raise InputError(f"{what} are not of the same samples: {_difference(one, other)}; {_WAYS_OUT}")
    return None


_WAYS_OUT = "give both the same index, or arrays (`.to_numpy()`) that are paired by position"


def _difference(one: List[Any], other: List[Any]) -> str:
    lacking = next((label for label in one if label not in set(other)), None)
    if lacking is not None:
        return f"the reference values have no {lacking!r}"
    twice = next((label for label in one if one.count(label) > 1), None)
    return f"{twice!r} stands twice, and they are in another order"


def _texts(labels: List[Any]) -> Optional[List[str]]:
    """As text; None where one has no name, or where numbers repeat, which name nothing."""
    texts = ["/".join(map(str, label)) if isinstance(label, tuple) else "" if label is None else str(label) for label in labels]
    if any(text.strip() == "" or text == "nan" or text == "NaT" for text in texts):
        return None
    return texts if len(set(texts)) == len(texts) or any(isinstance(label, str) for label in labels) else None
