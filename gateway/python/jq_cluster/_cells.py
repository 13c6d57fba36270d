"""Rows and columns of arrays, frames and lists, and how they are written."""

from __future__ import annotations

import csv
import io
import math
from typing import Any, Callable, List, NamedTuple, Optional

from ._errors import InputError
from ._http import dumps


class Table(NamedTuple):
    """The names of columns, and rows."""

    header: List[str]
    rows: List[List[Any]]


def _name(one: Any) -> str:
    value = one.item() if callable(getattr(one, "item", None)) else one
    return value if isinstance(value, str) else repr(value)


def table_of(given: Any, what: str, names: Optional[List[Any]], usual: Callable[[int], List[str]]) -> Table:
    """Header and rows of an array, a frame or a list; `usual` names columns that have no names.

    Floats of 32 bits are written with the digits that tell them apart.
    """
    if given is None:
        raise InputError(f"{what} is missing")
    array = given.to_numpy() if callable(getattr(given, "to_numpy", None)) else given
    rows = array.tolist() if callable(getattr(array, "tolist", None)) else [_listed(row) for row in array]
    if not isinstance(rows, list) or len(rows) == 0:
        raise InputError(f"{what} holds no samples")
    if not isinstance(rows[0], list):
        if what.startswith("X"):
            raise InputError(f"{what} must have two dimensions: a row for each sample, a column for each wavelength")
        rows = [[value] for value in rows]
    width = len(rows[0]) if isinstance(rows[0], list) else 0
    if width == 0 or isinstance(rows[0][0], list) or any(not isinstance(row, list) or len(row) != width for row in rows):
        raise InputError(f"{what} must have two dimensions, and rows of equal length")
    if str(getattr(array, "dtype", "")) in ("float32", "float16"):
        rows = [[float("%.9g" % value) for value in row] for row in rows]
    header = usual(width) if names is None else [_name(one) for one in names]
    if len(header) != width:
        raise InputError(f"{what} has {width} columns, and {len(header)} names for them")
    return Table(header, rows)


def _listed(row: Any) -> Any:
    if callable(getattr(row, "tolist", None)):
        return row.tolist()
    return list(row) if isinstance(row, (list, tuple)) else row


def csv_of(table: Table) -> bytes:
    """The table as a file, as both runners that come with the worker read it."""
    text = io.StringIO()
    # Semicolons: the one delimiter that nirs4all expects without being told.
    writer = csv.writer(text, delimiter=";", lineterminator="\n")
    writer.writerow(table.header)
    writer.writerows([_cell(value) for value in row] for row in table.rows)
    return text.getvalue().encode()


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, float):
        if math.isinf(value):
            raise InputError("a reference value is infinite")
        return repr(value)
    return value if isinstance(value, str) else str(dumps(value))
