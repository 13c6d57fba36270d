"""Finding what a person names: a job, or a task of one."""

from __future__ import annotations

import difflib
import inspect
import time
from typing import Any, Callable, Dict, List, Mapping, Sequence

from ._errors import ClusterError, InputError
from ._routes import Api, JobView, TaskView

_ASKED, _LISTED = 100, 10


def job_named(api: Api, ref: str) -> JobView:
    """By its id, a part of it, or its name. Raises `ClusterError` for none, and with those that it may be for several."""
    found = api.list_jobs(ref=ref, limit=_ASKED)
    whole = [view for view in found if view["id"] == ref.strip()]
    if whole:
        return whole[0]
    if not found:
        raise ClusterError(f"there is no job {ref}")
    if len(found) > 1:
        raise ClusterError(_several(ref, "jobs", "more of the id", [_about(view) for view in found]))
    return found[0]


def _about(job: JobView) -> str:
    owner = f" by {job['owner']}" if job["owner"] else ""
    name = f"{job['name']}, " if job["name"] else ""
    return f"{job['id']}  {name}{job['status']}, submitted{owner} {_ago(time.time() - job['created_at'])}"


def _ago(seconds: float) -> str:
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{int(seconds // length)} {unit} ago"
    return f"{max(0, int(seconds))} s ago"


def pipeline_of(task: TaskView) -> str:
    """The name of the pipeline of a task, or its steps."""
    label, steps = task["pipeline_label"], task.get("pipeline_steps")
    return steps if steps and label == "inline_json" else label


def task_named(tasks: Sequence[TaskView], ref: str, job_id: str) -> TaskView:
    """By its id, a part of it, `PIPELINE on DATASET`, or one of these two where that is enough."""
    wanted = ref.strip().lower()
    part = wanted.strip("….")
    by_id = [task for task in tasks if len(part) >= 4 and (task["id"].startswith(part) or task["id"].endswith(part))]
    names: Dict[str, List[TaskView]] = {}
    for task in tasks:
        for name in _names_of(task):
            names.setdefault(name.lower(), []).append(task)
    found = [task for task in by_id if task["id"] == wanted] or list({one["id"]: one for one in [*by_id, *names.get(wanted, [])]}.values())
    if len(found) == 1:
        return found[0]
    if found:
        listed = [f"{one['id']}  {pipeline_of(one)} on {one['dataset_label']}, {one['status']}" for one in found]
        raise ClusterError(_several(ref, "tasks", "PIPELINE on DATASET, or more of the id", listed))
    raise ClusterError(f"{job_id} has no task {ref!r}{hint(wanted, list(names))}")


def _names_of(task: TaskView) -> List[str]:
    pipeline, dataset = pipeline_of(task), task["dataset_label"]
    return list(dict.fromkeys([f"{pipeline} on {dataset}", f"{dataset} · {pipeline}", pipeline, dataset]))


def _several(ref: str, what: str, more: str, listed: List[str]) -> str:
    shown = listed[:_LISTED]
    if len(listed) > _LISTED:
        shown.append(f"and {len(listed) - _LISTED} more" if len(listed) < _ASKED else "and more")
    return "\n".join([f"{ref!r} may be any of these {what}; write {more}", *(f"  {line}" for line in shown)])


def assert_taken(given: Mapping[str, Any], taker: Callable[..., Any], what: str) -> None:
    """Raises `InputError` for a name that a function does not take."""
    known = list(inspect.signature(taker).parameters)
    for name in given:
        if name not in known:
            raise InputError(f"{what} takes no {name!r}{hint(name, known)}")


def hint(wanted: Any, among: Sequence[Any]) -> str:
    """What may have been meant."""
    near = difflib.get_close_matches(str(wanted), [str(one) for one in among], 1)
    return f"; did you mean {near[0]!r}?" if near else ""
