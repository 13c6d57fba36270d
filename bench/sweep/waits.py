"""A runner that has loaded nirs4all and then waits until it is told to stop."""

import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "actors/worker/runners/python"))
import jq_warm  # noqa: E402


def main(_):
    import nirs4all.api  # noqa: F401

    (Path(os.environ["JQ_BENCH_WAITING"]) / str(os.getpid())).touch()
    signal.pause()


if __name__ == "__main__":
    jq_warm.run(main, preload=["nirs4all.api"])
