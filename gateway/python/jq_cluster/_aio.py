"""The same for programs of asyncio: what asks the server runs in a thread, and waiting sleeps in the loop."""

from __future__ import annotations

import asyncio
from typing import Any, AsyncIterator, Dict, Iterable, List, Mapping, Optional, Sequence, Union

from ._cluster import Cluster, Sweep
from ._http import PathName
from ._job import Job
from ._predict import HasModel
from ._routes import WorkerView
from ._task import Task


class AsyncJob:
    """A job. `job` is the same without asyncio."""

    def __init__(self, job: Job) -> None:
        self.job = job

    @property
    def id(self) -> str:
        return self.job.id

    @property
    def status(self) -> str:
        return self.job.status

    async def refresh(self) -> "AsyncJob":
        await asyncio.to_thread(self.job.refresh)
        return self

    async def wait(self, timeout: Optional[float] = None) -> "AsyncJob":
        """Waits as `Job.wait` does, and can be cancelled, which leaves the job running."""
        for pause in self.job.pauses(timeout):
            await asyncio.sleep(pause)
            await self.refresh()
        try:
            await asyncio.to_thread(self.job._conclude)
        finally:
            await self.warnings()
            # Of which nothing has to be asked any more.
            self.job._tell()
        return self

    async def ranking(self) -> Any:
        return await asyncio.to_thread(lambda: self.job.ranking)

    async def best(self) -> Task:
        return await asyncio.to_thread(lambda: self.job.best)

    async def tasks(self, status: Optional[str] = None) -> List[Task]:
        return await asyncio.to_thread(lambda: self.job.tasks(status))

    async def predict(self, X: Any, y: Any = None, *, interpolate: bool = False) -> Any:
        return await asyncio.to_thread(lambda: self.job.predict(X, y, interpolate=interpolate))

    async def predictions(self) -> Any:
        return await asyncio.to_thread(self.job.predictions)

    async def task(self, ref: str) -> Task:
        return await asyncio.to_thread(self.job.task, ref)

    async def waiting(self) -> List[str]:
        return await asyncio.to_thread(lambda: self.job.waiting)

    async def logs(self, task: Optional[str] = None, *, progress: bool = False) -> str:
        return await asyncio.to_thread(lambda: self.job.logs(task, progress=progress))

    async def cancel(self) -> "AsyncJob":
        await asyncio.to_thread(self.job.cancel)
        return self

    async def retry(self, tasks: Optional[Sequence[Union[str, Task]]] = None) -> "AsyncJob":
        await asyncio.to_thread(self.job.retry, tasks)
        return self

    async def set(self, **changes: Any) -> "AsyncJob":
        await asyncio.to_thread(lambda: self.job.set(**changes))
        return self

    async def warnings(self) -> List[str]:
        return await asyncio.to_thread(lambda: self.job.warnings)

    async def resubmit(self, **changes: Any) -> "AsyncJob":
        return AsyncJob(await asyncio.to_thread(lambda: self.job.resubmit(**changes)))

    def __repr__(self) -> str:
        return repr(self.job).replace("<Job", "<AsyncJob", 1)


class AsyncCluster:
    """A server of jobs, for programs of asyncio: what `Cluster` does, awaited."""

    def __init__(self, url: Optional[str] = None, token: Optional[str] = None, *, ca: Optional[PathName] = None) -> None:
        #: The same without asyncio.
        self.cluster = Cluster(url, token, ca=ca)

    async def run(
        self,
        pipelines: Any,
        datasets: Any,
        *,
        lib: Optional[str] = None,
        name: Optional[str] = None,
        params: Optional[Dict[str, Any]] = None,
        **spec: Any,
    ) -> AsyncJob:
        run = lambda: self.cluster.run(pipelines, datasets, lib=lib, name=name, params=params, **spec)  # noqa: E731
        return AsyncJob(await asyncio.to_thread(run))

    async def map(self, pipelines: Iterable[Any], datasets: Any, **options: Any) -> AsyncIterator[Task]:
        """The tasks in the order of the pipelines, each as soon as it has ended: `async for task in cluster.map(…)`."""
        sweep: Sweep = await asyncio.to_thread(lambda: self.cluster.map(pipelines, datasets, **options))
        while len(sweep) > 0:
            yield await asyncio.to_thread(next, sweep)

    async def predict(self, model: Union[AsyncJob, HasModel, PathName, Mapping[str, Any]], datasets: Any, **options: Any) -> AsyncJob:
        known = model.job if isinstance(model, AsyncJob) else model
        return AsyncJob(await asyncio.to_thread(lambda: self.cluster.predict(known, datasets, **options)))

    async def job(self, ref: str) -> AsyncJob:
        return AsyncJob(await asyncio.to_thread(self.cluster.job, ref))

    async def jobs(self, limit: int = 20, **query: Any) -> List[AsyncJob]:
        found = await asyncio.to_thread(lambda: self.cluster.jobs(limit, **query))
        return [AsyncJob(job) for job in found]

    async def workers(self) -> List[WorkerView]:
        return await asyncio.to_thread(self.cluster.workers)

    def close(self) -> None:
        self.cluster.close()

    async def __aenter__(self) -> "AsyncCluster":
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<AsyncCluster {self.cluster.url}>"
