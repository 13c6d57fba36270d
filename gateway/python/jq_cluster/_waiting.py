"""Why tasks wait, in words, as `jqctl` says it."""

from __future__ import annotations

import re
import time
from typing import Dict, List, Sequence

from ._errors import ClusterError
from ._routes import Api, JobView, TaskView, Waiting
from ._show import elapsed
from ._words import SENTENCES, WORDS, Words

_PAGE = 1000
#: Seconds: a task that can run is leased within milliseconds; whoever waits this long wants to know why.
_PAUSE = 3.0


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
        return [f"{_waits(len(tasks))}: {SENTENCES['no_worker']}"]
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
        return SENTENCES["backoff"]
    lacks = [(_words(one["requirement"]), one["workers_missing"]) for one in waiting if one["requirement"] != "slots"]
    none = [words.none for words, missing in lacks if missing >= alive]
    # What nobody has keeps the task, whatever else some lack.
    if none:
        return "; ".join(none)
    workers = f"{alive} worker{'' if alive == 1 else 's'}"
    some = "; ".join(words.none if words.some is None else f"{missing} of {workers} {words.some}" for words, missing in lacks)
    if len(lacks) < len(waiting):
        return f"{SENTENCES['busy']}{f' ({some})' if some else ''}"
    about = any(words.about for words, _ in lacks)
    return f"{SENTENCES['blocked' if about else 'unmet']} ({some})"


def _words(requirement: str) -> Words:
    """The words for a requirement, with what it names in their places."""
    for words in WORDS:
        found = re.fullmatch(words.pattern, requirement, re.DOTALL)
        if found:
            named = ["", *(group or "" for group in found.groups())]
            none, some = (text and re.sub(r"\{(\d)\}", lambda at: named[int(at[1])], text) for text in (words.none, words.some))
            return words._replace(none=none or "", some=some)
    raise ValueError(requirement)
