"""One task of a job: a pipeline on a dataset, and what came of it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional

from ._errors import ClusterError
from ._files import content, fetch, rows_of
from ._find import pipeline_of
from ._http import PathName
from ._predict import Model, library_of, title_of
from ._routes import ArtifactView, EventView, TaskView
from ._session import Session
from ._tables import frame

#: A line that told how far the task was.
_PROGRESS = re.compile(r"^::progress[^\S\n]+\d*\.?\d+(?:e-?\d+)?(?:[^\S\n].*)?(?:\n|\Z)", re.IGNORECASE | re.MULTILINE)


class Task:
    """A task as it was when it was asked for."""

    def __init__(self, session: Session, view: TaskView) -> None:
        self._session = session
        self._api = session.api
        #: All that the server says of it.
        self.view = view

    @property
    def id(self) -> str:
        return self.view["id"]

    @property
    def status(self) -> str:
        return self.view["status"]

    @property
    def pipeline(self) -> str:
        """The name of the pipeline, or its steps."""
        return pipeline_of(self.view)

    @property
    def dataset(self) -> str:
        return self.view["dataset_label"]

    @property
    def metrics(self) -> Dict[str, Optional[float]]:
        """Numbers by their names; empty unless it succeeded."""
        return dict((self.view["result"] or {}).get("metrics") or {})

    @property
    def error(self) -> Optional[str]:
        return self.view["error"]

    @property
    def warnings(self) -> List[str]:
        """What its library said of the data, such as samples that were left out."""
        told: Any = ((self.view["result"] or {}).get("extra") or {}).get("warnings")
        return [str(text) for text in told] if isinstance(told, list) else []

    def artifacts(self) -> List[ArtifactView]:
        return self._api.list_job_artifacts(self.view["job_id"], task_id=self.id)

    def model(self, to: Optional[PathName] = None) -> Path:
        """Downloads the model into the folder `to`, else into one that goes with this process; the path of the file."""
        return fetch(self._api, self.artifact("model"), to)

    def predictions(self) -> Any:
        """What was predicted of samples that the model was not fitted on: a frame, or a list of rows without pandas."""
        return frame(self.prediction_rows())

    def prediction_rows(self) -> List[Dict[str, Any]]:
        """The same as rows, whatever is installed."""
        return rows_of(content(self._api, self.artifact("predictions")).decode())

    def as_model(self) -> Model:
        """Its model, for a job that predicts."""
        job = self._api.get_job(self.view["job_id"])
        ref = {"kind": "artifact", "artifact_id": self.artifact("model")["id"], "name": self.pipeline}
        return Model(ref, library_of(job), f"{self.pipeline} on {self.dataset} of {title_of(job)}", self.model)

    def curves(self) -> Dict[str, Any]:
        """What goes along with a setting, such as errors by the number of components."""
        curves: Dict[str, Any] = json.loads(content(self._api, self.artifact("curves")))
        return curves

    def spectra(self, preprocessed: bool = False) -> Dict[str, Any]:
        """Up to 200 spectra of its dataset for a picture, as they were read or as its model sees them."""
        role = "preprocessed" if preprocessed else "spectra"
        spectra: Dict[str, Any] = json.loads(content(self._api, self.artifact(role)))
        return spectra

    def logs(self, *, progress: bool = False) -> str:
        """What the task printed: all of it once it has ended, before that as far as it was sent.

        Lines by which its run only told how far it was are left out but for `progress`."""
        kept = [artifact for artifact in self.artifacts() if artifact["role"] == "logs"]
        if kept:
            text = content(self._api, kept[-1]).decode("utf-8", "replace")
            return text if progress else _PROGRESS.sub("", text)
        lines = (event["message"] for event in self._events() if event["type"] == "log")
        return "".join(f"{line}\n" for line in lines)

    def _events(self) -> Iterator[EventView]:
        after = 0
        while True:
            page = self._api.list_job_events(self.view["job_id"], task_id=self.id, after_id=after, limit=1000)
            yield from page
            if len(page) < 1000:
                return
            after = page[-1]["id"]

    def artifact(self, role: str) -> ArtifactView:
        """Its file of a role: `model`, `predictions`, `curves`, `spectra`, `preprocessed`, `logs`, `workspace`.

        Raises `ClusterError` where it has none."""
        found = [artifact for artifact in self.artifacts() if artifact["role"] == role]
        if not found:
            why = "" if self.status == "succeeded" else f", for it is {self.status}"
            raise ClusterError(f"the task {self.id} ({self.pipeline}) has no {role}{why}")
        return found[-1]

    def __repr__(self) -> str:
        metrics = ", ".join(f"{name} {value:.4g}" for name, value in list(self.metrics.items())[:2] if value is not None)
        return f"<Task {self.id} {self.pipeline} on {self.dataset}: {self.status}{', ' if metrics else ''}{metrics}>"
