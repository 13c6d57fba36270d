"""Predicts the samples of a dataset with a bundle that nirs4all exported, by `nirs4all.predict` itself."""

import csv
import inspect
import zipfile

import about
import axes
import misreadings
import predictions

# What the worker decides, or what would give something else than one prediction for each sample.
RESERVED = ("model", "data", "chain_id", "workspace_path", "session", "name", "all_predictions", "coverage",
            "save_to_workspace", "workspace_metadata", "workspace_result_metadata")
PARTITIONS = ("train", "test")


class NewSpectra:
    """Samples that are to be predicted, as one table: `y` has a row for each, NaN where it is not known, or is None."""

    def __init__(self, source, x, y, axis, names=None):
        self.source = source
        self.x = x
        self.y = y
        self.axis = axis
        self.names = names or [None] * len(x)

    @classmethod
    def read(cls, argument):
        """In nirs4all's order, those for training first, as nirs4all reads them."""
        import numpy
        from nirs4all.data.config import DatasetConfigs

        dataset = next(iter(DatasetConfigs(argument).iter_datasets()))
        if dataset.n_sources > 1:
            raise axes.Refused(f"the dataset has {dataset.n_sources} sources of spectra; only one can be predicted with")
        parts = [(spectra, values_of(dataset, part, len(spectra)))
                 for part in PARTITIONS if len(spectra := dataset.x({"partition": part}, layout="2d"))]
        if not parts:
            raise axes.Refused("the dataset has no spectra")
        x = numpy.vstack([spectra for spectra, _ in parts])
        y = numpy.vstack([values for _, values in parts]) if all(values is not None for _, values in parts) else None
        headers = dataset.headers(0)
        return cls(dataset.name, x, y, axes.axis_of(headers if headers and len(headers) == x.shape[1] else None))

    @classmethod
    def handed(cls, read):
        """As handover.py has had it read; nirs4all keeps floats of 32 bits."""
        import numpy

        y = numpy.array([numpy.nan if value is None else value for value in read["y"]], dtype="float32").reshape(-1, 1)
        known = None if numpy.isnan(y).all() else y
        return cls(read["source"], numpy.array(read["x"], dtype="float32"), known, read["axis"], read["names"])


def values_of(dataset, partition, rows):
    """The reference values, a row each; None where they are not there."""
    values = dataset.y({"partition": partition})
    return values.reshape(rows, -1) if values is not None and values.size and len(values) == rows else None


def bundle_at(path):
    """The path, if it is something that `nirs4all.predict` may take."""
    if not path.is_file():
        raise axes.Refused(f"model not found: {path}")
    if not zipfile.is_zipfile(path):
        raise axes.Refused(f"{path.name} is no bundle (.n4a) of nirs4all, which is what nirs4all.predict takes")
    return path


def text_of(path, most):
    """What can be read in the files of a bundle, of each so many bytes: pickles name the modules that they need."""
    with zipfile.ZipFile(path) as bundle:
        members = [bundle.open(name) for name in bundle.namelist() if not name.endswith("/")]
        return "\n".join(member.read(most).decode("latin-1") for member in members)


def predict(nirs4all, path, known, new, params, say):
    """Returns the predictions with what belongs to them, as a `Predicted`. `say` is told what a person should know.

    `known` is what the model says of itself, `new` a list of NewSpectra.
    """
    import numpy

    options = dict(params)
    interpolate = options.pop("interpolate", None) or False
    if not isinstance(interpolate, bool):
        raise axes.Refused(f"params.interpolate must be true or false, not {interpolate!r}")
    places = about.places_of(known)
    alignments = [axes.align(places, one.axis, one.x, one.source, interpolate) for one in new]
    for alignment in alignments:
        if alignment.warning:
            say(alignment.warning)
    made_by = known.get("version")
    if made_by and made_by != nirs4all.__version__:
        say(f"the model was made by nirs4all {made_by}, and this is {nirs4all.__version__}")
    spectra = numpy.vstack([alignment.spectra for alignment in alignments])
    result = nirs4all.predict(model=str(path), data=data_for(path, spectra), **options)
    return Predicted(known, new, alignments, result.y_pred)


def data_for(path, spectra):
    """Archives of nirs4all's core want the samples named."""
    try:
        from nirs4all.pipeline.dagml.core_archive_replay import detect_core_archive_version
    except ImportError:
        return spectra
    if detect_core_archive_version(path) is None:
        return spectra
    return {"X": spectra, "sample_ids": [str(number) for number in range(1, len(spectra) + 1)]}


class Predicted:
    def __init__(self, known, new, alignments, values):
        import numpy

        self.about = known
        self.axes = [{"source": one.source, "how": alignment.how} for one, alignment in zip(new, alignments)]
        self.names = [name for one in new for name in one.names]
        self.values = numpy.asarray(values).reshape(len(self.names), -1)
        measured = [one.y for one in new if one.y is not None]
        width = self.values.shape[1]
        # What is there and cannot be compared: reference values of other targets than the model's.
        self.unlike = any(y.shape[1] != width for y in measured)
        unknown = [numpy.full((len(one.x), width), numpy.nan) for one in new]
        parts = [gap if one.y is None else one.y for one, gap in zip(new, unknown)]
        self.y = None if self.unlike or not measured else numpy.vstack(parts)
        names = [target.get("name") for target in known.get("targets") or [] if isinstance(target, dict)]
        count = self.values.shape[1]
        numbered = [str(number) for number in range(1, count + 1)] if count > 1 else [""]
        self.targets = [name or number for name, number in zip(names, numbered)] if len(names) == count else numbered

    def is_measured(self):
        """For each sample, whether all of its reference values are there."""
        import numpy

        return numpy.zeros(len(self.values), bool) if self.y is None else ~numpy.array(
            [[value is None or value != value for value in row] for row in self.y], bool).any(axis=1)

    def metrics(self, task_type):
        """By nirs4all's own definitions, of the samples whose reference values are there."""
        from nirs4all.core.metrics import eval_multi

        measured = self.is_measured()
        if not measured.any():
            return {}
        y, predicted = self.y[measured], self.values[measured]
        if y.shape[1] == 1:
            y, predicted = y[:, 0], predicted[:, 0]
        return eval_multi(y, predicted, task_type)

    def write(self, path):
        """Returns how many rows had no room."""
        measured = self.is_measured()
        rows = [
            (self.names[number - 1] or number, "predicted", "", predictions.shortest(self.y[number - 1][place]) if measured[number - 1] else "",
             predictions.shortest(self.values[number - 1][place]), target)
            for place, target in enumerate(self.targets)
            for number in range(1, len(self.values) + 1)
        ]
        with open(path, "w", encoding="utf-8", newline="") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(predictions.COLUMNS)
            table.writerows(rows[:predictions.MOST_ROWS])
        return max(0, len(rows) - predictions.MOST_ROWS)


def about_model(nirs4all, result, model, looked, task, data_hash):
    """What a model that was exported says of itself."""
    steps, words = steps_in(model)
    best = result.best
    names = looked.targets or [None]
    return {
        "library": "nirs4all",
        "version": nirs4all.__version__,
        "model": words or best.get("model_name"),
        "preprocessing": steps,
        "axis": axes.axis_of(looked.columns),
        "columns": len(looked.columns) if looked.columns else None,
        "targets": [{"name": name, "unit": about.unit_in(name)} for name in names],
        "task_type": best.get("task_type"),
        "training": {"samples": looked.samples, "sha256": data_hash},
        "task": task,
    }


def steps_in(model):
    """The words of what comes before the model, and of the model, where that is a pipeline of scikit-learn."""
    *before, last = [words_of(step) for _, step in estimators_in(model)] or [None]
    return (before, last) if last else (None, None)


def words_of(step):
    return " ".join(repr(step).split())[:200]


def settings_of(model):
    """The number of components of a model that has one, such as PLS, as a metric."""
    exported = exported_in(model)
    *_, (_, last) = getattr(exported, "steps", None) or [(None, exported)]
    count = getattr(last, "n_components", None)
    return {"components": count} if isinstance(count, int) else {}


def estimators_in(model):
    """The steps of a model that is a pipeline of scikit-learn, the model itself last; of others none."""
    return getattr(exported_in(model), "steps", None) or []


def exported_in(model):
    """What was exported, as an object, where it is the only one of its bundle and can be loaded; else None."""
    import io

    import joblib

    try:
        with zipfile.ZipFile(model) as bundle:
            members = [name for name in bundle.namelist() if name.startswith("artifacts/") and name.endswith(".joblib")]
            if len(members) != 1:
                return None
            exported = joblib.load(io.BytesIO(bundle.read(members[0])))
    except Exception:
        return None
    return getattr(exported, "estimator", exported)


def places_in(argument, looked):
    """Fills in what a look at tables could not see: of files that are no CSV."""
    if looked.columns is None:
        from nirs4all.data.config import DatasetConfigs

        dataset = next(iter(DatasetConfigs(argument).iter_datasets()))
        if dataset.n_sources == 1:
            looked.dataset = dataset
            looked.columns = dataset.headers(0)
            looked.samples = len(dataset.x({"partition": "train"}, layout="2d"))
    return looked


def unknown_options(nirs4all, params):
    known = [*inspect.signature(nirs4all.predict).parameters, "engine", "interpolate"]
    return [name for name in params if name not in known]
