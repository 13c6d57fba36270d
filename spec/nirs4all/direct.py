"""Calls nirs4all without any queue: a list of runs on standard input, their scores as JSON on standard output.

The numbers that a job must reproduce to the last digit come from here.
"""

import json
import math
import sys
import tempfile
from pathlib import Path

import nirs4all


def number(value):
    return None if value is None or math.isnan(value) else float(value)


def scores(result):
    best = result.best["scores"]
    validated = result.cv_best["scores"]["val"]
    return {
        "best_score": number(result.best_score),
        "best_rmse": number(result.best_rmse),
        "best_r2": number(result.best_r2),
        "best_mae": number(best["test"]["mae"]) if "test" in best else None,
        "best_accuracy": number(result.best_accuracy),
        "cv_best_score": number(result.cv_best_score),
        "cv_rmse": number(validated["rmse"]),
        "cv_mae": number(validated["mae"]),
        "num_predictions": result.num_predictions,
    }


def main():
    output, sys.stdout = sys.stdout, sys.stderr
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, run in json.load(sys.stdin).items():
            workspace = str(Path(folder) / name)
            found[name] = scores(
                nirs4all.run(run["pipeline"], run["dataset"], workspace_path=workspace, **run["params"])
            )
    json.dump(found, output)


main()
