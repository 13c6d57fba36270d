"""Looks at a dataset as a run reads it, without any run: `check.py PATH PARAMS` prints one line of JSON.

The line is the report of dataset-report.ts. What the readers refuse ends with exit code 2 and `Error: ` on stderr.
"""

import json
import math
import sys
import warnings
from pathlib import Path

import misreadings
import runner

SHOWN_SPECTRA = 40


def numbers(values):
    return [value if math.isfinite(value) else None for value in map(float, values)]


def axis_of(dataset):
    """Where the spectrum begins and ends, if its columns are named by numbers."""
    headers = dataset.headers(0) or []
    places = [misreadings.place_of(name) for name in headers]
    # Where nothing says the unit, nirs4all takes wavenumbers, which is no news to tell.
    unit = misreadings.unit_of(headers[0]) if headers else None
    is_axis = places and None not in places and not misreadings.are_numbered(headers)
    return {"from": places[0], "to": places[-1], "unit": unit} if is_axis else None


def about_columns(dataset):
    headers = dataset.headers(0) or []
    if not misreadings.are_numbered(headers):
        return []
    return [f"the columns of the spectra are only numbered ({headers[0]} to {headers[-1]}) and say no wavelengths; what is to be "
            "predicted later is then held against the model by the number of columns alone"]


def targets_of(values, names):
    if values is None or values.size == 0:
        return []
    columns = values.reshape(len(values), -1).T.astype(float)
    return [
        {"name": name, "min": float(column.min()), "max": float(column.max()), "mean": float(column.mean())}
        for column, name in zip(columns, names if len(names) == len(columns) else [None] * len(columns))
    ]


def report(path, params):
    runner.load_library()
    from nirs4all.data.config import DatasetConfigs

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        argument, looked = runner.read_dataset({"path": path}, params)
        configs = DatasetConfigs(argument)
        dataset = next(iter(configs.iter_datasets()))
        train = dataset.x({"partition": "train"}, layout="2d")
        test = dataset.x({"partition": "test"}, layout="2d")
        spectra = train[0] if isinstance(train, list) else train
        shown = min(len(spectra), SHOWN_SPECTRA)
        return {
            "library": "nirs4all",
            "samples": len(spectra),
            "test_samples": len(test[0] if isinstance(test, list) else test),
            "variables": spectra.shape[1],
            "axis": axis_of(dataset),
            "targets": targets_of(dataset.y({"partition": "train"}), looked.targets),
            "warnings": looked.warnings + about_columns(dataset) + sorted({runner.message_of(entry.message) for entry in caught if of_interest(entry)}),
            "spectra": [numbers(spectra[i * len(spectra) // shown]) for i in range(shown)],
        }


def of_interest(entry):
    return not issubclass(entry.category, (DeprecationWarning, PendingDeprecationWarning, FutureWarning))


def main(path, params):
    # What the library prints is not the answer.
    answer, sys.stdout = sys.stdout, runner.Overheard(sys.stderr)
    try:
        found = report(path, params)
    except Exception as error:
        message = runner.with_cause(runner.message_of(error), sys.stdout.warnings)
        print(f"Error: {runner.with_looks(message, error, Path(path))}", file=sys.stderr)
        return runner.EXIT_UNAVAILABLE if runner.is_of_the_machine(error) else runner.EXIT_INPUT_FAULT
    print(json.dumps(found, allow_nan=False), file=answer)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], json.loads(sys.argv[2])))
