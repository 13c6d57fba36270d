"""Client of a jq-cluster server: runs data-analysis jobs from Python and notebooks.

    from jq_cluster import Cluster

    cluster = Cluster("http://queue.lab:8765")
    job = cluster.run([["snv", {"pls": {"components": 5}}]], (X, y), lib="mljs").wait()
    job.ranking
    job.best.model()
"""

from ._aio import AsyncCluster, AsyncJob
from ._cluster import Cluster, Sweep
from ._datasets import Dataset
from ._errors import (
    ClusterError,
    InputError,
    InvalidResponseError,
    JobCancelledError,
    JobError,
    JobFailedError,
    ResponseError,
    TaskError,
    UnreachableError,
    UntrustedError,
)
from ._files import DamagedError
from ._job import Job
from ._routes import Api
from ._task import Task
from ._telling import DataWarning
from ._version import __version__

__all__ = [
    "Api",
    "AsyncCluster",
    "AsyncJob",
    "Cluster",
    "ClusterError",
    "DamagedError",
    "DataWarning",
    "Dataset",
    "InputError",
    "InvalidResponseError",
    "Job",
    "JobCancelledError",
    "JobError",
    "JobFailedError",
    "ResponseError",
    "Sweep",
    "Task",
    "TaskError",
    "UnreachableError",
    "UntrustedError",
    "__version__",
]
