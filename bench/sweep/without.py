"""The sweep without a queue: `without.py HOW JOB`, where HOW is loop, joblib, dask or `has LIBRARY`.

Prints the best_rmse of each pipeline and the processor time of this process and its children, as JSON.
"""

import json
import resource
import sys
import tempfile
from importlib.util import find_spec

PROCESSES = 2


def one(pipeline, dataset, params):
    import nirs4all

    with tempfile.TemporaryDirectory() as folder:
        return float(nirs4all.run(pipeline, dataset, workspace_path=folder, **params).best_rmse)


def in_a_loop(tasks):
    return [one(*task) for task in tasks]


def with_joblib(tasks):
    from joblib import Parallel, delayed
    from joblib.externals.loky import get_reusable_executor

    found = Parallel(n_jobs=PROCESSES)(delayed(one)(*task) for task in tasks)
    get_reusable_executor().shutdown(wait=True)
    return found


def with_dask(tasks):
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=PROCESSES, threads_per_worker=1, dashboard_address=None) as cluster:
        with Client(cluster) as client:
            return client.gather([client.submit(one, *task, pure=False) for task in tasks])


def main(how, what):
    if how == "has":
        print(json.dumps(find_spec(what) is not None))
        return
    with open(what, encoding="utf-8") as file:
        job = json.load(file)
    tasks = [(pipeline["inline"], job["datasets"][0]["path"], job["params"]) for pipeline in job["pipelines"]]
    found = {"loop": in_a_loop, "joblib": with_joblib, "dask": with_dask}[how](tasks)
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    print(json.dumps({"rmse": found, "cpu": sum(one.ru_utime + one.ru_stime for one in used)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
