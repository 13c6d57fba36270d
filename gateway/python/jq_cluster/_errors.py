"""What goes wrong, as exceptions. Each has a code, by which programs go, and says a sentence for people."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional

#: Codes for servers of other make that name none, by status.
_CODES = {
    400: "malformed_body",
    401: "unauthenticated",
    403: "missing_rights",
    404: "unknown_id",
    405: "method_not_allowed",
    409: "illegal_transition",
    413: "body_too_large",
    422: "invalid_body",
    426: "incompatible_api",
    503: "store_unavailable",
}


class ClusterError(Exception):
    """The base of all errors of this package."""

    code: str = "error"


class ResponseError(ClusterError):
    """The server refused. The text is the server's own sentence, and below it the faults of what was sent."""

    def __init__(self, status: int, body: Mapping[str, Any], headers: Mapping[str, str]) -> None:
        detail = body.get("detail")
        self.status = status
        self.detail: str = detail if isinstance(detail, str) and detail else f"the server answered {status}"
        self.code = str(body.get("code") or _CODES.get(status, "internal"))
        #: Whether the server says the code itself; what stands in front of one may not.
        self.is_named = isinstance(body.get("code"), str)
        errors = body.get("errors")
        #: Of a body or query that is not valid: `path` (a JSON pointer) and `message` each.
        self.faults: List[Dict[str, Any]] = list(errors) if isinstance(errors, list) else []
        #: By what the server's log names the request.
        self.request_id: Optional[str] = headers.get("x-request-id")
        #: Seconds after which the server asks to try again, if it says so.
        self.retry_after: Optional[float] = _seconds(headers.get("retry-after"))
        # The sentence names a single one itself.
        named = self.faults if len(self.faults) > 1 else []
        super().__init__("\n".join([self.detail, *(f"  {fault.get('path')}: {fault.get('message')}" for fault in named)]))

    @property
    def denied(self) -> bool:
        """Whether the credential is to blame."""
        return self.status in (401, 403)

    @property
    def transient(self) -> bool:
        """Whether the same request may succeed later without anybody changing it."""
        return self.status in (502, 503, 504, 507)


class UnreachableError(ClusterError):
    """No answer came: the server is away, or the connection broke."""

    code = "unreachable"


class UntrustedError(ClusterError):
    """Something answers, but its certificate does not say that it is the server that was asked for."""

    code = "untrusted"


class InvalidResponseError(ClusterError):
    """An answer that is no refusal, but does not say what is needed to go on."""

    code = "invalid_response"


class InputError(ClusterError, ValueError):
    """What was given cannot be sent. Nothing was submitted."""

    code = "invalid_input"


class JobError(ClusterError):
    """A job did not end well."""

    def __init__(self, message: str, job_id: str) -> None:
        self.job_id = job_id
        super().__init__(message)


class JobFailedError(JobError):
    """No task of the job succeeded."""

    code = "job_failed"


class JobCancelledError(JobError):
    """The job was cancelled."""

    code = "job_cancelled"


class TaskError(ClusterError):
    """A task of a sweep has no result: it failed, or was cancelled."""

    code = "task_failed"

    def __init__(self, message: str, task_id: str) -> None:
        self.task_id = task_id
        super().__init__(message)


def _seconds(text: Optional[str]) -> Optional[float]:
    try:
        return float(text) if text else None
    except ValueError:
        return None
