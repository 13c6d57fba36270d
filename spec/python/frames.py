"""What a program with pandas does with the client, against a server that has a worker of mljs.

Run with the name of a check; JQ_SERVER says where the server is.
"""

import sys

import numpy as np
import pandas as pd

import jq_cluster
from jq_cluster import Cluster, Dataset

DRAWN = np.random.default_rng(7)
SPECTRA = DRAWN.random((30, 12)) + np.arange(12) / 10
VALUES = SPECTRA[:, 2] * 3 + SPECTRA[:, 5]
WAVELENGTHS = [str(900 + place) for place in range(12)]
NAMES = [f"S{number:03}" for number in range(1, 31)]
PLS = [{"pls": {"components": 4}}]
cluster = Cluster()


def X(index=None):
    return pd.DataFrame(SPECTRA, columns=WAVELENGTHS, index=index)


def Y(index=None):
    return pd.Series(VALUES, name="octane", index=index)


def run(*given):
    return cluster.run(PLS, given if len(given) > 1 else given[0], lib="mljs").wait(progress=False)


def refused(action):
    try:
        action()
    except jq_cluster.InputError as error:
        return str(error)
    raise AssertionError("it was taken")


def by_index():
    for index in (None, NAMES):
        best = run(X(index), Y(index).sample(frac=1, random_state=3)).best
        assert best.metrics["best_r2"] > 0.9, (index, best.metrics)
    parts = Dataset(X()[:20], Y()[:20], X()[20:], Y()[20:].sample(frac=1, random_state=3))
    assert run(parts).best.metrics["best_r2"] > 0.9
    assert run(X(), VALUES).best.metrics["best_r2"] > 0.9, "arrays have no index"


def contradictions():
    other = refused(lambda: run(X(), Y(range(100, 130))))
    assert "not of the same samples" in other and "have no 0" in other and "to_numpy" in other, other
    assert "stands twice" in refused(lambda: run(X(["a", "a", *NAMES[2:]]), Y(["a", *NAMES[2:], "a"])))
    assert "30 spectra, and 29" in refused(lambda: run(X(NAMES), Y(NAMES)[1:]))
    named = X().assign(sample=NAMES), pd.DataFrame({"sample": [*NAMES[1:], "S999"], "octane": VALUES})
    assert "no 'S001'" in refused(lambda: run(*named))


def names():
    with_column = X().assign(sample=NAMES)
    for one in (Dataset(X(NAMES), Y(NAMES)), Dataset(with_column, VALUES), with_column.assign(octane=VALUES, site="a")):
        job = run(one)
        assert sorted(job.best.predictions()["sample"]) == NAMES, job.best.predictions()
        assert job.best.predictions()["target"][0] == "octane" or isinstance(one, Dataset)
    assert list(job.predict(X(NAMES)[5:8])["sample"]) == NAMES[5:8]
    assert list(job.predict(with_column[5:8])["sample"]) == NAMES[5:8]
    assert list(job.predict(X()[5:8])["sample"]) == [5, 6, 7], "rows of a larger frame"
    assert list(job.predict(X()[:3])["sample"]) == [1, 2, 3], "an index that only counts"
    shuffled = with_column[:6], pd.DataFrame({"sample": NAMES[5::-1], "octane": VALUES[5::-1]})
    assert np.allclose(job.predict(*shuffled)["y"], VALUES[:6]), "columns of names pair rows, too"


def reference_values():
    job = run(X(), Y())
    new = X()[:4].assign(octane=VALUES[:4])
    assert np.allclose(job.predict(new)["y"], VALUES[:4]), job.predict(new)
    assert np.allclose(job.predict(new.assign(temperature=[20, 21, 20, 22]))["y"], VALUES[:4]), "that of the model"
    assert job.predict(X()[:4].assign(temperature=[20, 21, 20, 22]))["y"].isna().all(), "another is none"
    both = cluster.predict(job.best.model(), {"may": new, "june": X()[4:8]}).wait(progress=False).predictions()
    assert np.allclose(both["y"][:4], VALUES[:4]) and both["y"][4:].isna().all()
    misspelt = refused(lambda: Dataset.from_frame(new, "octan"))
    assert "no column 'octan'" in misspelt and "did you mean 'octane'?" in misspelt


if __name__ == "__main__":
    globals()[sys.argv[1]]()
