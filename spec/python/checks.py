"""What a program of Python does with the client, against a server that has a worker of mljs.

Run with the name of a check; JQ_SERVER says where the server is. Nothing is needed beside the client.
"""

import asyncio
import datetime
import json
import os
import random
import re
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import jq_cluster
from jq_cluster import AsyncCluster, Cluster, Dataset

# All other warnings are errors here.
warnings.filterwarnings("default", category=jq_cluster.DataWarning)
EXAMPLES = os.environ["EXAMPLES"]
DRAWN = random.Random(7)
X = [[DRAWN.random() + k / 10 for k in range(12)] for _ in range(24)]
Y = [row[2] * 3 + row[5] for row in X]
PLS = [{"pls": {"components": 2}}]
SNV = ["snv", {"pls": {"components": [1, 2, 3]}}]


def raised(kind, action):
    try:
        action()
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was not raised")


def paths():
    job = Cluster().run(
        [f"{EXAMPLES}/pipelines/pls.yaml", f"{EXAMPLES}/pipelines/snv-pls.yaml"],
        f"{EXAMPLES}/gasoline", lib="mljs", name="from paths",
    ).wait()
    assert job.status == "succeeded" and job.done and job.name == "from paths"
    ranking = job.ranking
    assert [row["pipeline"] for row in ranking] == ["snv-pls", "pls"], ranking
    assert [row["dataset"] for row in ranking] == ["gasoline", "gasoline"]
    assert ranking[0]["best_rmse"] < ranking[1]["best_rmse"] and "best_accuracy" not in ranking[0]
    best = job.best
    assert best.id == ranking[0]["task_id"] and best.metrics["best_rmse"] == ranking[0]["best_rmse"]
    model = best.model()
    assert model.name == "best_model.json" and "coefficients" in model.read_text()
    assert best.model() == model, "it is not downloaded again"
    rows = best.predictions()
    assert len(rows) == 60 and rows[0]["sample"] == 1 and rows[0]["partition"] == "validation"
    assert abs(rows[0]["y"] - rows[0]["prediction"]) < 1 and rows[0]["target"] == "octane"
    assert best.curves()["curves"][0]["x"]["name"] == "components"
    raw = best.spectra()
    assert raw["samples"]["of"] == 60 and len(raw["values"]) == 60 and raw["steps"] == []
    assert best.spectra(preprocessed=True)["steps"] == ["snv"]
    assert "60 training rows" in best.logs() and "== pls on gasoline" in job.logs()
    kept = best.model(to=os.environ["OUT"])
    assert kept.parent == type(kept)(os.environ["OUT"]) and kept.read_bytes() == model.read_bytes()


def inputs():
    cluster = Cluster()
    several = cluster.run({"plain": PLS, "snv": SNV}, {"a": (X, Y), "b": Dataset(X, Y, X[:5], Y[:5])}, lib="mljs")
    assert sorted({(row["pipeline"], row["dataset"]) for row in several.wait().ranking}) == [
        ("plain", "a"), ("plain", "b"), ("snv", "a"), ("snv", "b")]
    one = cluster.run(SNV, (X, Y), lib="mljs")
    assert one.view["aggregate"]["num_tasks"] == 1, "a list of steps is one pipeline"
    assert cluster.run([SNV, PLS], (X, Y), lib="mljs").view["aggregate"]["num_tasks"] == 2
    reference = cluster.run({"kind": "inline_json", "inline": PLS, "name": "mine"}, {"kind": "catalog", "catalog_id": "x"}, lib="mljs")
    assert json.loads(request(reference))["datasets"] == [{"kind": "catalog", "catalog_id": "x"}]
    far = cluster.run(PLS, "/of/the/workers", lib="mljs")
    assert json.loads(request(far))["datasets"] == [{"kind": "shared_path", "path": "/of/the/workers"}]
    for job in (reference, far, one):
        job.cancel()


def wrong_inputs():
    run = Cluster().run
    refused = lambda pipelines, datasets: str(raised(jq_cluster.InputError, lambda: run(pipelines, datasets, lib="mljs")))
    assert "did you mean" in refused(f"{os.path.relpath(EXAMPLES)}/pipelines/psl.yaml", (X, Y))
    assert "no dataset" in refused(PLS, "no/such/folder")
    assert "24 spectra, and 23 reference values" in refused(PLS, (X, Y[1:]))
    assert "two dimensions" in refused(PLS, (Y, Y)), refused(PLS, (Y, Y))
    gap = [list(row) for row in X]
    gap[3][4] = float("nan")
    assert "'column 5' of sample 4 is nan; spectra have no gaps" in refused(PLS, (gap, Y))
    assert "no dataset" in refused(PLS, 5) and "no pipeline" in refused([], (X, Y))
    assert "nirs4all" in refused([object()], (X, Y))
    assert "no http address" in str(raised(jq_cluster.InputError, lambda: Cluster("queue.lab:8765"))).replace("not an", "no")


def request(job):
    return job._session.transport.text("GET", "/v1/jobs/{id}/request", {"id": job.id}, {})


def sweep():
    cluster = Cluster()
    counts = (4, 1, 3)
    tasks = cluster.map(([{"pls": {"components": n}}] for n in counts), (X, Y), lib="mljs", name="sweep")
    assert len(tasks) == 3 and tasks.job.name == "sweep"
    assert [task.metrics["components"] for task in tasks] == list(counts), "in the order of the pipelines"
    assert len(tasks) == 0 and tasks.job.wait().status == "succeeded"
    broken = cluster.map([PLS, ["snv"], SNV], (X, Y), lib="mljs")
    assert next(broken).status == "succeeded"
    error = raised(jq_cluster.TaskError, lambda: next(broken))
    assert "has no pls step" in str(error) and error.task_id
    assert next(broken).pipeline.startswith("snv"), "it goes on behind one that failed"


def predicting():
    cluster = Cluster()
    job = cluster.run(SNV, Dataset(X[:18], Y[:18], axis=range(900, 912), target="protein"), lib="mljs").wait()
    rows = job.predict(Dataset(X[18:], axis=range(900, 912)))
    assert [row["sample"] for row in rows] == [1, 2, 3, 4, 5, 6] and rows[0]["partition"] == "predicted"
    assert all(abs(row["prediction"] - y) < 2 and row["y"] is None for row, y in zip(rows, Y[18:])), rows
    measured = job.predict(X[18:], Y[18:])
    assert [row["y"] for row in measured] == Y[18:], "by as many columns, where nobody names them"
    assert [row["prediction"] for row in measured] == [row["prediction"] for row in rows]
    both = cluster.predict(job.best, {"a": (X[18:], Y[18:]), "b": Dataset(X)}).wait()
    assert both.view["type"] == "mljs.predict" and [row["dataset"] for row in both.predictions()] == ["a"] * 6 + ["b"] * 24
    assert both.best.metrics["rmse"] < 2
    by_file = cluster.predict(job.best.model(), Dataset(X[18:])).wait()
    assert [row["prediction"] for row in by_file.predictions()] == [row["prediction"] for row in rows]
    other = Dataset([row[1:] for row in X[18:]], axis=[900.5 + k for k in range(11)])
    before = len(cluster.jobs(limit=100))
    refused = str(raised(jq_cluster.InputError, lambda: job.predict(other)))
    assert "900.5 to 910.5" in refused and "900 to 911" in refused, refused
    assert "11 columns" in str(raised(jq_cluster.InputError, lambda: job.predict(Dataset([row[1:] for row in X[18:]]))))
    assert len(cluster.jobs(limit=100)) == before, "what does not fit is told before it is sent"
    within = Dataset([[row[0], *row[1:]] for row in X[18:]], axis=[900 + k * 1.0 for k in range(12)])
    assert len(job.predict(within, interpolate=True)) == 6
    assert "no reference values" in str(raised(jq_cluster.InputError, lambda: cluster.run(SNV, Dataset(X))))
    assert "no model" in str(raised(jq_cluster.InputError, lambda: cluster.predict("none.json", Dataset(X))))


def failures():
    cluster = Cluster()
    job = cluster.run(["snv"], (X, Y), lib="mljs")
    error = raised(jq_cluster.JobFailedError, job.wait)
    assert "has no pls step" in str(error) and error.job_id == job.id and error.code == "job_failed"
    (failed, why), = job.errors.items()
    assert "has no pls step" in why and job.task(failed).error == why
    assert raised(jq_cluster.ClusterError, lambda: job.best).code == "error"
    assert job.retry().status in ("queued", "running")
    raised(jq_cluster.JobFailedError, job.wait)
    refused = raised(jq_cluster.ResponseError, lambda: cluster.run(PLS, (X, Y), lib="No"))
    assert (refused.status, refused.code) == (422, "invalid_body") and refused.faults[0]["path"] == "/type"
    assert refused.request_id and not refused.transient and not refused.denied
    assert raised(jq_cluster.ResponseError, lambda: cluster.api.get_job("job_none")).code == "unknown_id"
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        cluster.run(PLS, (X, Y), lib="mljs", retires=3)
    assert any("did you mean 'retry'" in str(one.message) for one in told), told
    gone = raised(jq_cluster.UnreachableError, lambda: Cluster("http://127.0.0.1:1").jobs())
    assert "cannot reach http://127.0.0.1:1" in str(gone)


def cancelling():
    job = Cluster().run(PLS, (X, Y), lib="nobody")
    raised(TimeoutError, lambda: job.wait(0.3))
    assert job.status == "queued"
    job.cancel()
    raised(jq_cluster.JobCancelledError, job.wait)
    again = job.resubmit(name="again")
    assert again.view.get("resubmitted_from") == job.id, "the two are linked"
    assert again.id != job.id and again.name == "again" and again.cancel().refresh().id == again.id
    job.delete()
    assert raised(jq_cluster.ResponseError, lambda: job._api.get_job(job.id)).status == 404


def numbers():
    cluster = Cluster()
    spec = '{"type":"nobody.run","pipeline":{"kind":"inline_json","inline":[1.0,1e-3,12345678901234567890.5]},' \
           '"dataset":{"kind":"catalog","catalog_id":"x"},"params":{"b":1.50,"a":10000000000000000000001}}'
    job = cluster.job(cluster.api.submit_job(jq_cluster._http.JsonText(spec))["id"])
    text = request(job.resubmit(priority=2))
    assert "[1.0,1e-3,12345678901234567890.5]" in text and '{"b":1.50,"a":10000000000000000000001}' in text, text
    assert '"priority":2' in text


def names_of_samples():
    from jq_cluster._files import rows_of

    names = ["2024_01_15", "1.10", "1e5", "nan", "007", "12"]
    rows = rows_of("sample,y\n" + "".join(f"{name},1.50\n" for name in names))
    assert [row["sample"] for row in rows] == [*names[:-1], 12], rows
    assert {row["y"] for row in rows} == {1.5}


def finding():
    cluster = Cluster()
    job = cluster.run(PLS, (X, Y), lib="nobody", name="to be found")
    assert cluster.job(job.id).id == cluster.job("to be found").id == cluster.job(job.id[-8:]).id == job.id
    assert job.id in [one.id for one in cluster.jobs(name="be found")]
    assert "there is no job" in str(raised(jq_cluster.ClusterError, lambda: cluster.job("never submitted")))
    other = cluster.run(PLS, (X, Y), lib="nobody", name="to be found")
    both = str(raised(jq_cluster.ClusterError, lambda: cluster.job("to be found")))
    assert job.id in both and other.id in both and "submitted" in both and "more of the id" in both, both
    assert cluster.job(other.id).id == other.id
    other.cancel()
    misspelt = str(raised(jq_cluster.InputError, lambda: cluster.jobs(stauts="running")))
    assert "'stauts'" in misspelt and "did you mean 'status'?" in misspelt, misspelt
    assert cluster.workers()[0]["status"] == "alive" and cluster.stats()["workers_alive"] == 1
    assert "packages.nobody" in [group["requirement"] for group in cluster.demand()["groups"]]
    assert job.url == f"{os.environ['JQ_SERVER']}/ui?job={job.id}"
    job.cancel()


def tasks_by_name():
    cluster = Cluster()
    job = cluster.run({"raw": PLS, "snv": SNV}, {"gas": (X, Y), "oil": (X[2:], Y[2:])}, lib="mljs", name="named").wait()
    tasks = job.tasks()
    assert isinstance(tasks, list) and "raw on gas" in repr(tasks)
    assert [job.task(f"{one.pipeline} on {one.dataset}").id for one in tasks] == [one.id for one in tasks]
    assert job.task("gas · raw").id == job.task(tasks[0].id[-8:]).id == tasks[0].id, "as jqctl prints it"
    assert "22 training rows" in job.logs("RAW on oil") and "== " not in job.logs("raw on oil")
    several = str(raised(jq_cluster.ClusterError, lambda: job.logs("raw")))
    assert "raw on gas" in several and "raw on oil" in several and tasks[0].id in several and "snv" not in several, several
    none = str(raised(jq_cluster.ClusterError, lambda: job.task("rwa on gas")))
    assert "has no task 'rwa on gas'" in none and "did you mean 'raw on gas'?" in none
    only = cluster.run({"raw": PLS, "snv": SNV}, (X, Y), lib="mljs").wait()
    assert only.task("snv").pipeline == "snv", "where that is enough"
    by_task = cluster.predict(job, {"new": Dataset(X)}, task="raw on oil").wait()
    direct = cluster.predict(job.task("raw on oil"), Dataset(X)).wait()
    assert [row["prediction"] for row in by_task.predictions()] == [row["prediction"] for row in direct.predictions()]
    before = len(cluster.jobs(1000))
    assert "no task 'nosuch'" in str(raised(jq_cluster.ClusterError, lambda: cluster.predict(job, Dataset(X), task="nosuch")))
    raised(jq_cluster.InputError, lambda: cluster.predict(job.best, Dataset(X), task="raw on gas"))
    assert len(cluster.jobs(1000)) == before, "nothing was submitted"


def told(action):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        action()
    return caught


def warnings_of_data():
    cluster = Cluster()
    gap = [None, *Y[1:]]
    axis = range(900, 912)
    job = cluster.run({"one": PLS, "two": SNV}, Dataset(X, gap, axis=axis, target="protein"), lib="mljs")
    caught = told(job.wait)
    assert [one.category for one in caught] == [jq_cluster.DataWarning], caught
    text = str(caught[0].message)
    assert "1 sample without a reference value" in text and text.endswith("(2 tasks)"), text
    assert caught[0].filename == __file__, "as of the line that waited"
    assert job.warnings == [text] and f"warning: {text}" in job._repr_html_().replace("&quot;", '"'), job._repr_html_()
    assert told(job.wait) == [], "once"
    backwards = Dataset([row[::-1] for row in X], axis=axis[::-1])
    order = told(lambda: job.predict(backwards))
    assert len(order) == 1 and "another order" in str(order[0].message) and order[0].filename == __file__, order
    assert "taken for the same" in str(told(lambda: job.predict(X))[0].message)
    assert "were interpolated" in str(told(lambda: job.predict(Dataset([[row[0], *row] for row in X], axis=[899.5, *axis]), interpolate=True))[0].message)
    assert "another order" in asyncio.run(told_by_asyncio(backwards, job))
    assert "without a reference value" in job.task("one").warnings[0]


async def told_by_asyncio(dataset, job):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        async with AsyncCluster() as cluster:
            await (await cluster.predict(job, dataset)).wait()
    assert caught[0].filename == __file__, caught[0].filename
    return str(caught[0].message)


def axes():
    cluster = Cluster()
    named = lambda unit, places: [f"{place} {unit}" for place in places]
    job = cluster.run(SNV, Dataset(X, Y, axis=named("nm", range(900, 912)), target="protein"), lib="mljs").wait()
    before = len(cluster.jobs(1000))
    refused = lambda axis: str(raised(jq_cluster.InputError, lambda: job.predict(Dataset(X, axis=axis))))
    unlike = refused(named("cm-1", range(900, 912)))
    assert "900 to 911 cm-1, 12 columns" in unlike and "900 to 911 nm" in unlike and "another unit are not converted" in unlike, unlike
    assert "another unit are not converted" in refused(named("µm", [0.9 + k / 1000 for k in range(12)]))
    assert "901 to 912 nm, 12 columns" in refused(named("nm", range(901, 913)))
    assert len(cluster.jobs(1000)) == before, "nothing was submitted"


def words_of_jobs():
    cluster = Cluster()
    job = cluster.run(PLS, (X, Y), lib="nobody", name="first", tags=["old"])
    assert job.set(name="second", note="with the new lamp", tags=["corn", "paper"], priority=3, keep="7d") is job
    again = cluster.job("second")
    assert (again.view["note"], again.view["tags"], again.view["priority"], again.view["keep"]) == ("with the new lamp", ["corn", "paper"], 3, "7d")
    copied = again.resubmit()
    assert (copied.name, copied.view["note"], copied.view["tags"]) == ("second", "with the new lamp", ["corn", "paper"]), "as it is called now"
    assert again.resubmit(name="third", tags=None).cancel().view["tags"] == []
    assert again.set(note=None, tags=None).view["tags"] == [] and again.view["note"] is None and again.name == "second"
    assert "a list: ['corn']" in str(raised(jq_cluster.InputError, lambda: again.set(tags="corn")))
    assert "name what is to be changed" in str(raised(jq_cluster.InputError, again.set))
    assert raised(jq_cluster.ResponseError, lambda: again.set(keep="long")).status == 422
    for one in (again, copied):
        one.cancel()


def moments():
    cluster = Cluster()
    job = cluster.run(PLS, (X, Y), lib="nobody", name="of today").cancel()
    now = datetime.datetime.now(datetime.timezone.utc)
    found = lambda **query: job.id in [one.id for one in cluster.jobs(1000, **query)]
    for since in ("7d", "30 min", datetime.timedelta(hours=1), now - datetime.timedelta(minutes=9), datetime.date(2020, 1, 1), "2020-01-01",
                  "2020-01-01T10:00:00Z", job.view["created_at"] - 1):
        assert found(since=since) and not found(until=since), since
    assert not found(since=now + datetime.timedelta(hours=1)) and found(until=now + datetime.timedelta(hours=1))
    assert "since: 'last week' is no moment" in str(raised(jq_cluster.InputError, lambda: cluster.jobs(since="last week")))


def libraries_of_models():
    cluster = Cluster()
    model = cluster.run(PLS, (X, Y), lib="mljs").wait().best.model()
    before = len(cluster.jobs(1000))
    assert "best_model.json is a model of mljs, and nirs4all cannot" in str(
        raised(jq_cluster.InputError, lambda: cluster.predict(model, Dataset(X), lib="nirs4all")))
    assert len(cluster.jobs(1000)) == before, "nothing was submitted"


def names_of_predictions():
    cluster = Cluster()
    job = cluster.run(PLS, (X, Y), lib="mljs", name="gas-mljs").wait()
    job.predict(X)
    assert cluster.jobs(1)[0].name == "X by best of gas-mljs"
    several = {"may": (X, Y), "june": Dataset(X)}
    assert cluster.predict(job, several).name == "may, june by best of gas-mljs"
    assert cluster.predict(job.best, Dataset(X), name="mine").name == "mine"
    assert cluster.predict(job.best, Dataset(X)).name == "X by pls(components=2) on arrays of gas-mljs"
    assert cluster.predict(job.best.model(), f"{EXAMPLES}/gasoline").name == "gasoline by model of gas-mljs"
    job.set(name=None)
    assert cluster.predict(job, Dataset(X)).name == f"X by best of …{job.id[-8:]}"
    kinds = lambda kind: {one.view["type"].rpartition(".")[2] for one in cluster.jobs(100, kind=kind)}
    assert kinds("run") == {"run"} and kinds("predict") == {"predict"}, "predictions can be left out"
    pointed = str(raised(jq_cluster.InputError, lambda: cluster.predict("gas-mljs", Dataset(X))))
    assert "cluster.job('gas-mljs')" in pointed
    assert "int is no model" in str(raised(jq_cluster.InputError, lambda: cluster.predict(5, Dataset(X))))


def units():
    cluster = Cluster()
    places = [900 + 2 * k for k in range(12)]
    model = cluster.run(PLS, Dataset(X, Y, axis=places, unit="nm"), lib="mljs").wait(progress=False)
    assert model.best.spectra()["axis"]["unit"] == "nm"
    assert len(model.predict(Dataset(X, axis=places, unit="nm"))) == 24
    assert len(model.predict(Dataset(X, axis=places))) == 24, "who says no unit means that of the model"
    other = str(raised(jq_cluster.InputError, lambda: model.predict(Dataset(X, axis=places, unit="cm-1"))))
    assert "900 to 922 cm-1" in other and "900 to 922 nm" in other and "not converted" in other, other
    refused = lambda **more: str(raised(jq_cluster.InputError, lambda: Dataset(X, Y, **more)))
    assert "may be nm, µm or cm-1" in refused(axis=places, unit="inch")
    assert "name those with axis=" in refused(unit="nm")
    assert "named in cm-1" in refused(axis=[f"{place} cm-1" for place in places], unit="nm")


def nameless_values():
    cluster = Cluster()
    model = cluster.run(PLS, Dataset(X, Y, target="octane"), lib="mljs").wait(progress=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows = model.predict(X, Y)
    assert [row["y"] for row in rows] == Y and {row["target"] for row in rows} == {"octane"}


def logs():
    job = Cluster().run([SNV, ["snv", {"pls": {"components": 3}}]], (X, Y), lib="mljs").wait(progress=False)
    assert "::progress" not in job.logs() and "::progress" not in job.best.logs()
    shown = job.best.logs(progress=True)
    told = [line for line in shown.splitlines() if line.startswith("::progress ")]
    assert told and job.logs(job.best.id, progress=True) == shown
    assert [line for line in shown.splitlines() if line not in told] == job.best.logs().splitlines()


def reasons():
    job = Cluster().run([PLS, SNV], (X, Y), lib="nobody")
    late = str(raised(TimeoutError, lambda: job.wait(4)))
    line = "2 queued tasks wait: no worker has nobody"
    assert job.waiting == [line] and line in late, (job.waiting, late)
    assert line in job._repr_html_(), "on the card"
    assert line not in job.cancel()._repr_html_() and job.waiting == []


def lost_answers():
    """The server is asked through something that loses the first answer to each request that changes anything."""
    cluster = Cluster()
    cluster.stats()
    before = len(cluster.jobs(1000))
    job = cluster.run(PLS, (X, Y), lib="nobody")
    assert len(cluster.jobs(1000)) == before + 1, "no second job was made"
    job.cancel()
    assert cluster.api.get_job(job.id)["status"] == "cancelled"


def broken_downloads():
    """The server is asked through something that breaks off every download but the third after 100 bytes."""
    best = Cluster().run(SNV, (X, Y), lib="mljs").wait().best
    assert best.model().stat().st_size > 500
    folder = os.path.join(os.environ["OUT"], "broken")
    error = raised(jq_cluster.UnreachableError, lambda: best.model(to=folder))
    assert re.search(r"art_\w+ broke off after 500 of \d+ bytes, and could not be taken up", str(error)), error
    assert os.listdir(folder) == [], "nothing of it is left"


def uploads():
    """What was sent of files is counted by what stands between."""
    cluster = Cluster()
    for _ in range(3):
        cluster.run([PLS, f"{EXAMPLES}/pipelines/pls.yaml"], [(X, Y), f"{EXAMPLES}/gasoline"], lib="nobody").cancel()


def silent_server():
    began = time.monotonic()
    assert Cluster().servers()["servers"][0]["status"] == "leading"
    assert time.monotonic() - began < 25, "it is not waited for as for the only one"


def silent_server_and_changes():
    """Each begins at a server that answers nothing, however often it is asked."""

    def may_be_repeated():
        error = raised(jq_cluster.ResponseError, lambda: Cluster().api.cancel_job("job_0000000000000000000000nope"))
        assert error.code == "unknown_id", "it went on to the next"

    def may_not():
        error = raised(jq_cluster.UnreachableError, lambda: Cluster().api.pause_queue({}))
        assert "it answers nothing any more" in str(error), "it is not known to be done"

    began = time.monotonic()
    with ThreadPoolExecutor() as threads:
        for done in [threads.submit(one) for one in (may_be_repeated, may_not)]:
            done.result()
    assert time.monotonic() - began < 28, "it is not waited for as for the only one"


def stopped_server():
    """A body that no socket holds whole."""
    path = os.path.join(os.environ["OUT"], "large")
    with open(path, "wb") as file:
        file.write(os.urandom(24 * 1024 * 1024))
    began = time.monotonic()
    assert Cluster().api.upload_artifact(path)["size_bytes"] == 24 * 1024 * 1024
    assert time.monotonic() - began < 28, "it is not waited for as for the only one"


def slow_server():
    assert Cluster().api.pause_queue({})["paused"] == []


def nameless_refusal():
    """What stands before a server says less with its 503 than the server does with its own."""
    assert raised(jq_cluster.ResponseError, lambda: Cluster().api.pause_queue({})).status == 503


def other_threads():
    async def main():
        async with AsyncCluster() as cluster:
            job = await cluster.run(SNV, (X, Y), lib="mljs")
            await job.wait()
            best = await job.best()
            assert job.status == "succeeded" and best.id == (await job.ranking())[0]["task_id"]
            assert "training rows" in await job.logs() and len(await job.tasks()) == 1
            found = [task.metrics["components"] async for task in cluster.map([PLS, SNV[1:]], (X, Y), lib="mljs")]
            assert found[0] == 2 and len(found) == 2
            waiting = await cluster.run(PLS, (X, Y), lib="nobody")
            try:
                await asyncio.wait_for(waiting.wait(), 0.3)
                raise AssertionError("it waited no longer")
            except asyncio.TimeoutError:
                assert (await waiting.refresh()).status == "queued", "who gives up waiting leaves the job as it is"
            await (await waiting.cancel()).refresh()
            assert waiting.status == "cancelled"
            one, other = await asyncio.gather(cluster.jobs(1), cluster.workers())
            assert len(one) == len(other) == 1

    asyncio.run(main())


def credentials():
    token, server = os.environ.pop("JQ_TOKEN"), os.environ["JQ_SERVER"]
    assert Cluster(server, token).stats() and not os.environ.get("JQ_TOKEN")
    missing = raised(jq_cluster.ResponseError, lambda: Cluster().stats())
    assert missing.denied and missing.code == "unauthenticated" and "needs a credential" in str(missing)
    assert "unknown to this server" in str(raised(jq_cluster.ResponseError, lambda: Cluster(token="wrong").stats()))
    os.environ["JQ_TOKEN"] = token
    assert Cluster().stats()


def certificates():
    assert Cluster().stats() and Cluster(ca=os.environ["JQ_CA"]).stats()
    del os.environ["JQ_CA"]
    error = raised(jq_cluster.UntrustedError, lambda: Cluster().stats())
    assert "is not trusted" in str(error), error
    plain = os.environ["JQ_SERVER"].replace("https:", "http:")
    raised(jq_cluster.ClusterError, lambda: Cluster(plain).stats())


def cards():
    job = Cluster().run([PLS, ["snv"]], (X, Y), lib="mljs", name="<script>alert(1)</script>").wait()
    html = job._repr_html_()
    assert "<script>" not in html and "&lt;script&gt;" in html
    assert 'aria-valuenow="2"' in html and 'aria-valuemax="2"' in html and "1 failed" in html and "best_rmse" in html
    assert f'href="{job.url}"' in html
    shown = []
    job._keep_showing(type("Panel", (), {"show": lambda _, content, text: shown.append(content)})())
    assert shown == [html], "who waits may have seen the end first; the card that follows shows it all the same"
    assert repr(job).startswith(f"<Job {job.id}") and "1 of 2 tasks succeeded" in repr(job)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
