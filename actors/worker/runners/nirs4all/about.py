"""What a model says of itself (docs/runners.md#what-a-model-says-of-itself): written into bundles, and read from them."""

import hashlib
import json
import os
import re
import zipfile
from pathlib import Path

# In a bundle, the file that says it.
MEMBER = "jq-cluster.json"
# Beside models of other formats.
SIDE_FILE = "about_model.json"
UNIT = re.compile(r"\S\s*(?:\(([^()]{1,40})\)|\[([^\[\]]{1,40})\])\s*$")
BLOCK = 1 << 20
MOST_BYTES = 64 << 20


def unit_in(name):
    """The unit that the name of a value ends with, as in `protein (%)`; None without one."""
    found = UNIT.search(name or "")
    return (found[1] or found[2]).strip() if found else None


def data_hash(path, is_leftover):
    """SHA-256, in hex, of the lines that `sha256sum` writes of the files, sorted by their names."""
    files = {path.name: path}
    if path.is_dir():
        files = {}
        for folder, folders, names in os.walk(path, followlinks=True):
            folders[:] = [name for name in folders if not is_leftover(name)]
            for name in names:
                file = Path(folder) / name
                if not is_leftover(name) and file.is_file():
                    files[file.relative_to(path).as_posix()] = file
    whole = hashlib.sha256()
    for name in sorted(files, key=os.fsencode):
        whole.update(f"{file_hash(files[name])}  {name}\n".encode("utf-8", "surrogateescape"))
    return whole.hexdigest()


def file_hash(path):
    found = hashlib.sha256()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(BLOCK), b""):
            found.update(block)
    return found.hexdigest()


def write_about(model, about, output_dir):
    """Into the bundle where its format lets anything stand beside its own files; else into a file beside the model."""
    text = json.dumps(about, allow_nan=False, indent=2)
    if zipfile.is_zipfile(model):
        with zipfile.ZipFile(model, "a", zipfile.ZIP_DEFLATED) as bundle:
            if "bundle_format_version" in manifest_of(bundle):
                bundle.writestr(MEMBER, text)
                return
    (output_dir / SIDE_FILE).write_text(text + "\n", encoding="utf-8")


def manifest_of(bundle):
    try:
        found = json.loads(bundle.read("manifest.json"))
    except (KeyError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def read_about(model):
    """What the bundle says of itself; an empty mapping where it says nothing."""
    with zipfile.ZipFile(model) as bundle:
        if MEMBER not in bundle.namelist() or bundle.getinfo(MEMBER).file_size > MOST_BYTES:
            return {}
        try:
            found = json.loads(bundle.read(MEMBER))
        except ValueError:
            return {}
    return found if isinstance(found, dict) else {}


def places_of(about):
    """Axis and number of columns, as far as they are said."""
    axis, columns = about.get("axis"), about.get("columns")
    values = axis.get("values") if isinstance(axis, dict) else None
    is_axis = isinstance(values, list) and values and all(isinstance(value, (int, float)) for value in values)
    return {"axis": {"values": values, "unit": axis.get("unit")} if is_axis else None,
            "columns": columns if isinstance(columns, int) else None}
