"""Runs one task of job type `nirs4all.run` or `nirs4all.predict`; README.md next to this file says what it takes and gives.

Only the standard library is needed to start; nirs4all is imported once the task is known to make sense.
"""

import argparse
import atexit
import csv
import difflib
import errno
import hashlib
import importlib
import inspect
import json
import math
import os
import re
import shutil
import sys
import tempfile
import time
import traceback
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))
import jq_warm  # noqa: E402
del sys.path[0]

import about  # noqa: E402
import axes  # noqa: E402
import handover  # noqa: E402
import misreadings  # noqa: E402
import predicting  # noqa: E402
import predictions  # noqa: E402
import reading  # noqa: E402
import spectra  # noqa: E402

EXIT_FAILURE = 1
EXIT_INPUT_FAULT = 2
# This machine cannot run any task: the library cannot be loaded, or the disk is full.
EXIT_UNAVAILABLE = 69
# What starts processes or threads of its own, or takes a device, and so is loaded in a process of its own from the start.
NEEDS_COLD = re.compile(r"\b(tensorflow|keras|torch|jax|cupy)\b")
MOST_PIPELINE_BYTES = 1 << 20
OF_THE_MACHINE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM)
LONGEST_LINE = 1000

# What the worker decides, so that two tasks never share a workspace.
RESERVED = ("pipeline", "dataset", "workspace_path", "session", "should_stop")
# Where nirs4all reads what its users wrote. A ValueError from there is about the input, not about the run.
READERS = ("data/config.py", "data/config_parser.py", "data/parsers/", "data/loaders/", "pipeline/config/",
           "core/task_detection.py")
INPUT_ERRORS = (ValueError, TypeError, LookupError, AttributeError, ImportError, FileNotFoundError)
# Causes by which nirs4all refuses a request before it computes anything.
REFUSALS = ("unsupported_shape", "unsupported_capability", "invalid_request")
TABLES = (".csv", ".tsv", ".txt")
# How nirs4all reads CSV files unless it is told otherwise.
DECIMAL_COMMA = re.compile(r'\s*"?[+-]?\d*,\d+([eE][+-]?\d+)?"?\s*$')
USUAL_CSV = {"delimiter": ";", "decimal_separator": "."}


class InputFault(Exception):
    """A fault in what the user handed in: running the task again cannot help."""


class Unavailable(Exception):
    """A fault of this machine: another one may run the task."""


class Overheard:
    """Standard output, with an ear for the lines by which nirs4all says that it goes on without something."""

    def __init__(self, stream):
        self._stream = stream
        self._line = ""
        self.warnings = []

    def write(self, text):
        *lines, self._line = (self._line + text).split("\n")
        self._line = self._line[-LONGEST_LINE:]
        self.warnings += [line for line in lines if line.startswith("Failed to ") and line not in self.warnings]
        return self._stream.write(text)

    def __getattr__(self, name):
        return getattr(self._stream, name)


def progress(fraction, message):
    print(f"::progress {fraction} {message}", flush=True)


def pulse(fraction):
    """Tells once a second that work goes on, for `should_stop`, which nirs4all asks before each step.

    How many steps there will be is not known, so the fraction stays where it is and only the message moves.
    """
    steps, due = 0, time.monotonic() + 1

    def go_on():
        nonlocal steps, due
        steps += 1
        if time.monotonic() >= due:
            due = time.monotonic() + 1
            progress(fraction, f"{steps} steps done")
        return False

    return go_on


def read_arguments(argv):
    parser = argparse.ArgumentParser(description="Runs one task of job type nirs4all.run.")
    for name in ("task-file", "workspace", "output-dir", "result-file"):
        parser.add_argument(f"--{name}", required=True, type=lambda path: Path(path).resolve())
    return parser.parse_args(argv)


def read_task(path):
    try:
        task = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputFault(f"task file cannot be read: {path}: {error}") from error
    for name in predicting.RESERVED if task.get("model") else RESERVED:
        if name in task.setdefault("params", {}):
            raise InputFault(f"params.{name} is decided by the worker; leave it out")
    return task


def existing_path(reference, what):
    path = Path(reference["path"])
    if not path.exists():
        raise InputFault(f"{what} not found: {path}{what_is_there(path)}")
    return path


def what_is_there(path):
    """What lies where something is missing, as the end of a sentence."""
    try:
        names = sorted(entry.name for entry in path.parent.iterdir() if not is_leftover(entry.name))
    except OSError:
        return ""
    near = difflib.get_close_matches(path.name, names, 1)
    if near:
        return f", did you mean '{path.parent / near[0]}'?"
    return f"; {path.parent} has {few(names)}" if names else f"; {path.parent} is empty"


def is_leftover(name):
    """Whether file managers leave behind a file or folder of this name."""
    return name.startswith((".", "~$")) or name.lower() in ("thumbs.db", "ehthumbs.db", "desktop.ini", "__macosx")


def few(names):
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def pipeline_argument(reference):
    """The pipeline as `nirs4all.run` takes it, and a fingerprint where the worker cannot know one."""
    if reference["mode"] == "entrypoint":
        pipeline = built_pipeline(reference)
        return pipeline, fingerprint(pipeline)
    path = existing_path(reference, "pipeline")
    if not path.is_file():
        raise InputFault(f"pipeline is a directory, not a file: {path}")
    # nirs4all tells files from text by these endings. It takes the text of a file with another one.
    known = path.suffix.lower() in (".json", ".yaml", ".yml")
    return (str(path) if known else path.read_text(encoding="utf-8", errors="replace")), None


def built_pipeline(reference):
    """Imports `module:function` and calls it."""
    # Before the user's code, whose faults would hide that it cannot be loaded.
    load_library()
    module_name, _, function_name = reference["entrypoint"].partition(":")
    function_name = function_name or "build_pipeline"
    here = str(Path(__file__).resolve().parent)
    sys.path[:] = [*(reference.get("sys_path") or []), *(folder for folder in sys.path if folder != here)]
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        # What the user's module imports in turn may be missing on this worker alone.
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            error.missing_here = True
            raise
        raise InputFault(f"pipeline: there is no module '{error.name}'") from error
    function = getattr(module, function_name, None)
    if not callable(function):
        raise InputFault(f"pipeline: module '{module_name}' has no function '{function_name}'")
    pipeline = function()
    if pipeline is None:
        raise InputFault(f"pipeline: {module_name}:{function_name} returned nothing")
    return pipeline


def load_library():
    """nirs4all with all that it needs, such as shared libraries of the system.

    A library that was damaged fails in any way: as no Python, for what is missing in it, or empty, with nothing to call.
    """
    try:
        import nirs4all
        nirs4all.run  # noqa: B018
        return nirs4all
    except Exception as error:
        raise Unavailable(f"nirs4all cannot be loaded here: {summary_of(error)}") from error


def fingerprint(pipeline):
    """Of the pipeline's canonical JSON, as of an inline one; None if it cannot be written as JSON."""
    from nirs4all.pipeline.config.component_serialization import serialize_component
    try:
        content = serialize_component(getattr(pipeline, "original_template", pipeline))
        text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    except (TypeError, ValueError):
        return None
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def dataset_argument(reference):
    """The dataset as `nirs4all.run` takes it: the path itself wherever nirs4all can read that."""
    path = existing_path(reference, "dataset")
    if path.is_file():
        described = path.suffix.lower() in (".yaml", ".yml", ".json")
        return described_dataset(path, path.stem) if described else str(path)
    for name in ("nirs4all.yaml", "nirs4all.yml", "nirs4all.json"):
        if (path / name).is_file():
            return described_dataset(path / name, path.name)
    path = without_leftovers(path)
    csv = csv_format(path)
    return str(path) if csv == USUAL_CSV else {"folder": str(path), "global_params": csv}


def read_dataset(reference, params, shared=False):
    """The dataset as `nirs4all.run` takes it, and what there is to know of it.

    shared: whether that is what any other task would find, too (reading.py).

    Tables that nirs4all would misread or refuse are read by the rules of the runner of mljs, and written anew for it;
    what `params` say for those is taken out of them.
    """
    path = existing_path(reference, "dataset")
    hints = {name: params.pop(name) for name in handover.HINTS if params.get(name) is not None}
    argument = dataset_argument(reference)
    files = None
    if tables_at(path) and not is_described(path):
        files = misreadings.files_in(argument, path) if path.is_dir() else str(path)
    if files is None and hints:
        raise InputFault(f"params.{' and params.'.join(hints)} can be said of one table, or of one of spectra and one of "
                         "reference values, alone")
    try:
        if files is None or not (hints or isinstance(files, str)):
            looked = (reading if shared else misreadings).look_at(argument)
            if files is None or looked.is_plain():
                return argument, looked
    except misreadings.Misread as misread:
        if files is None:
            raise InputFault(str(misread)) from misread
    except (OSError, UnicodeError, csv.Error):
        if files is None:
            raise
    argument, names, warnings = handed_over(handover.to_learn, files, hints, path.stem if path.is_file() else path.name)
    return argument, misreadings.known(argument, warnings, names)


def handed_over(read, *order):
    try:
        return read(*order)
    except handover.Refused as refused:
        raise InputFault(str(refused)) from refused
    except handover.Unreadable as unreadable:
        raise Unavailable(str(unreadable)) from unreadable


def looked_at(dataset):
    """What nirs4all makes of a dataset; what cannot be meant is refused."""
    try:
        return misreadings.look_at(dataset)
    except misreadings.Misread as misread:
        raise InputFault(str(misread)) from misread


def tables_at(path):
    """The tables that a dataset consists of."""
    files = [path] if path.is_file() else [file for file in path.iterdir() if not is_leftover(file.name)]
    return [file for file in files if file.suffix.lower() in TABLES]


def is_described(path):
    """Whether a file says what the dataset is made of."""
    if path.is_file():
        return path.suffix.lower() in (".yaml", ".yml", ".json")
    return any((path / f"nirs4all{ending}").is_file() for ending in (".yaml", ".yml", ".json"))


def without_leftovers(folder):
    """The folder, or a view of it without what file managers left in it: nirs4all takes `._Xcal.csv` for spectra."""
    entries = list(folder.iterdir())
    if not any(is_leftover(entry.name) and entry.suffix.lower() in TABLES for entry in entries):
        return folder
    scratch = Path(tempfile.mkdtemp(prefix="jq-dataset-"))
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    # Libraries name a dataset after its folder.
    view = scratch / folder.name
    view.mkdir()
    for entry in entries:
        if not is_leftover(entry.name):
            (view / entry.name).symlink_to(entry.resolve())
    return view


def described_dataset(path, name):
    """A dataset description; relative paths in it count from where it lies, not from where this happens to run."""
    import yaml

    def anchored(value):
        if isinstance(value, dict):
            return {key: anchored(item) for key, item in value.items()}
        if isinstance(value, list):
            return [anchored(item) for item in value]
        found = isinstance(value, str) and value and (path.parent / value).exists()
        return str(path.parent / value) if found else value

    try:
        text = path.read_text(encoding="utf-8")
        content = json.loads(text) if path.suffix.lower() == ".json" else yaml.safe_load(text)
    except (ValueError, yaml.YAMLError) as error:
        raise InputFault(f"dataset description cannot be read: {path}: {error}") from error
    if not isinstance(content, dict):
        raise InputFault(f"dataset description must be a mapping: {path}")
    return {**anchored(content), "name": content.get("name", name)}


def csv_format(folder):
    """What nirs4all has to be told of a folder's CSV files, from the first lines of each."""
    lines, named, told = [], None, {}
    for path in sorted(folder.glob("*.csv")):
        if is_leftover(path.name):
            continue
        with open(path, "rb") as file:
            if file.read(2) in (b"\xff\xfe", b"\xfe\xff"):
                told["encoding"] = "utf-16"
        with open(path, encoding=told.get("encoding", "utf-8-sig"), errors="replace") as file:
            first = file.readline()
            # The line that tells Excel the delimiter; nirs4all would take it for the header.
            separator = re.match(r"sep=(.)\s*$", first, re.IGNORECASE)
            if separator:
                named, told["skiprows"] = separator[1], 1
                first = file.readline()
            lines += [first, file.readline()]
    for delimiter in [named] if named else (";", "\t", ","):
        table = [line for line in lines if delimiter in line]
        if table:
            # A German or French export: decimal commas need another delimiter.
            cells = [cell for line in table for cell in line.split(delimiter)]
            decimals = "," if delimiter != "," and any(DECIMAL_COMMA.match(cell) for cell in cells) else "."
            return {"delimiter": delimiter, "decimal_separator": decimals, **told}
    return {**USUAL_CSV, **told}


def parallelism(task, run):
    """How `inner_n_jobs` is told to nirs4all.

    Its older engine has `n_jobs`. The general one refuses that option and has `cpu_threads`, 1 by default.
    Versions without a choice of engines have the older one.
    """
    jobs = task.get("inner_n_jobs", 1)
    if task["params"].get("engine") == "legacy" or "engine" not in inspect.signature(run).parameters:
        return {"n_jobs": jobs}
    threads = jobs if jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + jobs)
    return {"cpu_threads": threads} if threads > 1 else {}


def plain(value):
    """A value as JSON has it: numpy scalars as numbers, what is not finite as null, the rest as text."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, "item") and getattr(value, "size", 1) == 1:
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def metrics_of(result):
    """The scores of the selected model: `best_*` on the test samples, `cv_*` in cross-validation."""
    best = result.best
    tested = (best.get("scores") or {}).get("test") or {}
    validated = (result.cv_best.get("scores") or {}).get("val") or {}
    names = ("best_score", "best_rmse", "best_r2", "best_accuracy", "cv_best_score", "final_score")
    metrics = {name: getattr(result, name, None) for name in names}
    metrics["best_mae"] = best["mae"] if best.get("mae") is not None else tested.get("mae")
    for prefix, scores in (("best", tested), ("cv", validated), ("test", tested)):
        for name, value in scores.items():
            # A name with a colon is that of one target of several, or repeats the plain one.
            if ":" not in name:
                metrics.setdefault(f"{prefix}_{name}", value)
    # Of a model whose number of components was searched for.
    components = (best.get("best_params") or {}).get("n_components")
    if components is not None:
        metrics["components"] = components
    return metrics


def export_model(result, scratch, output_dir, warnings):
    """Exports the best model and returns its file name.

    A failed export, as where `refit` is off, costs the task no more than the model: None, and a warning.
    """
    reasons = []
    for method, name in (("export", "best_model.n4a"), ("export_model", "best_model.joblib")):
        scratch.mkdir(parents=True, exist_ok=True)
        try:
            # Elsewhere first: half a file of a failed export must not be taken for the model.
            written = getattr(result, method)(str(scratch / name))
            shutil.move(str(written), str(output_dir / name))
            return name
        except Exception as error:
            reasons.append(message_of(error))
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    warnings.append(f"no model was exported: {reasons[0]}")
    print(f"warning: {warnings[-1]}", flush=True)
    return None


def tell_about(nirs4all, result, model, metrics, dataset, looked, task, output_dir):
    """Has the model say what it is and what it was made of."""
    path = Path(task["dataset"]["path"])
    known = predicting.about_model(nirs4all, result, model, predicting.places_in(dataset, looked), task.get("task"),
                                   about.data_hash(path, is_leftover))
    about.write_about(model, plain({**known, "metrics": metrics}), output_dir)


def save_predictions(result, looked, output_dir, warnings):
    """Keeps what was predicted of held-out samples; where that cannot be read of the result, a warning."""
    draft = output_dir / "predictions.csv.tmp"
    try:
        left_out = predictions.write_predictions(result, draft, looked.names, looked.targets)
        os.replace(draft, output_dir / "predictions.csv")
        reason = f"{left_out} predictions beyond the first are not in predictions.csv" if left_out else None
    except OSError:
        raise
    except Exception as error:
        draft.unlink(missing_ok=True)
        reason = f"no predictions were written: {summary_of(error)}"
    if reason:
        warnings.append(reason)
        print(f"warning: {reason}", flush=True)


def save_spectra(looked, model, output_dir, say):
    """Keeps spectra for a picture; where they cannot be had, a warning."""
    try:
        spectra.write(looked, model, output_dir)
    except OSError:
        raise
    except Exception as error:
        say(f"no spectra were written: {summary_of(error)}")


def write_json(path, value):
    """So that a reader sees nothing or the whole file."""
    draft = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    draft.write_text(json.dumps(plain(value), indent=2, allow_nan=False) + "\n", encoding="utf-8")
    os.replace(draft, path)


def expand_task(arguments, task):
    """Lists the pipelines that a pipeline with generators holds, as nirs4all itself makes them; runs nothing."""
    pipeline, built_fingerprint = pipeline_argument(task["pipeline"])
    nirs4all = load_library()
    from nirs4all.pipeline.config.pipeline_config import PipelineConfigs
    configs = PipelineConfigs(pipeline, max_generation_count=task["expand"]["at_most"])
    write_json(arguments.result_file, {
        "status": "succeeded",
        "nirs4all_version": nirs4all.__version__,
        **({"pipeline_fingerprint": built_fingerprint} if built_fingerprint else {}),
        # Texts, so that no number is written anew on the way.
        "variants": [json.dumps(steps, allow_nan=False) for steps in configs.steps],
    })
    progress(1, "done")


def teller(warnings):
    """Keeps what a person should know of a run, and writes it to the log."""
    def say(text):
        warnings.append(text)
        print(f"warning: {text}", flush=True)

    return say


def new_spectra(reference, params, model):
    """What is to be predicted, and warnings. Tables are read by the rules of the runner of mljs, which also finds the
    reference values of one target in them."""
    path = existing_path(reference, "dataset")
    hints = {name: params.pop(name) for name in handover.HINTS if params.get(name) is not None}
    targets = model.get("targets") or []
    if tables_at(path) and not is_described(path) and len(targets) <= 1 and is_of_numbers(model):
        argument = dataset_argument(reference)
        if path.is_file() or misreadings.is_simple(misreadings.config_of(argument, missing={})):
            name = targets[0].get("name") if targets else None
            sets, warnings = handed_over(handover.to_predict, path, hints, name)
            return [predicting.NewSpectra.handed(one) for one in sets], warnings
    if hints:
        raise InputFault(f"params.{' and params.'.join(hints)} can be said of tables for a model of one number alone")
    argument = prediction_argument(reference, path)
    looked = looked_at(argument)
    return [predicting.NewSpectra.read(argument)], looked.warnings


def is_of_numbers(model):
    return model.get("task_type") in (None, "regression")


def prediction_argument(reference, path):
    """As `dataset_argument`; a folder may also hold one table of any name, as one that was uploaded by itself does."""
    tables = tables_at(path) if path.is_dir() else []
    if len(tables) == 1 and not is_described(path):
        return {"test_x": str(tables[0]), "name": path.name, "global_params": csv_format(path)}
    return dataset_argument(reference)


def predict_task(arguments, task, warnings, started):
    """Predicts with a model instead of making one."""
    try:
        path = predicting.bundle_at(Path(task["model"]["path"]))
        model = about.read_about(path)
        progress(0.02, "loading nirs4all")
        nirs4all = load_library()
        say = teller(warnings)
        new, found = new_spectra(task["dataset"], task["params"], model)
        unknown = predicting.unknown_options(nirs4all, task["params"])
        if unknown:
            raise InputFault(f"nirs4all.predict has no option {few(unknown)}")
        for warning in found:
            say(warning)
        progress(0.1, "predicting")
        predicted = predicting.predict(nirs4all, path, model, new, task["params"], say)
    except axes.Refused as refused:
        raise InputFault(str(refused)) from refused
    if predicted.unlike:
        say("the reference values are not compared: they are others than those that the model predicts")
    draft = arguments.output_dir / "predictions.csv.tmp"
    left_out = predicted.write(draft)
    os.replace(draft, arguments.output_dir / "predictions.csv")
    if left_out:
        say(f"{left_out} predictions beyond the first are not in predictions.csv")
    write_json(arguments.result_file, {
        "status": "succeeded",
        "nirs4all_version": nirs4all.__version__,
        "metrics": predicted.metrics(model.get("task_type") or "regression"),
        "counts": {"num_predictions": len(predicted.values), "num_measured": int(predicted.is_measured().sum())},
        "extra": {
            "model": {"version": model.get("version"), "task": model.get("task")},
            "target": ", ".join(name for name in predicted.targets if name) or None,
            "axes": predicted.axes,
            "warnings": warnings[:20],
        },
        "duration_seconds": round(time.monotonic() - started, 3),
    })
    progress(1, "done")


def run_task(arguments, warnings):
    started = time.monotonic()
    task = read_task(arguments.task_file)
    if task.get("expand"):
        expand_task(arguments, task)
        return
    if task.get("model"):
        predict_task(arguments, task, warnings, started)
        return
    existing_path(task["dataset"], "dataset")
    progress(0.02, "loading nirs4all")
    pipeline, built_fingerprint = pipeline_argument(task["pipeline"])
    nirs4all = load_library()
    say = teller(warnings)
    # What a user's code has changed of the readers is for its own task alone.
    shared = task["pipeline"]["mode"] == "path"
    dataset, looked = read_dataset(task["dataset"], task["params"], shared)
    for warning in looked.warnings:
        say(warning)

    options = {**parallelism(task, nirs4all.run), **task["params"]}
    print(f"nirs4all {nirs4all.__version__}: dataset {dataset!r}, options {options!r}", flush=True)
    progress(0.05, "running")
    # Not where it would have to be sent to other processes.
    if options.get("n_jobs", 1) == 1 and "should_stop" in inspect.signature(nirs4all.PipelineRunner).parameters:
        options["should_stop"] = pulse(0.05)
    workspace = str(arguments.workspace / "nirs4all")
    reading.share_numbers(looked)
    result = nirs4all.run(pipeline, dataset, workspace_path=workspace, **options)

    save_predictions(result, looked, arguments.output_dir, warnings)
    metrics, model_file = metrics_of(result), None
    if task.get("outputs", {}).get("export_best_model", True):
        progress(0.95, "exporting the best model")
        model_file = export_model(result, arguments.workspace / "export", arguments.output_dir, warnings)
        if model_file:
            model = arguments.output_dir / model_file
            metrics.update(predicting.settings_of(model))
            try:
                tell_about(nirs4all, result, model, metrics, dataset, looked, task, arguments.output_dir)
            except OSError:
                raise
            except Exception as error:
                say(f"the model does not say what it was made of: {summary_of(error)}")
    save_spectra(looked, model_file and arguments.output_dir / model_file, arguments.output_dir, say)
    shown = ("model_name", "config_name", "preprocessings", "best_params", "dataset_name", "metric", "task_type")
    write_json(arguments.result_file, {
        "status": "succeeded",
        "nirs4all_version": nirs4all.__version__,
        **({"pipeline_fingerprint": built_fingerprint} if built_fingerprint else {}),
        "metrics": metrics,
        "counts": {"num_predictions": result.num_predictions, "num_models": len(result.get_models())},
        "extra": {
            "engine": getattr(result, "execution_engine", None),
            "best": {name: result.best.get(name) for name in shown},
            "validation": predictions.validation_of(result),
            "target": ", ".join(looked.targets) or None,
            "model_file": model_file,
            "warnings": warnings[:20],
        },
        "duration_seconds": round(time.monotonic() - started, 3),
    })
    progress(1, "done")


def message_of(error):
    line = " ".join(str(getattr(error, "message", None) or error).split()) or type(error).__name__
    return line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}…"


def summary_of(error):
    """The line of an error that tells a person most."""
    text = str(error).strip()
    if "Traceback (most recent call last)" in text:
        # The engine packs the error of a step, traceback included, into the message of its own.
        return [line for line in text.splitlines() if line and not line[0].isspace()][-1][:LONGEST_LINE]
    return f"{type(error).__name__}: {message_of(error)}" if text else type(error).__name__


def with_cause(message, warnings):
    """What nirs4all could not do and went on without comes first: its error is about what that led to."""
    return f"{warnings[0]} (then: {message})" if warnings else message


def looks_like(path):
    """What a dataset's tables look like, for whoever has to mend them; empty where there are none."""
    files = [path] if path.is_file() else [file for file in sorted(path.glob("*")) if not is_leftover(file.name)]
    tables = [file for file in files if file.suffix.lower() in TABLES]
    if not tables:
        return f"the folder has {few([file.name for file in files])}" if files else "the folder is empty"
    seen = []
    for table in tables[:4]:
        with open(table, encoding="utf-8", errors="replace") as file:
            first = file.readline().strip()
            lines = 1 + sum(1 for _ in file)
        seen.append(f"{table.name}: {lines} lines, the first is {first[:40]!r}{'…' if len(first) > 40 else ''}")
    return "; ".join(seen)


def comes_from_readers(error):
    """Whether nirs4all's readers of data refused it, in itself or in the error that led to it."""
    while error is not None:
        files = [frame.filename.replace(os.sep, "/") for frame in traceback.extract_tb(error.__traceback__)]
        if any("/nirs4all/data/" in file for file in files):
            return True
        error = error.__cause__ or error.__context__
    return False


def with_looks(message, error, dataset):
    """What the readers refuse is told with what the files look like."""
    if dataset is None or isinstance(error, InputFault) or not comes_from_readers(error):
        return message
    try:
        looks = looks_like(dataset)
    except OSError:
        return message
    return f"{message} ({looks})" if looks else message


def is_input_fault(error):
    if isinstance(error, InputFault) or type(error).__name__ == "DagMlValidationError":
        return True
    if not isinstance(error, INPUT_ERRORS):
        return getattr(error, "cause", None) in REFUSALS
    files = [frame.filename.replace(os.sep, "/") for frame in traceback.extract_tb(error.__traceback__)]
    in_readers = any(f"/nirs4all/{reader}" in file for file in files for reader in READERS)
    return in_readers or files[-1].endswith(("/nirs4all/api/run.py", "/nirs4all/api/predict.py"))


def needs_cold(argv):
    """Why a task must not run in a fork, as far as that can be seen of it; None if it may.

    A task that makes no sense may: it will say so itself.
    """
    try:
        task = json.loads(read_arguments(argv).task_file.read_text(encoding="utf-8"))
        if task.get("inner_n_jobs", 1) != 1 or task.get("params", {}).get("n_jobs", 1) != 1:
            return "it starts processes of its own (inner_n_jobs)"
        if task.get("model"):
            found = NEEDS_COLD.search(predicting.text_of(Path(task["model"]["path"]), MOST_PIPELINE_BYTES))
            return f"its model names {found[0]}" if found else None
        with open(task["pipeline"]["path"], encoding="utf-8", errors="replace") as file:
            found = NEEDS_COLD.search(file.read(MOST_PIPELINE_BYTES))
    except (OSError, ValueError, LookupError, TypeError, AttributeError, zipfile.BadZipFile):
        return None
    return f"its pipeline names {found[0]}" if found else None


def named_dataset(arguments):
    """The path of the dataset that the task names; None where the task file does not say."""
    try:
        return Path(json.loads(arguments.task_file.read_text(encoding="utf-8"))["dataset"]["path"])
    except (OSError, ValueError, LookupError, TypeError):
        return None


def tell(arguments, fault, error):
    """Says in the result file whose fault it is, as far as that can still be written."""
    try:
        write_json(arguments.result_file, {"status": "failed", "error": error, "fault": fault})
    except OSError:
        pass


def is_of_the_machine(error):
    return isinstance(error, Unavailable) or (isinstance(error, OSError) and error.errno in OF_THE_MACHINE)


def main(argv):
    arguments = read_arguments(argv)
    output = sys.stdout = Overheard(sys.stdout)
    try:
        run_task(arguments, output.warnings)
        return 0
    except (Exception, SystemExit) as error:
        output.flush()
        if is_of_the_machine(error):
            print(f"Error: {summary_of(error)}", file=sys.stderr, flush=True)
            return EXIT_UNAVAILABLE
        if is_input_fault(error):
            message = with_looks(with_cause(message_of(error), output.warnings), error, named_dataset(arguments))
            print(f"Error: {message}", file=sys.stderr, flush=True)
            return EXIT_INPUT_FAULT
        if getattr(error, "missing_here", False):
            tell(arguments, "worker", summary_of(error))
        summary = f"Error: {with_cause(summary_of(error), output.warnings)}"
        print(summary, file=sys.stderr)
        traceback.print_exception(type(error), error, error.__traceback__, file=sys.stderr)
        if output.warnings:
            # The worker takes the last line that names an error, which would be the traceback's.
            print(summary, file=sys.stderr)
        return EXIT_FAILURE


if __name__ == "__main__":
    # nirs4all loads next to nothing until it is used. These are what runs of version 1.4 begin with; of another
    # version some may not be there, and what is missing here is learned.
    beginning = ("api", "pipeline.dagml.public_batch", "pipeline.dagml.run_backend", "workspace.compat")
    beneath = ("nirs4all_io", "n4m", "dag_ml_data", "sklearn.ensemble")
    jq_warm.run(main, ["nirs4all", *(f"nirs4all.{name}" for name in beginning), *beneath], cold=needs_cold)
