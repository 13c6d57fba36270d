"""JSON as text, so that numbers stay as they were written."""

from __future__ import annotations

import json
import re
from typing import Dict

_BLANK = re.compile(r"[ \t\r\n]*")


def members(text: str) -> Dict[str, str]:
    """The members of an object, each as the text that it was written with."""
    decoder = json.JSONDecoder()
    found: Dict[str, str] = {}

    def skip(at: int) -> int:
        blank = _BLANK.match(text, at)
        return blank.end() if blank else at

    at = skip(0) + 1
    while text[skip(at)] != "}":
        name, at = decoder.raw_decode(text, skip(at))
        begin = skip(skip(at) + 1)
        _, at = decoder.raw_decode(text, begin)
        found[name] = text[begin:at]
        at = skip(at)
        at += text[at] == ","
    return found
