"""Writes what a run of nirs4all predicted of samples that no model had been fitted on; docs/runners.md says how it looks."""

import csv

COLUMNS = ("sample", "partition", "fold", "y", "prediction", "target")
# Rows at most; a file of them is drawn in a browser.
MOST_ROWS = 100_000
REFIT = "_refit"


def validation_of(result):
    """On what `best_*` are measured, in the words of the runner of mljs; None where nothing was held out."""
    best = result.best
    tested = (best.get("scores") or {}).get("test") or {}
    if any(value is not None for value in tested.values()):
        return "test_set"
    folds = [entry for entry in entries(result, compared_config(best), best, "val") if str(entry["fold_id"]).isdigit()]
    if not folds:
        return None
    return "leave_one_out" if len(folds) > 1 and all(len(entry["y_true"]) == 1 for entry in folds) else "k_fold"


def compared_config(best):
    """The configuration that was compared with others, of which the best was fitted again."""
    config = best.get("config_name") or ""
    return config[: -len(REFIT)] if config.endswith(REFIT) else config


def held_out(result, names, targets):
    """The rows of the model that was selected: each fold's validation samples, then the test samples by the final model."""
    best = result.best
    config = best.get("config_name") or ""
    folds = [
        entry
        for entry in entries(result, compared_config(best), best, "val")
        # `avg` and the like are made of these.
        if str(entry["fold_id"]).isdigit()
    ]
    for entry in sorted(folds, key=lambda entry: int(entry["fold_id"])):
        yield from rows(entry, ("validation", int(entry["fold_id"]) + 1), names, targets)
    for entry in entries(result, config, best, "test"):
        if entry["fold_id"] == "final":
            yield from rows(entry, ("test", ""), names, targets)


def entries(result, config, best, partition):
    asked = {"config_name": config, "model_name": best.get("model_name"), "partition": partition}
    found = result.predictions.filter_predictions(load_arrays=True, **asked)
    return [entry for entry in found if entry.get("branch_id") == best.get("branch_id")]


def rows(entry, where, names, targets):
    """One for each sample and target; nirs4all numbers the samples of a dataset through, those for training first."""
    measured_by_target, predicted_by_target = columns(entry["y_true"]), columns(entry["y_pred"])
    called = target_names(targets, len(measured_by_target))
    for name, measured, predicted in zip(called, measured_by_target, predicted_by_target):
        for index, y, prediction in zip(entry["sample_indices"], measured, predicted):
            sample = names[int(index)] if names and int(index) < len(names) else int(index) + 1
            yield sample, *where, shortest(y), shortest(prediction), name


def target_names(targets, count):
    """What they are called; those without names are numbered where there are several."""
    if len(targets) == count:
        return targets
    return list(range(1, count + 1)) if count > 1 else [""]


def columns(values):
    return [values] if values.ndim == 1 else list(values.T)


def shortest(value):
    """As few digits as tell it from its neighbours: much of what nirs4all keeps was a float of 32 bits once."""
    import numpy

    if not isinstance(value, (float, numpy.floating)):
        return value
    single = numpy.float32(value)
    return str(single) if single == value else repr(float(value))


def write_predictions(result, path, names, targets):
    """`names` of all samples, those for training first, or None. Returns how many rows had no room."""
    left_out = 0
    with open(path, "w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(COLUMNS)
        for place, row in enumerate(held_out(result, names, targets)):
            if place < MOST_ROWS:
                table.writerow(row)
            else:
                left_out += 1
    return left_out
