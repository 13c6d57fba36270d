"""A job that was submitted: waiting for it, and what came of it."""

from __future__ import annotations

import threading
import time
from collections import Counter
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple, Union

from ._errors import ClusterError, InputError, JobCancelledError, JobFailedError
from ._http import JsonText, dumps
from ._json import members
from ._find import task_named
from ._predict import Model, best_of, predicting_samples
from ._routes import JobView, RankingEntry
from ._session import Session
from ._show import ENDED, Bar, Panel, card, cell_of_notebook, in_notebook
from ._tables import frame, ranking_rows
from ._task import Task
from ._telling import DataWarning, tell
from ._waiting import Reasons, reasons

_PAGE = 1000
#: Seconds between two looks at a job, at first and at last.
FIRST_PAUSE, LAST_PAUSE = 0.2, 2.0
_AS_IS: Any = object()


class Job:
    """A job. What it says of itself is as of the last look at it; `refresh()` looks again."""

    def __init__(self, session: Session, view: JobView) -> None:
        self._session = session
        self._api = session.api
        self._live: Optional[threading.Thread] = None
        #: The card that followed it, or does so.
        self._panel: Optional[Panel] = None
        #: Held from a look at the job until what it gave is shown, so that nothing earlier is shown after it.
        self._looking = threading.RLock()
        self._known: Tuple[Any, List[str]] = (None, [])
        # What came with it was told when it was submitted.
        self._told = set(view["warnings"])
        self._best: Optional[Task] = None
        self._reasons = Reasons(session.api)
        #: The cell of a notebook that has shown it already.
        self._shown_in: Optional[int] = None
        #: All that the server said of it at the last look.
        self.view = view

    @property
    def id(self) -> str:
        return self.view["id"]

    @property
    def name(self) -> Optional[str]:
        return self.view["name"]

    @property
    def status(self) -> str:
        """`queued`, `running`, `cancelling`, `succeeded`, `failed` or `cancelled`."""
        return self.view["status"]

    @property
    def done(self) -> bool:
        """Whether it has ended, however."""
        return self.status in ENDED

    @property
    def url(self) -> str:
        """Its page in the dashboard."""
        return f"{self._session.transport.server}/ui?job={self.id}"

    def refresh(self) -> "Job":
        """Looks at the job again; counts and the best, without its ranking and errors."""
        with self._looking:
            found = self._api.list_jobs(ref=self.id, limit=1)
            # Servers that know no `ref` give the newest of all jobs.
            self.view = found[0] if found and found[0]["id"] == self.id else self._api.get_job(self.id)
            if self.done:
                self._show_end()
        return self

    def wait(self, timeout: Optional[float] = None, *, progress: bool = True) -> "Job":
        """Waits until the job has ended, with a bar in a terminal or a card in a notebook.

        Raises `JobFailedError` or `JobCancelledError` if it does not succeed, and `TimeoutError` after `timeout` seconds,
        which leaves the job running.
        """
        shown = _Shown(self, progress)
        try:
            for pause in self.pauses(timeout):
                time.sleep(pause)
                self.refresh()
                shown.show()
        finally:
            shown.close()
        try:
            self._conclude()
        finally:
            self._tell()
        return self

    def pauses(self, timeout: Optional[float] = None) -> Iterator[float]:
        """Seconds to sleep before each look, until the job has ended. Raises `TimeoutError` after `timeout` seconds."""
        began, pause = time.monotonic(), FIRST_PAUSE
        while not self.done:
            left = float("inf") if timeout is None else timeout - (time.monotonic() - began)
            if left <= 0:
                raise TimeoutError("\n".join([f"{self.id} is still {self.status} after {timeout:g} s; it goes on", *self._why()]))
            yield min(pause, left)
            pause = min(pause * 1.3, LAST_PAUSE)

    def _why(self) -> List[str]:
        try:
            return self.waiting
        except ClusterError:
            return []

    @property
    def waiting(self) -> List[str]:
        """Why its queued tasks do not run, a line for all that wait for the same; empty where nothing keeps them."""
        return [] if self.done else reasons(self._api, self.id)

    @property
    def warnings(self) -> List[str]:
        """What the server, and the libraries in their results, say of the data, such as samples that were left out.

        What was said of several tasks stands once, with their number. Of very many tasks, the first thousand are looked at.
        """
        counts = self.view["aggregate"]
        state = (counts["num_succeeded"], self.view["updated_at"])
        if counts["num_succeeded"] == 0:
            return list(self.view["warnings"])
        if self._known[0] != state:
            said: Dict[str, int] = {}
            for task in self._api.list_job_tasks(self.id, status="succeeded", limit=_PAGE):
                for text in dict.fromkeys(Task(self._session, task).warnings):
                    said[text] = said.get(text, 0) + 1
            several = counts["num_tasks"] > 1
            of = [f"{text} ({count} task{'' if count == 1 else 's'})" if several else text for text, count in said.items()]
            self._known = (state, of)
        return [*self.view["warnings"], *self._known[1]]

    def _tell(self) -> None:
        """Warns of what was not told before."""
        new = [text for text in self.warnings if text not in self._told]
        self._told.update(new)
        tell(new, DataWarning)

    def _show_end(self) -> None:
        if self._panel is not None:
            self._show_on(self._panel)

    def _show_on(self, panel: Panel) -> None:
        panel.show(self._repr_html_(), repr(self))

    def _conclude(self) -> None:
        with self._looking:
            self.view = self._api.get_job(self.id)
            # A notebook may end before the card that follows the job has looked again.
            self._show_end()
        errors = list(self.view["aggregate"]["errors"].values())
        if self.status == "failed":
            why = self.view["error"] or (errors[0] if errors else "no task succeeded")
            raise JobFailedError(f"{self.id} failed: {why}", self.id)
        if self.status == "cancelled":
            raise JobCancelledError(f"{self.id} was cancelled", self.id)

    @property
    def ranking(self) -> Any:
        """Its succeeded tasks, best first: a frame of pandas numbered from 1, or a list of rows where there is no pandas."""
        return frame(self._rows(None), 1)

    def _rows(self, limit: Optional[int]) -> List[Dict[str, Any]]:
        entries: List[RankingEntry] = []
        if limit is None:
            while len(entries) % _PAGE == 0:
                page = self._api.get_job_ranking(self.id, limit=_PAGE, offset=len(entries))
                entries += page
                if not page:
                    break
        else:
            entries = self._api.get_job_ranking(self.id, limit=limit)
        return ranking_rows(entries, self.view["aggregate"]["rank_metric"])

    @property
    def best(self) -> Task:
        """The task that ranks first. Raises `ClusterError` while there is none."""
        best = self._api.get_job(self.id)["aggregate"]["best_task_id"]
        if best is None:
            raise ClusterError(f"{self.id} is {self.status} and has no best task yet")
        # Looked for among all tasks only once, as long as it is the best.
        if self._best is None or self._best.id != best:
            self._best = self.task(best)
        return self._best

    def task(self, ref: str) -> Task:
        """One of its tasks: by its id or a part of it, as it is printed (`raw on gas`), or by its pipeline or dataset alone.

        Raises `ClusterError` where there is none, and where there are several, with those.
        """
        return Task(self._session, task_named([task.view for task in self.tasks()], ref, self.id))

    def tasks(self, status: Optional[str] = None) -> List[Task]:
        """Its tasks, pipeline by pipeline, datasets in their order."""
        tasks: List[Task] = []
        after: Optional[str] = None
        while True:
            page = self._api.list_job_tasks(self.id, status=status, after_id=after, limit=_PAGE)  # type: ignore[arg-type]
            tasks += [Task(self._session, view) for view in page]
            if len(page) < _PAGE:
                return tasks
            after = page[-1]["id"]

    @property
    def errors(self) -> Dict[str, str]:
        """Why tasks failed, by `PIPELINE on DATASET`, or by their ids where that is not enough; `task` takes either."""
        failed = [(f"{task.pipeline} on {task.dataset}", task) for task in self.tasks("failed")]
        known = Counter(name for name, _ in failed)
        return {name if known[name] == 1 else task.id: task.error or "" for name, task in failed}

    def predict(self, X: Any, y: Any = None, *, interpolate: bool = False) -> Any:
        """Predicts samples with its best model on a worker, and waits for that: a frame, or a list of rows without pandas.

        `X` is an array, a frame, a path or a `Dataset`. With `y`, or where a frame has the column of the model's target, the
        rows have the reference values, too. Spectra on another axis than that of the model are refused, or interpolated where `interpolate` says so.
        """
        view = predicting_samples(self._session, self.as_model(), X, y, interpolate)
        return Job(self._session, view).wait(progress=False).predictions()

    def as_model(self) -> Model:
        """Its best model, for a job that predicts."""
        return best_of(self.view, lambda: self.best.model())

    def predictions(self) -> Any:
        """Of a job that predicts: what it predicted, sample by sample; `dataset` says of which, where there are several."""
        parts = [(task, task.prediction_rows()) for task in self.tasks("succeeded")]
        if len(parts) == 1:
            return frame(parts[0][1])
        return frame([{"dataset": task.dataset, **row} for task, rows in parts for row in rows])

    def logs(self, task: Optional[str] = None, *, progress: bool = False) -> str:
        """What its tasks printed, one after the other, or one of them, which is named as for `task`.

        Lines by which a run only told how far it was are left out but for `progress`."""
        if task is not None:
            return self.task(task).logs(progress=progress)
        parts = [(task, task.logs(progress=progress)) for task in self.tasks()]
        if len(parts) == 1:
            return parts[0][1]
        return "\n".join(f"== {task.pipeline} on {task.dataset} ({task.id})\n{log}" for task, log in parts)

    def cancel(self) -> "Job":
        """Asks for its end: what waits is cancelled at once, what runs is stopped. One that has ended stays as it is."""
        self.view = self._api.cancel_job(self.id)
        return self

    def retry(self, tasks: Optional[Sequence[Union[str, Task]]] = None) -> "Job":
        """Queues its failed tasks, or those of `tasks`, again; they are named as for `task`. What succeeded stays."""
        ids = None if tasks is None else [(one if isinstance(one, Task) else self.task(one)).id for one in tasks]
        self.view = self._api.retry_job(self.id, {} if ids is None else {"task_ids": ids})
        return self

    def set(
        self,
        *,
        name: Optional[str] = _AS_IS,
        note: Optional[str] = _AS_IS,
        tags: Optional[Sequence[str]] = _AS_IS,
        priority: int = _AS_IS,
        keep: Optional[str] = _AS_IS,
    ) -> "Job":
        """Changes what is said of it, as `jqctl set` does; None takes away, and what is left out stays.

        `tags` are all that it is to have. `keep` is `forever`, or how long after its end, such as `7d`.
        """
        if isinstance(tags, str):
            raise InputError(f"tags are a list: [{tags!r}]")
        given = {"name": name, "note": note, "tags": tags, "priority": priority, "keep": keep}
        changes = {key: value for key, value in given.items() if value is not _AS_IS}
        if not changes:
            raise InputError("name what is to be changed: name, note, tags, priority or keep")
        if tags is not _AS_IS and tags is not None:
            changes["tags"] = list(tags)
        self.view = self._api.change_job(self.id, JsonText(dumps(changes)))
        return self

    def resubmit(self, **changes: Any) -> "Job":
        """Submits its specification as a new job, which names this one; numbers stay as they were written.

        Name, note and tags are those that it has now. `changes` are members that are to be others; None removes one.
        """
        now = self._api.get_job(self.id)
        request = self._session.transport.text("GET", "/v1/jobs/{id}/request", {"id": self.id}, {})
        parts: Dict[str, str] = {key: text for key, text in members(request).items() if key != "idempotency_key"}
        for one, other in (("pipeline", "pipelines"), ("dataset", "datasets")):
            if one in changes or other in changes:
                parts.pop(one, None)
                parts.pop(other, None)
        parts.update({"name": dumps(now["name"]), "note": dumps(now.get("note")), "tags": dumps(now.get("tags") or None)})
        parts["resubmitted_from"] = dumps(self.id)
        parts.update({key: dumps(value) for key, value in changes.items()})
        kept = {key: text for key, text in parts.items() if text != "null"}
        return Job(self._session, self._session.submit_texts(kept))

    def delete(self) -> None:
        """Deletes the job, which must have ended, with what it made."""
        self._api.delete_job(self.id)

    def __repr__(self) -> str:
        counts = self.view["aggregate"]
        name = f" {self.name!r}" if self.name else ""
        return f"<Job {self.id}{name}: {self.status}, {counts['num_succeeded']} of {counts['num_tasks']} tasks succeeded>"

    def _repr_html_(self) -> str:
        rows = self._rows(5) if self.view["aggregate"]["num_succeeded"] > 0 else []
        told = [f"warning: {text}" for text in (self.warnings if self.done else self.view["warnings"])]
        return card(self.view, self.url, rows, "\n".join([*self._reasons.of(self.view), *told]))

    def _ipython_display_(self) -> None:
        """Shows a card that goes on changing until the job has ended."""
        if not in_notebook():
            print(repr(self))
            return
        if self._shown_in == cell_of_notebook():
            # It waited in this very cell, and was shown there.
            return
        with self._looking:
            panel = Panel(self._repr_html_(), repr(self))
            if self.done or self._live is not None:
                return
            self._panel = panel
            self._live = threading.Thread(target=self._keep_showing, args=(panel,), daemon=True)
            self._live.start()

    def _keep_showing(self, panel: Panel) -> None:
        try:
            for pause in self.pauses():
                time.sleep(pause)
                with self._looking:
                    self.refresh()
                    if not self.done:
                        self._show_on(panel)
            # Who waits for the job may have been the first to see its end.
            with self._looking:
                self._show_on(panel)
        except ClusterError as error:
            panel.show(card(self.view, self.url, [], f"no longer followed: {error}"), repr(self))
        finally:
            self._live = None


class _Shown:
    """How a job is shown to who waits for it."""

    def __init__(self, job: Job, wanted: bool) -> None:
        self._job = job
        if wanted and in_notebook():
            job._shown_in = cell_of_notebook()
        # A card that already follows the job is not shown twice.
        self._panel = Panel(job._repr_html_(), repr(job)) if wanted and in_notebook() and job._live is None else None
        self._bar = Bar() if wanted and not in_notebook() else None
        if self._bar:
            self._bar.show(job.view, job._reasons.of(job.view))

    def show(self) -> None:
        if self._panel:
            self._job._show_on(self._panel)
        if self._bar:
            self._bar.show(self._job.view, self._job._reasons.of(self._job.view))

    def close(self) -> None:
        if self._bar:
            self._bar.close()
