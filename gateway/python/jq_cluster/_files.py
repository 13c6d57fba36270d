"""Files of results: downloaded once, taken up again where a connection broke, and verified."""

from __future__ import annotations

import atexit
import csv
import hashlib
import io
import os
import re
import tempfile
import time
from pathlib import Path
from typing import Any, BinaryIO, Dict, List, Optional

from ._errors import ClusterError, UnreachableError
from ._http import PathName
from ._routes import Api, ArtifactView

_TRIES = 5
_folder: "Optional[tempfile.TemporaryDirectory[str]]" = None


class DamagedError(ClusterError):
    """What arrived is not what the server has."""

    code = "damaged"


def fetch(api: Api, artifact: ArtifactView, to: Optional[PathName]) -> Path:
    """Downloads an artifact into the folder `to`, or into a temporary one that goes with this process."""
    name = _safe(artifact["filename"] or artifact["id"])
    folder = Path(to) if to is not None else Path(_temporary()) / artifact["sha256"]
    path = folder / name
    if to is None and path.exists():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=folder, prefix=f".{name[:40]}.", delete=False) as file:
        try:
            _download(api, artifact, file)  # type: ignore[arg-type]
            file.close()
            # As any other new file is, not for its owner alone.
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(file.name, 0o666 & ~mask)
            os.replace(file.name, path)
        except BaseException:
            file.close()
            os.unlink(file.name)
            raise
    return path


def content(api: Api, artifact: ArtifactView) -> bytes:
    """The bytes of an artifact that fits into memory."""
    buffer = io.BytesIO()
    _download(api, artifact, buffer)
    return buffer.getvalue()


def _download(api: Api, artifact: ArtifactView, out: BinaryIO) -> None:
    digest, got = hashlib.sha256(), 0
    for attempt in range(_TRIES):
        try:
            with api.download_artifact(artifact["id"], f"bytes={got}-" if got else None) as answer:
                if got and answer.status != 206:
                    digest, got = hashlib.sha256(), 0
                    out.seek(0)
                    out.truncate()
                for chunk in answer.chunks():
                    out.write(chunk)
                    digest.update(chunk)
                    got += len(chunk)
            break
        except UnreachableError as error:
            if attempt == _TRIES - 1:
                if got == 0:
                    raise
                raise UnreachableError(
                    f"the download of {artifact['id']} broke off after {got} of {artifact['size_bytes']} bytes, "
                    f"and could not be taken up ({error})"
                ) from error
            time.sleep(0.2 * 2**attempt)
    if digest.hexdigest() != artifact["sha256"]:
        raise DamagedError(f"the artifact {artifact['id']} arrived damaged; download it again")


def rows_of(text: str) -> List[Dict[str, Any]]:
    """The lines of a table with commas, numbers as numbers, and what is empty as None."""
    return [{key: _value(key, cell) for key, cell in row.items()} for row in csv.DictReader(io.StringIO(text))]


#: What stands there is a name: `2024_01` and `1.10` are other samples than 202401 and 1.1. Only a whole number is one.
_NAMES = ("sample", "partition", "target")
#: Python reads `1_2`, `nan` and figures of other scripts, too.
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,300}")
_NUMBER = re.compile(r"[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")


def _value(column: str, cell: Optional[str]) -> Any:
    if cell is None or cell == "":
        return None
    if _INTEGER.fullmatch(cell):
        return int(cell)
    return float(cell) if column not in _NAMES and _NUMBER.fullmatch(cell) else cell


def _safe(name: str) -> str:
    base = re.split(r"[/\\]", name)[-1]
    kept = re.sub(r'[\x00-\x1f\x7f<>:"|?*]', "_", base).strip(". ")
    # File systems count bytes; the ending says what it is.
    stem, ending = os.path.splitext(kept)
    room = 200 - len(ending.encode("utf-8", "replace"))
    if room < 1:
        stem, ending, room = kept, "", 200
    return stem.encode("utf-8", "replace")[:room].decode("utf-8", "ignore") + ending or "artifact"


def _temporary() -> str:
    global _folder
    if _folder is None:
        _folder = tempfile.TemporaryDirectory(prefix="jq-cluster-")
        atexit.register(_folder.cleanup)
    return _folder.name
