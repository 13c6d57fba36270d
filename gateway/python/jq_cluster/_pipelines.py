"""What may be given as pipelines, as the references of a job."""

from __future__ import annotations

import importlib
import json
import os
import sys
from typing import Any, Callable, Dict, List, Mapping

from ._errors import InputError
from ._http import dumps
from ._paths import is_here, located, stem

#: Uploads a file under a name and gives the id of its artifact.
Upload = Callable[[str, str], str]

_ENDINGS = (".yaml", ".yml", ".json")


def pipeline_refs(given: Any, upload: Upload) -> List[Dict[str, Any]]:
    """The references for one pipeline, or for several: a list of whole pipelines, or a mapping of their names."""
    if isinstance(given, Mapping) and not _is_pipeline_dict(given) and _all_pipelines(given.values()):
        return [{**pipeline_ref(one, upload), "name": str(name)} for name, one in given.items()]
    if isinstance(given, (list, tuple)) and _all_pipelines(given):
        return [pipeline_ref(one, upload) for one in given]
    return [pipeline_ref(given, upload)]


def pipeline_ref(given: Any, upload: Upload) -> Dict[str, Any]:
    """The reference for one pipeline: a path, a reference, or a list or mapping of steps, which may hold objects."""
    if _is_path(given):
        path = located("pipeline", given)
        if not is_here(path):
            return {"kind": "path", "path": path}
        if os.path.isdir(path):
            raise InputError(f"the pipeline {path} is a folder")
        return {"kind": "artifact", "artifact_id": upload(path, os.path.basename(path)), "name": stem(path)}
    if isinstance(given, Mapping) and "kind" in given:
        return dict(given)
    name = given.get("name") if isinstance(given, Mapping) else getattr(given, "name", None)
    ref = {"kind": "inline_json", "inline": _inline(given)}
    return {**ref, "name": name} if isinstance(name, str) and name else ref


def _inline(given: Any) -> Any:
    """Steps as JSON. Objects in them are written as nirs4all writes them: class and parameters."""
    template = getattr(given, "original_template", None)  # of a PipelineConfigs of nirs4all
    steps = given if template is None else template
    if not isinstance(steps, (list, tuple, Mapping)) or len(steps) == 0:
        raise InputError(f"{steps!r} is no pipeline: give a path, or a list of steps")
    try:
        return json.loads(dumps(steps))
    except InputError:
        pass
    try:
        serialization = importlib.import_module("nirs4all.pipeline.config.component_serialization")
    except ImportError:
        raise InputError(
            "the pipeline holds Python objects, which nirs4all writes as JSON; install nirs4all here, or write the steps as text"
        ) from None
    return json.loads(dumps(serialization.serialize_component(_plain_steps(steps))))


def _plain_steps(steps: Any) -> Any:
    return list(steps) if isinstance(steps, tuple) else steps


def _all_pipelines(values: Any) -> bool:
    """Whether each is a whole pipeline by itself, so that several are meant."""
    several = list(values)
    return len(several) > 0 and all(_is_pipeline(one) for one in several)


def _is_pipeline(one: Any) -> bool:
    if isinstance(one, (list, tuple)):
        return len(one) > 0
    return _is_path(one) or _is_pipeline_dict(one) or _is_configs(one)


def _is_pipeline_dict(one: Any) -> bool:
    return isinstance(one, Mapping) and any(key in one for key in ("kind", "steps", "pipeline"))


def _is_configs(one: Any) -> bool:
    return "nirs4all" in sys.modules and hasattr(one, "original_template")


def _is_path(one: Any) -> bool:
    """Steps may be words as well; a path has a place or an ending."""
    if isinstance(one, os.PathLike):
        return True
    return isinstance(one, str) and (one.lower().endswith(_ENDINGS) or "/" in one or os.sep in one)
