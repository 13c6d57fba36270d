"""Jobs that predict with a model."""

from __future__ import annotations

import os
from typing import Any, Dict, List, Mapping, Optional, Protocol, Tuple, Union

from ._datasets import Dataset
from ._errors import InputError
from ._http import PathName
from ._paths import is_here, stem
from ._routes import JobView
from ._session import Session

#: The reference of a model, and the library that it is of where that is known.
Model = Tuple[Dict[str, Any], Optional[str]]


class HasModel(Protocol):
    """What a model can be had of: a job, or a task."""

    def as_model(self) -> Model: ...


def best_of(job: JobView) -> Model:
    """The best model of a job."""
    return {"kind": "best_model", "job_id": job["id"]}, library_of(job)


def predicting(
    session: Session,
    model: Union[HasModel, PathName, Mapping[str, Any]],
    datasets: List[Dict[str, Any]],
    lib: Optional[str],
    rest: Mapping[str, Any],
) -> JobView:
    """Submits a job that predicts."""
    ref, library = _model(session, model)
    kind = lib or library or "nirs4all"
    return session.submit({"type": f"{kind}.predict", "model": ref, "datasets": datasets, **rest})


def predicting_samples(session: Session, model: Model, X: Any, y: Any, interpolate: bool) -> JobView:
    """Submits a job that predicts samples with a model of a library that is known."""
    ref, library = model
    given = X if y is None and not isinstance(X, (list, tuple)) else Dataset(X, y)
    spec = {"params": {"interpolate": True} if interpolate else None}
    dataset = session.dataset(given, measured=False)
    return session.submit({"type": f"{library}.predict", "model": ref, "datasets": [dataset], **spec})


def _model(session: Session, model: Union[HasModel, PathName, Mapping[str, Any]]) -> Model:
    if isinstance(model, Mapping):
        return dict(model), None
    if not isinstance(model, (str, os.PathLike)):
        return model.as_model()
    path = os.path.expanduser(os.fspath(model))
    if not is_here(path):
        raise InputError(f"there is no model {os.path.abspath(path)}")
    uploaded = session.upload(path, os.path.basename(path))
    return {"kind": "artifact", "artifact_id": uploaded, "name": stem(path)}, "mljs" if path.endswith(".json") else None


def library_of(job: JobView) -> str:
    """The library that the tasks of a job run."""
    return job["type"].rpartition(".")[0]
