"""What a cluster, its jobs and its tasks share: the way to the server, and what was sent on it."""

from __future__ import annotations

import hashlib
import tempfile
import threading
import uuid
import zipfile
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Tuple

from ._datasets import Purpose, dataset_ref, dataset_refs
from ._http import CHUNK, JsonText, Transport, dumps
from ._pipelines import pipeline_ref, pipeline_refs
from ._routes import Api, JobView
from ._telling import tell


class Session:
    """May be used by several threads at the same time."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.api = Api(transport)
        self._sent: Dict[Tuple[str, str], str] = {}
        self._lock = threading.Lock()

    def pipeline(self, given: Any) -> Dict[str, Any]:
        return pipeline_ref(given, self.upload)

    def pipelines(self, given: Any) -> List[Dict[str, Any]]:
        return pipeline_refs(given, self.upload)

    def dataset(self, given: Any, purpose: Purpose) -> Dict[str, Any]:
        """The reference for one dataset."""
        return dataset_ref(given, self.upload, self._upload_zip, purpose)

    def datasets(self, given: Any, purpose: Purpose) -> List[Dict[str, Any]]:
        return dataset_refs(given, self.upload, self._upload_zip, purpose)

    def submit(self, spec: Mapping[str, Any]) -> JobView:
        """Submits a job of its members; None leaves one out. A request whose answer was lost makes no second job."""
        parts = {key: dumps(value) for key, value in spec.items() if value is not None}
        return self.submit_texts(parts)

    def submit_texts(self, parts: Mapping[str, str]) -> JobView:
        """The same of the JSON texts of the members."""
        key = parts.get("idempotency_key") or dumps(f"python-{uuid.uuid4().hex}")
        text = ",".join(f"{dumps(name)}:{value}" for name, value in {**parts, "idempotency_key": key}.items())
        view = self.api.submit_job(JsonText(f"{{{text}}}"))
        tell(view["warnings"], UserWarning)
        return view

    def upload(self, path: str, filename: str) -> str:
        """Sends a file unless the same content was sent before; the id of its artifact."""
        digest = hashlib.sha256()
        with open(path, "rb") as file:
            for chunk in iter(lambda: file.read(CHUNK), b""):
                digest.update(chunk)
        key = (digest.hexdigest(), filename)
        known = self._sent.get(key)
        # It may have been deleted since.
        if known is not None and self.transport.has("/v1/artifacts/{id}", {"id": known}):
            return known
        sent = self.api.upload_artifact(path, filename, kind="input")["artifact_id"]
        with self._lock:
            self._sent[key] = sent
        return sent

    def _upload_zip(self, write: Callable[[zipfile.ZipFile], None], filename: str) -> str:
        with tempfile.TemporaryDirectory(prefix="jq-cluster-") as folder:
            path = Path(folder) / "dataset.zip"
            with zipfile.ZipFile(path, "w") as archive:
                write(archive)
            return self.upload(str(path), filename)
