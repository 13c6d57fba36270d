"""Paths: those of this machine, and those that only workers have."""

from __future__ import annotations

import difflib
import ntpath
import os
import posixpath

from ._errors import InputError
from ._http import PathName


def located(what: str, given: PathName) -> str:
    """A path of this machine, or an absolute one that is not here and so may be one of the workers.

    Raises `InputError` for a relative one that is not here.
    """
    text = os.path.expanduser(os.fspath(given))
    if is_here(text) or posixpath.isabs(text) or ntpath.isabs(text):
        return text
    folder, name = os.path.split(text)
    try:
        near = difflib.get_close_matches(name, os.listdir(folder or "."), 1)
    except OSError:
        near = []
    hint = f"; did you mean {os.path.join(folder, near[0])}?" if near else ""
    raise InputError(f"there is no {what} {os.path.abspath(text)}{hint}")


def is_here(path: str) -> bool:
    return os.path.exists(path)


def stem(path: str) -> str:
    """The name of a file without its ending."""
    return os.path.splitext(os.path.basename(os.path.normpath(path)))[0]
