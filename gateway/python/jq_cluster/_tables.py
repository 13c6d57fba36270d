"""Tables: frames of pandas where that is installed, lists of rows where it is not."""

from __future__ import annotations

import importlib
from typing import Any, Dict, List, Optional

from ._routes import RankingEntry


def frame(rows: List[Dict[str, Any]], first: Optional[int] = None) -> Any:
    """The rows as a frame, or as they are. `first` is the number of the first row; None: from 0, as frames have it."""
    try:
        pandas = importlib.import_module("pandas")
    except ImportError:
        return rows
    index = None if first is None else range(first, first + len(rows))
    return pandas.DataFrame(rows, index=index)


def ranking_rows(entries: List[RankingEntry], metric: str) -> List[Dict[str, Any]]:
    """Rows of a ranking: what was run on what, the metric that ranks, the others, and the task."""
    scores = [name for name in _names(entries) if name != metric]
    return [
        {
            "pipeline": _pipeline(entry),
            "dataset": entry["dataset"],
            metric: entry["metrics"].get(metric),
            **{name: entry["metrics"].get(name) for name in scores},
            "task_id": entry["task_id"],
        }
        for entry in entries
    ]


def _names(entries: List[RankingEntry]) -> List[str]:
    """The metrics that any of them has."""
    found = (name for entry in entries for name, value in entry["metrics"].items() if value is not None)
    return list(dict.fromkeys(found))


def _pipeline(entry: RankingEntry) -> str:
    steps = entry.get("pipeline_steps")
    return steps if steps and entry["pipeline"] == "inline_json" else entry["pipeline"]
