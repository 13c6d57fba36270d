"""How a job is shown: a bar in a terminal, a card in a notebook."""

from __future__ import annotations

import html
import importlib
import shutil
import sys
import time
from typing import Any, Dict, List, Optional, Sequence, Tuple

from ._routes import JobView

ENDED = ("succeeded", "failed", "cancelled")

_COLOURS = {
    "succeeded": "#1a7f37",
    "failed": "#cf222e",
    "cancelled": "#6e7781",
    "cancelling": "#9a6700",
    "running": "#0969da",
    "queued": "#6e7781",
}


def in_notebook() -> bool:
    """Whether this runs in a kernel, whose output can be changed after it was shown."""
    shell = sys.modules.get("IPython")
    found = shell.get_ipython() if shell is not None else None
    return found is not None and hasattr(found, "kernel")


def cell_of_notebook() -> int:
    """The number of the cell that runs."""
    return int(sys.modules["IPython"].get_ipython().execution_count)


class Panel:
    """Something in a notebook's output that can be changed: HTML, and a text where that cannot be shown."""

    def __init__(self, content: str, text: str) -> None:
        display: Any = importlib.import_module("IPython.display").display
        self._handle: Any = display(_bundle(content, text), raw=True, display_id=True)

    def show(self, content: str, text: str) -> None:
        self._handle.update(_bundle(content, text), raw=True)


def _bundle(content: str, text: str) -> Dict[str, str]:
    return {"text/html": content, "text/plain": text}


class Bar:
    """A line of a terminal that is written anew. Where standard error is none, only why tasks wait is written."""

    def __init__(self) -> None:
        self._out = sys.stderr
        self._lives = self._out.isatty()
        self._told: List[str] = []

    def show(self, job: JobView, reasons: Sequence[str] = ()) -> None:
        new = [reason for reason in reasons if reason not in self._told]
        self._told += new
        for reason in new:
            self._out.write(("\r\x1b[K" if self._lives else "") + printable(reason) + "\n")
        if self._lives:
            self._out.write("\r" + line(job, shutil.get_terminal_size().columns - 1, self._blocks()) + "\x1b[K")
            self._out.flush()

    def close(self) -> None:
        if self._lives:
            self._out.write("\n")

    def _blocks(self) -> str:
        return "█░" if "utf" in (self._out.encoding or "").lower() else "#-"


def line(job: JobView, width: int, blocks: str = "█░") -> str:
    """A job in one line of at most `width` characters."""
    done, total, words = progress(job)
    status = "" if job["status"] == "running" else job["status"]
    told = [f"{done}/{total}", status, words, clock(elapsed(job)), remaining(job).partition(" (")[0]]
    head, tail = printable(job["name"] or job["id"])[: max(width // 4, 10)], "  ".join(filter(None, told))
    room = min(width - len(head) - len(tail) - 4, 24)
    if room < 6:
        return f"{head}  {tail}"[:width]
    filled = round(room * done / max(total, 1))
    return f"{head}  {blocks[0] * filled}{blocks[1] * (room - filled)}  {tail}"


def progress(job: JobView) -> Tuple[int, int, str]:
    """How many tasks have ended of how many, and the rest in words."""
    counts = job["aggregate"]
    done = counts["num_succeeded"] + counts["num_failed"] + counts["num_cancelled"]
    words = []
    for what in ("running", "failed", "cancelled"):
        number = counts[f"num_{what}"]  # type: ignore[literal-required]
        if number:
            words.append(f"{number} {what}")
    best = counts["best_metric"]
    if best is not None:
        words.append(f"{counts['rank_metric']} {best:.4g}")
    return done, counts["num_tasks"], ", ".join(words)


def elapsed(job: JobView) -> float:
    """Seconds since the job was submitted, or that it took."""
    end = job["updated_at"] if job["status"] in ENDED else time.time()
    return max(0.0, end - job["created_at"])


def remaining(job: JobView) -> str:
    """How long the job will still take, as the server expects; empty where nothing is known."""
    estimate = job.get("estimate")
    if not estimate or job["status"] != "running":
        return ""
    now = time.time()
    if now >= estimate["latest"]:
        return "takes longer than expected"
    about, latest = (max(1, round(estimate[when] - now)) for when in ("ends_at", "latest"))  # type: ignore[literal-required]
    if now >= estimate["ends_at"]:
        return f"less than {clock(latest)} left"
    earliest = max(0, round(estimate["earliest"] - now))
    return f"about {clock(about)} left{'' if latest - earliest <= 1 else f' ({clock(earliest)} to {clock(latest)})'}"


def clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def card(job: JobView, link: str, rows: List[Dict[str, Any]], note: Optional[str] = None) -> str:
    """A job as HTML. Whatever names it has cannot be read as anything but text."""
    done, total, words = progress(job)
    share = 100 * done / max(total, 1)
    failed = 100 * job["aggregate"]["num_failed"] / max(total, 1)
    colour = _COLOURS.get(job["status"], "#6e7781")
    name = html.escape(job["name"] or job["id"])
    parts = [
        '<div style="border:1px solid rgba(128,128,128,.4);border-radius:6px;padding:10px 14px;max-width:52em;'
        'font-family:system-ui,sans-serif;font-size:13px;line-height:1.5">',
        '<div style="display:flex;gap:.8em;align-items:baseline;flex-wrap:wrap">'
        f'<strong style="font-size:14px">{name}</strong>'
        f'<span style="background:{colour};color:#fff;border-radius:1em;padding:0 .7em">{html.escape(job["status"])}</span>'
        f'<span style="opacity:.75">{html.escape(job["type"])}</span>'
        f'<a href="{html.escape(link)}" target="_blank" rel="noopener" style="margin-left:auto">{html.escape(job["id"])}</a></div>',
        f'<div role="progressbar" aria-label="tasks of {name}" aria-valuemin="0" aria-valuemax="{total}" aria-valuenow="{done}" '
        'style="display:flex;background:rgba(128,128,128,.25);border-radius:4px;height:8px;margin:8px 0;overflow:hidden">'
        f'<div style="width:{share - failed:.2f}%;background:{colour if job["status"] != "failed" else _COLOURS["cancelled"]}"></div>'
        f'<div style="width:{failed:.2f}%;background:{_COLOURS["failed"]}"></div></div>',
        f"<div>{'; '.join(filter(None, [f'{done} of {total} tasks', html.escape(words), clock(elapsed(job)), remaining(job)]))}</div>",
    ]
    if job["error"]:
        parts.append(f'<div style="color:{_COLOURS["failed"]}">{html.escape(job["error"])}</div>')
    if note:
        parts.append(f'<div style="opacity:.75;white-space:pre-line">{html.escape(note)}</div>')
    if rows:
        parts.append(_table(rows, job["aggregate"]["rank_metric"]))
    return "".join([*parts, "</div>"])


def _table(rows: List[Dict[str, Any]], metric: str) -> str:
    several = len({row["dataset"] for row in rows}) > 1
    columns = ["pipeline", *(["dataset"] if several else []), metric]
    head = "".join(f'<th style="text-align:left;padding:2px 14px 2px 0">{html.escape(name)}</th>' for name in columns)
    body = "".join(
        "<tr>" + "".join(f'<td style="text-align:left;padding:2px 14px 2px 0">{_cell(row.get(name))}</td>' for name in columns) + "</tr>"
        for row in rows
    )
    return f'<table style="border-collapse:collapse;margin-top:6px"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _cell(value: Any) -> str:
    return html.escape(f"{value:#.4g}" if isinstance(value, float) else "" if value is None else str(value))


def printable(text: str) -> str:
    """Without what moves the cursor of a terminal or reorders its text."""
    return "".join(char if char.isprintable() else "\ufffd" for char in text)
