"""Writes what a run of nirs4all predicted of samples that no model had been fitted on; docs/runners.md says how it looks."""

import csv

COLUMNS = ("sample", "partition", "fold", "y", "prediction", "target")
# Rows at most; a file of them is drawn in a browser.
MOST_ROWS = 100_000
REFIT = "_refit"


def held_out(result):
    """The rows of the model that was selected: each fold's validation samples, then the test samples by the final model."""
    best = result.best
    config = best.get("config_name") or ""
    compared = config[: -len(REFIT)] if config.endswith(REFIT) else config
    folds = [
        entry
        for entry in entries(result, compared, best, "val")
        # `avg` and the like are made of these.
        if str(entry["fold_id"]).isdigit()
    ]
    for entry in sorted(folds, key=lambda entry: int(entry["fold_id"])):
        yield from rows(entry, "validation", int(entry["fold_id"]) + 1)
    for entry in entries(result, config, best, "test"):
        if entry["fold_id"] == "final":
            yield from rows(entry, "test", "")


def entries(result, config, best, partition):
    asked = {"config_name": config, "model_name": best.get("model_name"), "partition": partition}
    found = result.predictions.filter_predictions(load_arrays=True, **asked)
    return [entry for entry in found if entry.get("branch_id") == best.get("branch_id")]


def rows(entry, partition, fold):
    """One for each sample and target; nirs4all numbers the samples of a dataset through, those for training first."""
    targets = columns(entry["y_true"]), columns(entry["y_pred"])
    for number, (measured, predicted) in enumerate(zip(*targets), start=1):
        name = number if len(targets[0]) > 1 else ""
        for index, y, prediction in zip(entry["sample_indices"], measured, predicted):
            yield int(index) + 1, partition, fold, shortest(y), shortest(prediction), name


def columns(values):
    return [values] if values.ndim == 1 else list(values.T)


def shortest(value):
    """As few digits as tell it from its neighbours: much of what nirs4all keeps was a float of 32 bits once."""
    import numpy

    if not isinstance(value, (float, numpy.floating)):
        return value
    single = numpy.float32(value)
    return str(single) if single == value else repr(float(value))


def write_predictions(result, path):
    """Returns how many rows had no room."""
    left_out = 0
    with open(path, "w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(COLUMNS)
        for place, row in enumerate(held_out(result)):
            if place < MOST_ROWS:
                table.writerow(row)
            else:
                left_out += 1
    return left_out
