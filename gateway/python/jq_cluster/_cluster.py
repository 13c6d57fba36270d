"""A server, and what it is asked to run."""

from __future__ import annotations

import os
import time
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Union

from ._datasets import Purpose
from ._errors import InputError, TaskError
from ._find import assert_taken, job_named
from ._http import PathName, Transport
from ._job import FIRST_PAUSE, LAST_PAUSE, Job
from ._predict import HasModel, predicting
from ._routes import ClusterStats, DemandView, ServersView, WorkerView
from ._session import Session
from ._show import ENDED
from ._task import Task
from ._times import Moment, moment

DEFAULT_SERVER = "http://127.0.0.1:8765"
DEFAULT_LIBRARY = "nirs4all"


class Cluster:
    """A server of jobs.

    `url`, `token` and `ca` (certificates in PEM that alone vouch for a server of https) are those of the environment
    variables JQ_SERVER, JQ_TOKEN and JQ_CA where they are left out, as they are for `jqctl`. Servers that stand by for
    each other are named in one `url`, separated by commas. May be used by several
    threads at the same time.
    """

    def __init__(self, url: Optional[str] = None, token: Optional[str] = None, *, ca: Optional[PathName] = None) -> None:
        env = os.environ.get
        self._session = Session(
            Transport(url or env("JQ_SERVER") or DEFAULT_SERVER, token or env("JQ_TOKEN") or None, ca or env("JQ_CA") or None)
        )
        #: The routes of the server, one by one.
        self.api = self._session.api

    @property
    def url(self) -> str:
        return self._session.transport.server

    def run(
        self,
        pipelines: Any,
        datasets: Any,
        *,
        lib: Optional[str] = None,
        name: Optional[str] = None,
        params: Optional[Dict[str, Any]] = None,
        **spec: Any,
    ) -> Job:
        """Submits a job: every pipeline on every dataset, each a task.

        A pipeline is a path, a list of steps (words, dicts, objects of nirs4all or scikit-learn), or a reference such as
        `{"kind": "python_entrypoint", …}`; several are a list of whole pipelines, or a mapping of their names.

        A dataset is a path of a folder, a zip or a table, `(X, y)` or `(X, y, X_test, y_test)` of numpy or pandas, a frame
        with columns named by wavelengths and one of reference values, a `Dataset`, or a reference such as
        `{"kind": "catalog", …}`; several are a list or a mapping of their names. What is here is packed and uploaded; an
        absolute path that is not here is one of the workers.

        `lib` is the library, `nirs4all` where it is left out; `params` are those of its run. `spec` are further members of
        the job: `rank_metric`, `priority`, `requirements`, `retry`, `reuse`, `select`, `timeout_seconds` and so on.
        """
        rest = {"type": None if lib is None else f"{lib}.run", "name": name, "params": params, **spec}
        refs, found = self._session.pipelines(pipelines), self._session.datasets(datasets, Purpose(lib or DEFAULT_LIBRARY))
        return Job(self._session, self._session.submit({**rest, "pipelines": refs, "datasets": found}))

    def map(self, pipelines: Iterable[Any], datasets: Any, **options: Any) -> "Sweep":
        """Runs pipelines as one job, and gives their tasks in the order of the pipelines, each as soon as it has ended.

        As `map` of `concurrent.futures` does, it submits at once and waits when it is iterated; a task that failed raises
        `TaskError` at its place. Where there are several datasets, each pipeline has a task for each. `options` are those
        of `run`.
        """
        lib = options.pop("lib", None)
        refs = [self._session.pipeline(one) for one in pipelines]
        if not refs:
            raise InputError("there are no pipelines to run")
        found = self._session.datasets(datasets, Purpose(lib or DEFAULT_LIBRARY))
        spec = {"type": None if lib is None else f"{lib}.run", **options, "pipelines": refs, "datasets": found}
        return Sweep(Job(self._session, self._session.submit(spec)))

    def predict(
        self,
        model: Union[HasModel, PathName, Mapping[str, Any]],
        datasets: Any,
        *,
        task: Optional[str] = None,
        lib: Optional[str] = None,
        interpolate: bool = False,
        name: Optional[str] = None,
        params: Optional[Dict[str, Any]] = None,
        **spec: Any,
    ) -> Job:
        """Submits a job that predicts datasets, which need no reference values; `predictions()` of it are the result.

        `model` is a job (its best; with `task`, that of one of its tasks, as `Job.task` finds it), a task, the path of a
        model file (of `lib`; nirs4all where that is left out), or a reference. Reference values of a frame are the column
        of the model's target. Without a `name` the job is called by its data and its model. Spectra on another axis than that of the model are refused, or interpolated where `interpolate` says so.
        """
        if task is not None:
            if not isinstance(model, Job):
                raise InputError("task names a task of a job, and the model is none")
            model = model.task(task)
        rest = {"name": name, "params": {**(params or {}), **({"interpolate": True} if interpolate else {})}, **spec}
        return Job(self._session, predicting(self._session, model, datasets, lib, rest))

    def job(self, ref: str) -> Job:
        """A job by its id, by the beginning or end of it, or by its name.

        Raises `ClusterError` where there is none, and where there are several, with the ids, owners and times of those.
        """
        return Job(self._session, job_named(self.api, ref))

    def jobs(self, limit: int = 20, *, since: Optional[Moment] = None, until: Optional[Moment] = None, **query: Any) -> List[Job]:
        """The newest jobs, newest first, submitted `since` and `until`: a date, a time, or how long ago, such as `7d`.

        `query` may hold `status`, `name` (a part of it), `owner`, `tag`, `type`, `library` and so on.
        """
        assert_taken(query, self.api.list_jobs, "jobs()")
        for name, given in (("since", since), ("until", until)):
            if given is not None:
                query[name] = moment(given, name)
        return [Job(self._session, view) for view in self.api.list_jobs(limit=limit, **query)]

    def workers(self) -> List[WorkerView]:
        """The workers that are known, with the packages that each has."""
        return self.api.list_workers()

    def servers(self) -> ServersView:
        """The servers on the store: which one leads, since when, and how far the others are."""
        return self.api.list_servers()

    def demand(self) -> DemandView:
        """How many slots are wanted now, by what they are to have, and what there is for it."""
        return self.api.get_demand()

    def stats(self) -> ClusterStats:
        """Jobs and tasks by their status."""
        return self.api.get_stats()

    def close(self) -> None:
        """Ends connections that are not in use. A cluster that was closed may be used again."""
        self._session.transport.close()

    def __enter__(self) -> "Cluster":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Cluster {self.url}>"


class Sweep(Iterator[Task]):
    """The tasks of a job in their order, each as soon as it has ended."""

    def __init__(self, job: Job) -> None:
        #: The job, for its ranking and all else.
        self.job = job
        self._after: Optional[str] = None
        self._ready: List[Task] = []
        self._left = job.view["aggregate"]["num_tasks"]

    def __len__(self) -> int:
        """How many tasks are still to come."""
        return self._left

    def __next__(self) -> Task:
        if self._left == 0:
            raise StopIteration
        while not self._ready:
            self._look()
        task = self._ready.pop(0)
        self._left -= 1
        if task.status != "succeeded":
            why = task.error or f"it is {task.status}"
            raise TaskError(f"{task.pipeline} on {task.dataset} ({task.id}): {why}", task.id)
        return task

    def _look(self) -> None:
        """Waits until the next task has ended, and takes those behind it that have, too."""
        pause = FIRST_PAUSE
        while True:
            page = self.job._session.api.list_job_tasks(self.job.id, after_id=self._after, limit=100)
            for view in page:
                if view["status"] not in ENDED:
                    break
                self._ready.append(Task(self.job._session, view))
                self._after = view["id"]
            if self._ready:
                return
            time.sleep(pause)
            pause = min(pause * 1.3, LAST_PAUSE)
