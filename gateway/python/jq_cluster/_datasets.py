"""What may be given as datasets, as the references of a job: paths, arrays and frames, packed as zips."""

from __future__ import annotations

import math
import os
import re
import zipfile
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from ._axis import PLACE, with_unit
from ._cells import Table, csv_of, table_of
from ._errors import InputError
from ._find import hint
from ._paths import is_here, located, stem
from ._rows import names_column, order_of, rows_apart

#: Writes a zip by a function, uploads it under a name and gives the id of its artifact.
UploadZip = Callable[[Callable[[zipfile.ZipFile], None], str], str]
#: Uploads a file under a name and gives the id of its artifact.
Upload = Callable[[str, str], str]

_TABLE = re.compile(r"\.(csv|tsv|txt)$", re.IGNORECASE)
_ARRAYS = ("train_x", "train_y", "test_x", "test_y")
#: The same for every entry, so that equal data makes equal bytes, which are sent and kept once.
_MODIFIED = (1980, 1, 2, 0, 0, 0)


class Places(NamedTuple):
    """Where the columns of spectra lie, as far as that is said beside them."""

    axis: Optional[Sequence[Any]]
    unit: Optional[str]


class Purpose(NamedTuple):
    """What datasets are for."""

    #: The library that reads them.
    library: str
    #: Whether there have to be reference values.
    measured: bool = True
    #: What the model that is to predict them calls its reference value; None where it does not say.
    target: Callable[[], Optional[str]] = lambda: None
    #: Raises `InputError` where spectra with these columns do not go with that model.
    fits: Callable[[List[str]], None] = lambda header: None

    @property
    def takes_names(self) -> bool:
        """Whether a column that names the samples is read as such, as by the runners that come with the worker."""
        return self.library in ("mljs", "nirs4all")


class Dataset:
    """Spectra and reference values in memory: arrays of numpy, frames of pandas, or lists.

    `X` has a row for each sample, and `y` a value for each; without `y` it can be predicted only. Where both have an index
    (or a column `sample`), rows belong together by that, and it has to be of the same samples; else by their order. An index
    that does more than count, or a column `sample`, names the samples. `axis` names the columns of `X`; a frame has them as
    its columns. `unit` is that of these places: `nm`, `µm` or `cm-1`; spectra of another unit are refused by a model that knows
    its own. `name` is what rankings call the data.
    """

    def __init__(
        self,
        X: Any,
        y: Any = None,
        X_test: Any = None,
        y_test: Any = None,
        *,
        name: Optional[str] = None,
        axis: Optional[Sequence[Any]] = None,
        unit: Optional[str] = None,
        target: Optional[str] = None,
    ) -> None:
        self.name = name
        self._tables: Dict[str, Table] = {}
        self._names: Dict[str, List[str]] = {}
        places = Places(axis, unit)
        self._add("train", (X, y), ("X", "y"), places, target)
        if X_test is not None:
            self._add("test", (X_test, y_test), ("X_test", "y_test"), places, target)
            _assert_same_columns(X, X_test, self._tables)
        elif y_test is not None:
            raise InputError("y_test is given without X_test")

    def _add(self, part: str, given: Tuple[Any, Any], what: Tuple[str, str], places: Places, target: Optional[str]) -> None:
        """Adds spectra, and their reference values where there are some, in the order of the spectra."""
        x, rows = rows_apart(given[0])
        names = rows.names()
        spectra = _spectra(x, what[0], places, names)
        self._tables[f"{part}_x"] = spectra
        if given[1] is not None:
            y, others = rows_apart(given[1])
            values = _values(y, what[1], target)
            if len(spectra.rows) != len(values.rows):
                raise InputError(f"{len(spectra.rows)} spectra, and {len(values.rows)} reference values")
            order = order_of(rows, others, " and ".join(what))
            self._tables[f"{part}_y"] = values if order is None else Table(values.header, [values.rows[i] for i in order])
            # Those of reference values name spectra that have no labels at all.
            names = names or (others.names() if rows.labels is None else None)
        if names is not None:
            self._names[part] = names

    @property
    def measured(self) -> bool:
        """Whether there are reference values to learn from."""
        return "train_y" in self._tables

    @classmethod
    def from_frame(
        cls, frame: Any, target: Optional[str] = None, *, name: Optional[str] = None, unit: Optional[str] = None
    ) -> "Dataset":
        """Of a frame of pandas with spectra and reference values: columns named by wavelengths are the spectra.

        `unit` is theirs, where the names do not say it. `target` names the column of reference values; it may be left out where only one other column holds numbers.
        """
        spectra, others = _sorted(frame)
        if target is not None and target not in list(frame.columns):
            raise InputError(f"the frame has no column {target!r}{hint(target, others)}")
        spectra = [column for column in spectra if column != target]
        if len(spectra) < 2:
            raise InputError("the frame has no columns named by wavelengths; give its parts as (X, y)")
        if target is None:
            if len(others) != 1:
                names = ", ".join(str(other) for other in others) or "none"
                raise InputError(f"which column holds the reference values? Dataset.from_frame(frame, target=…): {names}")
            target = others[0]
        return cls(_with_names(frame, spectra), frame[target], name=name, unit=unit)

    @classmethod
    def _to_predict(cls, frame: Any, target: Callable[[], Optional[str]]) -> "Dataset":
        """Of a frame that is to be predicted: with the reference values that `target` names, if it has them."""
        spectra, others = _sorted(frame)
        if len(spectra) < 2:
            return cls(frame)
        # Without a name, as a run takes them.
        wanted = (target() or str(others[0] if len(others) == 1 else "")).lower() if others else ""
        found = [column for column in others if str(column).lower() == wanted]
        return cls(_with_names(frame, spectra), frame[found[0]] if found else None)

    def writing(self, with_names: bool) -> Callable[[zipfile.ZipFile], None]:
        """What adds the tables to an archive, as both runners that come with the worker read them."""

        def write(archive: zipfile.ZipFile) -> None:
            for key, table in self._tables.items():
                names = self._names.get(key.partition("_")[0]) if with_names else None
                add(archive, f"{key}.csv", csv_of(table if names is None else _named(table, names)))

        return write

    def __repr__(self) -> str:
        spectra, test = self._tables["train_x"], self._tables.get("test_x")
        name = f"{self.name} " if self.name else ""
        more = f", {len(test.rows)} for testing" if test else ""
        return f"<Dataset {name}{len(spectra.rows)} samples × {len(spectra.header)} columns{more}>"


def dataset_refs(given: Any, upload: Upload, upload_zip: UploadZip, purpose: Purpose) -> List[Dict[str, Any]]:
    """The references for one dataset, or for several: a list, or a mapping of their names."""
    if isinstance(given, Mapping) and "kind" not in given and not _is_arrays(given):
        named = {str(name): one for name, one in given.items()}
        return [{**dataset_ref(one, upload, upload_zip, purpose, name), "name": name} for name, one in named.items()]
    if isinstance(given, list):
        return [dataset_ref(one, upload, upload_zip, purpose) for one in given]
    return [dataset_ref(given, upload, upload_zip, purpose)]


def dataset_ref(
    given: Any, upload: Upload, upload_zip: UploadZip, purpose: Purpose, name: Optional[str] = None
) -> Dict[str, Any]:
    """The reference for one dataset: a path, a reference, arrays, a frame or a `Dataset`."""
    if isinstance(given, (str, os.PathLike)):
        return _of_path(located("dataset", given), upload, upload_zip)
    if isinstance(given, Mapping) and "kind" in given:
        return dict(given)
    dataset = _in_memory(given, purpose)
    if purpose.measured and not dataset.measured:
        raise InputError("the dataset has no reference values to learn from: give (X, y)")
    purpose.fits(dataset._tables["train_x"].header)
    label = name or dataset.name or "arrays"
    return {"kind": "artifact", "artifact_id": upload_zip(dataset.writing(purpose.takes_names), f"{label}.zip"), "name": label}


def add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    """Adds a file to an archive, the same each time."""
    entry = zipfile.ZipInfo(name, _MODIFIED)
    entry.external_attr = 0o100644 << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.create_system = 3
    archive.writestr(entry, content)


def _of_path(path: str, upload: Upload, upload_zip: UploadZip) -> Dict[str, Any]:
    if not is_here(path):
        return {"kind": "shared_path", "path": path}
    if os.path.isdir(path):
        files = list(_files_of(path))
        if not files:
            raise InputError(f"the dataset {path} holds no files")
        label = os.path.basename(os.path.abspath(path))
    elif _TABLE.search(path):
        files, label = [(os.path.basename(path), path)], stem(path)
    elif path.lower().endswith(".zip"):
        return {"kind": "artifact", "artifact_id": upload(path, os.path.basename(path)), "name": stem(path)}
    else:
        raise InputError(f"the dataset {path} is a file: give a folder, a zip of one, or a table (.csv, .tsv, .txt)")

    def write(archive: zipfile.ZipFile) -> None:
        for name, file in files:
            with open(file, "rb") as opened:
                add(archive, name, opened.read())

    return {"kind": "artifact", "artifact_id": upload_zip(write, f"{label}.zip"), "name": label}


def _files_of(folder: str) -> Iterator[Tuple[str, str]]:
    """The files below a folder by their names in an archive; hidden ones and what Python caches are left out."""
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "__pycache__")
        for name in sorted(names):
            path = os.path.join(place, name)
            if not name.startswith(".") and os.path.isfile(path):
                yield os.path.relpath(path, folder).replace(os.sep, "/"), path


def _in_memory(given: Any, purpose: Purpose) -> Dataset:
    if isinstance(given, Dataset):
        return given
    if isinstance(given, tuple) and len(given) in (2, 4):
        return Dataset(*given)
    if isinstance(given, Mapping):
        return Dataset(*(given.get(name) for name in _ARRAYS))
    if _columns(given) is not None:
        return Dataset.from_frame(given) if purpose.measured else Dataset._to_predict(given, purpose.target)
    if not purpose.measured and callable(getattr(given, "tolist", None)):
        return Dataset(given)
    raise InputError(f"{type(given).__name__} is no dataset: give a path, (X, y), a frame, or a Dataset")


def _is_arrays(given: Mapping[str, Any]) -> bool:
    return "train_x" in given and "train_y" in given and set(given) <= set(_ARRAYS)


def _columns(given: Any) -> Optional[List[Any]]:
    """The names of the columns of a frame; None for what is none."""
    columns = getattr(given, "columns", None)
    return None if columns is None else list(columns)


def _is_place(column: Any) -> bool:
    return PLACE.match(str(column).strip()) is not None


def _sorted(frame: Any) -> Tuple[List[Any], List[Any]]:
    """The columns of a frame that are places on an axis, and the others that hold numbers and name no samples."""
    columns, names = list(frame.columns), names_column(frame)
    spectra = [column for column in columns if _is_place(column)]
    others = [column for column in columns if column not in spectra and column != names]
    return spectra, [column for column in others if getattr(frame[column].dtype, "kind", "") in "iuf"]


def _with_names(frame: Any, spectra: List[Any]) -> Any:
    """The spectra of a frame, with the column that names its samples."""
    names = names_column(frame)
    return frame[spectra if names is None else [names, *spectra]]


def _named(table: Table, names: List[str]) -> Table:
    return Table(["sample", *table.header], [[name, *row] for name, row in zip(names, table.rows)])


def _spectra(given: Any, what: str, places: Places, samples: Optional[List[str]]) -> Table:
    names = list(places.axis) if places.axis is not None else _columns(given)
    # Words above numbers are a header whatever the numbers are; `x0` would be a place on an axis, which nobody has named.
    table = table_of(given, what, names, lambda width: [f"column {i + 1}" for i in range(width)])
    for i, row in enumerate(table.rows):
        for j, value in enumerate(row):
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
                why = "spectra have no gaps" if isinstance(value, float) else "which is no number"
                sample = i + 1 if samples is None else samples[i]
                raise InputError(f"{what}: {table.header[j]!r} of sample {sample} is {value!r}; {why}")
    return table if places.unit is None else table._replace(header=with_unit(table.header, places.unit))


def _values(given: Any, what: str, target: Optional[str]) -> Table:
    name = target if target is not None else getattr(given, "name", None)
    names = _columns(given) if name is None else [name]
    return table_of(given, what, names, lambda width: ["y"] if width == 1 else [f"y{i + 1}" for i in range(width)])


def _assert_same_columns(one: Any, other: Any, tables: Mapping[str, Table]) -> None:
    train, test = tables["train_x"].header, tables["test_x"].header
    if len(train) != len(test):
        raise InputError(f"X has {len(train)} columns, and X_test has {len(test)}")
    if _columns(one) is not None and _columns(other) is not None and train != test:
        raise InputError("X and X_test have columns of different names")
