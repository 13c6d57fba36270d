"""Has tables read by the rules of the runner of mljs (README.md#dataset there) where nirs4all would misread or refuse them, so
that one dataset means the same to both libraries."""

import atexit
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

READER = Path(__file__).resolve().parents[1] / "mljs" / "entry.mjs"
EXIT_INPUT_FAULT = 2
# As that runner writes them.
WRITTEN = {"delimiter": ";", "decimal_separator": "."}
# What a user may say of tables that they do not say themselves.
HINTS = ("target", "header")


class Refused(Exception):
    """What those rules refuse."""


class Unreadable(Exception):
    """The reader itself cannot be run here."""


def to_learn(dataset, hints, name):
    """Spectra with reference values: how nirs4all is called with them, the names of the samples, and warnings.

    `dataset` is a path, or the files of it: `{"train": {"x", "y"}, "test": {"x", "y"} or None}`.
    """
    folder = folder_called(name)
    told = ask({"dataset": dataset, "to": str(folder), **hints})
    return {"folder": str(folder), "global_params": WRITTEN}, told["names"], told["warnings"]


def to_predict(path, hints, predicted):
    """Spectra that are to be predicted, by file: `source`, `x`, `y`, `names`, `axis`; and warnings.

    `predicted` is what the model calls its reference value, or None.
    """
    folder = folder_called("new")
    warnings = ask({"dataset": str(path), "to": str(folder), "predicted": predicted, **hints})["warnings"]
    return json.loads((folder / "new-samples.json").read_text(encoding="utf-8")), warnings


def folder_called(name):
    """Libraries name a dataset after its folder."""
    scratch = Path(tempfile.mkdtemp(prefix="jq-tables-"))
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    (scratch / name).mkdir()
    return scratch / name


def ask(order):
    command = [os.environ.get("JQ_NODE") or "node", str(READER), "--hand-over", json.dumps(order)]
    try:
        ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", check=False)
    except OSError as error:
        raise Unreadable(f"the reader of tables cannot be started: {command[0]}: {error.strerror}") from error
    if ended.returncode == 0:
        return json.loads(ended.stdout)
    said = [line[len("Error: "):] for line in ended.stderr.splitlines() if line.startswith("Error: ")]
    reason = said[-1] if said else f"the reader of tables ended with {ended.returncode}: {ended.stderr.strip()}"
    raise (Refused if ended.returncode == EXIT_INPUT_FAULT else Unreadable)(reason)
