"""Why tasks wait, in words, as `jqctl` says it."""

from __future__ import annotations

import re
import time
from typing import Dict, List, Sequence, Tuple

from ._errors import ClusterError
from ._routes import Api, JobView, TaskView, Waiting
from ._show import elapsed

_PAGE = 1000
#: Seconds: a task that can run is leased within milliseconds; whoever waits this long wants to know why.
_PAUSE = 3.0

#: What is said where no worker fits, and of those who do not.
_WORDS: Dict[str, Tuple[str, str]] = {
    "ends_too_early": (
        "every worker ends before it would be done (start one with more time)",
        "with too little time left",
    ),
    "worker_fault": ("every worker reported a fault of its own for it", "avoided after a fault of its own"),
    "suspended": ("every worker is suspended (jqctl workers says why)", "suspended"),
    "draining": ("every worker was told to end (start another one with: jq-worker)", "told to end"),
    "drained": ("every worker is drained (jqctl workers resume WORKER)", "drained"),
    "capabilities.python_entrypoint": (
        "no worker runs python_entrypoint pipelines (start one with --allow-python)",
        "without --allow-python",
    ),
}
_ABOUT_WORKERS = re.compile(r"(worker_fault|ends_too_early|suspended|draining|drained|paused|owner_limit|path=)")


class Reasons:
    """Why nothing of a job runs, asked for again only after a while."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._asked = float("-inf")
        self._lines: List[str] = []

    def of(self, job: JobView) -> List[str]:
        counts = job["aggregate"]
        stands = job["status"] in ("queued", "running") and counts["num_queued"] > 0 and counts["num_running"] == 0
        if not stands or elapsed(job) < _PAUSE:
            return []
        if time.monotonic() - self._asked > _PAUSE:
            try:
                self._lines = reasons(self._api, job["id"])
            except ClusterError:
                # What looks at the job says that the server is away.
                pass
            self._asked = time.monotonic()
        return self._lines


def reasons(api: Api, job_id: str) -> List[str]:
    """A line for all queued tasks that wait for the same; none where nothing is known to keep them."""
    tasks = api.list_job_tasks(job_id, status="queued", limit=_PAGE)
    return _lines(tasks, api.get_stats()["workers_alive"]) if tasks else []


def _lines(tasks: Sequence[TaskView], alive: int) -> List[str]:
    if alive == 0:
        return [f"{_waits(len(tasks))}: no worker is alive; start one with: jq-worker"]
    found: Dict[str, int] = {}
    for task in tasks:
        reason = _reason(task["waiting_for"], alive)
        if reason:
            found[reason] = found.get(reason, 0) + 1
    return [f"{_waits(count)}: {reason}" for reason, count in found.items()]


def _waits(count: int) -> str:
    most = "at least " if count >= _PAGE else ""
    return f"{most}{count} queued task{' waits' if count == 1 else 's wait'}"


def _reason(waiting: Sequence[Waiting], alive: int) -> str:
    if not waiting:
        return ""
    if any(one["requirement"] == "backoff" for one in waiting):
        return "it failed, and is tried again later (retry.backoff_seconds)"
    lacks = [one for one in waiting if one["requirement"] != "slots"]
    none = [_words(one["requirement"])[0] for one in lacks if one["workers_missing"] >= alive]
    # What nobody has keeps the task, whatever else some lack.
    if none:
        return "; ".join(none)
    workers = f"{alive} worker{'' if alive == 1 else 's'}"
    some = "; ".join(f"{one['workers_missing']} of {workers} {_words(one['requirement'])[1]}" for one in lacks)
    if len(lacks) < len(waiting):
        return f"every worker that fits is busy{f' ({some})' if some else ''}"
    about = any(_ABOUT_WORKERS.match(one["requirement"]) for one in lacks)
    return f"{'no worker can take it now' if about else 'no worker has all that is asked for'} ({some})"


def _words(requirement: str) -> Tuple[str, str]:
    if requirement in _WORDS:
        return _WORDS[requirement]
    paused = re.match(r"paused(?:\.(type|owner)=(.*))?$", requirement, re.DOTALL)
    if paused:
        what = f"{'the queue' if paused[1] is None else f'{paused[1]} {paused[2]}'} is paused (jqctl queue)"
        return what, f"kept from it: {what}"
    if requirement == "owner_limit":
        words = "its owner has as many tasks under way as allowed (--max-running-per-owner)"
        return words, f"kept from it: {words}"
    what, how = _lacking(requirement)
    return f"no worker has {what}{how}", f"without {what}"


def _lacking(requirement: str) -> Tuple[str, str]:
    """What is lacking, and how a worker gets it."""
    if requirement.startswith("path="):
        return f"the path {requirement[5:]}", ""
    dataset = re.match(r"labels\.dataset\.(.*)=true$", requirement, re.DOTALL)
    if dataset:
        return f"the dataset {dataset[1]}", f" (start one with --dataset {dataset[1]}=PATH)"
    if requirement == "capabilities.catalog":
        return "a catalog of datasets", " (start one with --catalog FILE|URL)"
    kind, _, what = requirement.partition(".")
    if kind == "labels":
        return f"the label {what}", ""
    if kind in ("packages", "capabilities"):
        return what, " (start one with --python INTERPRETER)" if what == "nirs4all" else ""
    name, _, amount = requirement.partition("=")
    if name == "min_memory_gb":
        return f"{amount} GiB of memory", ""
    if name == "min_gpu_count":
        return f"{amount} GPU{'' if amount == '1' else 's'}", ""
    return requirement, ""
