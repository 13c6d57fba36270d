"""Jobs that predict with a model."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Protocol, Union

from ._axis import assert_fits
from ._datasets import Dataset, Purpose
from ._errors import ClusterError, InputError
from ._http import PathName
from ._paths import is_here, stem
from ._routes import JobView
from ._session import Session

#: Characters of the name of a job, at most.
_LONGEST = 1000


class Model(NamedTuple):
    """A model that a job may predict with."""

    ref: Dict[str, Any]
    #: The library that it is of, where that is known.
    library: Optional[str]
    #: What lists call it; None where it has no name.
    label: Optional[str] = None
    #: Fetches its file; None where nobody knows where that is.
    file: Optional[Callable[[], Path]] = None

    def about(self) -> Dict[str, Any]:
        """What its file says of itself; nothing where it cannot be had: it is refused where it is asked to predict."""
        try:
            return {} if self.file is None else about_in(self.file())
        except (AttributeError, ClusterError, OSError, ValueError, zipfile.BadZipFile):
            return {}

    def purpose(self, library: str, interpolate: bool) -> Purpose:
        """What datasets are for that it is to predict. Its file is read once, and only where that matters."""
        known: List[Dict[str, Any]] = []

        def about() -> Dict[str, Any]:
            if not known:
                known.append(self.about())
            return known[0]

        return Purpose(
            library,
            measured=False,
            target=lambda: target_of(about()),
            fits=lambda header: assert_fits(about(), header, interpolate),
        )


class HasModel(Protocol):
    """What a model can be had of: a job, or a task."""

    def as_model(self) -> Model: ...


def best_of(job: JobView, file: Callable[[], Path]) -> Model:
    """The best model of a job."""
    return Model({"kind": "best_model", "job_id": job["id"]}, library_of(job), f"best of {title_of(job)}", file)


def title_of(job: JobView) -> str:
    """What lists call a job."""
    return job["name"] or f"…{job['id'][-8:]}"


def about_in(path: Path) -> Dict[str, Any]:
    """What a model file says of itself: JSON of mljs, or a bundle of nirs4all."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as bundle:
            found = json.loads(bundle.read("jq-cluster.json")) if "jq-cluster.json" in bundle.namelist() else {}
    else:
        found = json.loads(path.read_bytes()).get("about") or {}
    return found if isinstance(found, dict) else {}


def target_of(about: Mapping[str, Any]) -> Optional[str]:
    """The only target of a model that says it."""
    targets = about.get("targets") or []
    return targets[0].get("name") if len(targets) == 1 else None


def predicting(
    session: Session,
    model: Union[HasModel, PathName, Mapping[str, Any]],
    datasets: Any,
    lib: Optional[str],
    rest: Mapping[str, Any],
) -> JobView:
    """Submits a job that predicts."""
    found = model_of(session, model, lib)
    library = lib or found.library or "nirs4all"
    interpolate = bool((rest.get("params") or {}).get("interpolate"))
    refs = session.datasets(datasets, found.purpose(library, interpolate))
    return _submit(session, found, library, refs, rest)


def predicting_samples(session: Session, model: Model, X: Any, y: Any, interpolate: bool) -> JobView:
    """Submits a job that predicts samples with a model of a library that is known."""
    library = model.library or "nirs4all"
    purpose = model.purpose(library, interpolate)
    given = X if y is None and not isinstance(X, (list, tuple)) else Dataset(X, y, target=_called_by(purpose, y))
    ref = session.dataset(given, purpose)
    return _submit(session, model, library, [ref], {"params": {"interpolate": True} if interpolate else None})


def _called_by(purpose: Purpose, y: Any) -> Optional[str]:
    """What reference values without a name are: those of the only target of the model."""
    has_name = getattr(y, "name", None) is not None or hasattr(y, "columns")
    return None if y is None or has_name else purpose.target()


def _submit(session: Session, model: Model, library: str, datasets: List[Dict[str, Any]], rest: Mapping[str, Any]) -> JobView:
    label = {} if model.label is None or "name" in model.ref else {"name": model.label}
    spec = {"type": f"{library}.predict", "model": {**model.ref, **label}, "datasets": datasets, **rest}
    if spec.get("name") is None and model.label is not None:
        what = ", ".join(_called(dataset) for dataset in datasets)
        spec["name"] = f"{what} by {model.label}"[:_LONGEST]
    return session.submit(spec)


def _called(dataset: Mapping[str, Any]) -> str:
    name = str(dataset.get("name") or stem(str(dataset.get("path") or dataset.get("catalog_id") or "X")))
    return "X" if name == "arrays" else name


def model_of(session: Session, model: Union[HasModel, PathName, Mapping[str, Any]], lib: Optional[str]) -> Model:
    """Raises `InputError` where there is none, and for a file of another library than `lib`."""
    if isinstance(model, Mapping):
        return Model(dict(model), None, model.get("name"))
    if not isinstance(model, (str, os.PathLike)):
        if not callable(getattr(model, "as_model", None)):
            raise InputError(f"{type(model).__name__} is no model: give a job, a task, a path, or a reference")
        return model.as_model()
    path = os.path.expanduser(os.fspath(model))
    if not is_here(path):
        raise InputError(f"there is no model {os.path.abspath(path)}; the best of a job is cluster.job({os.fspath(model)!r})")
    library = _library_in(Path(path))
    if lib is not None and library not in (lib, None):
        raise InputError(f"{os.path.basename(path)} is a model of {library}, and {lib} cannot predict with it")
    uploaded = session.upload(path, os.path.basename(path))
    ref = {"kind": "artifact", "artifact_id": uploaded, "name": stem(path)}
    by_ending = {".json": "mljs", ".n4a": "nirs4all"}.get(os.path.splitext(path)[1].lower())
    return Model(ref, library or by_ending, _made_by(session, Path(path)) or stem(path), lambda: Path(path))


def _made_by(session: Session, path: Path) -> Optional[str]:
    """A name by the job that made a model file, where it says so, and that job is on this server."""
    made = Model({}, None, file=lambda: path).about().get("task") or {}
    job_id = made.get("job_id") if isinstance(made, dict) else None
    found = session.api.list_jobs(ref=job_id, limit=1) if isinstance(job_id, str) else []
    return f"model of {title_of(found[0])}" if found and found[0]["id"] == job_id else None


def _library_in(path: Path) -> Optional[str]:
    """The library that a model file says it is of."""
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as bundle:
                manifest = json.loads(bundle.read("manifest.json")) if "manifest.json" in bundle.namelist() else {}
            if "nirs4all_version" in manifest:
                return "nirs4all"
        found = about_in(path).get("library")
    except (OSError, ValueError, zipfile.BadZipFile, AttributeError):
        return None
    return found if isinstance(found, str) else None


def library_of(job: JobView) -> str:
    """The library that the tasks of a job run."""
    return job["type"].rpartition(".")[0]
