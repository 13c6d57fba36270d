"""Reads the tables of a dataset once for all tasks that are forked from one host: what a look at them found, the numbers
that nirs4all made of them, and the picture of their spectra.

Only of plain tables (misreadings.py), of which nirs4all has nothing to say while it reads them, and only as long as their
contents and what nirs4all is told of them are the same.
"""

import functools
import hashlib
import json
import os

import jq_warm
import misreadings

# To take the digest of more would cost more than it spares; what is made of it would have no room anyway.
MOST_BYTES = 64 * 1024 * 1024
FIELDS = ("whole", "warnings", "targets", "columns", "samples")
# Kinds of numbers whose bytes are all there is to them.
KINDS = "fiub"


class Known(misreadings.Looked):
    """What an earlier task found in the same tables, which are read again only if somebody asks for them."""

    def __init__(self, argument, told):
        self._argument = argument
        self.names = self.dataset = None
        for field in FIELDS:
            setattr(self, field, told[field])

    @functools.cached_property
    def tables(self):
        return misreadings.tables_in(misreadings.config_of(self._argument))

    def is_plain(self):
        return True


def look_at(argument):
    """As in misreadings.py; what follows from the same tables may be kept under `kept_as`."""
    if not jq_warm.keeps():
        return misreadings.look_at(argument)
    config = misreadings.config_of(argument, missing={})
    name = name_of(config)
    told = jq_warm.kept(f"look {name}") if name else None
    if told is not None:
        looked = Known(argument, json.loads(told))
    else:
        looked = misreadings.look_at(argument)
        # Meanwhile they may have become others.
        if not (name and looked.is_plain() and name == name_of(config)):
            return looked
        jq_warm.keep(f"look {name}", json.dumps({field: getattr(looked, field) for field in FIELDS}).encode())
    looked.kept_as = name
    return looked


def name_of(config):
    """What follows from these tables and how they are to be read is kept under this name; None where nothing is."""
    parts = [config[key] for key in sorted(config) if misreadings.PART.fullmatch(key) and config[key]]
    if not parts or not misreadings.is_simple(config):
        return None
    try:
        if sum(map(os.path.getsize, parts)) > MOST_BYTES:
            return None
        return json.dumps([config, [digest_of(path) for path in parts]], sort_keys=True)
    except (OSError, TypeError):
        # It cannot be read, or something else than JSON says how to read it.
        return None


def digest_of(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def share_numbers(looked):
    """Has nirs4all take the numbers of these tables as the first task on them has read them, bit by bit."""
    from nirs4all.data import config as reader

    read = getattr(reader, "handle_data", None)
    if looked.kept_as is None or read is None:
        return

    @functools.wraps(read)
    def handle_data(config, part):
        name = name_of(config) if isinstance(config, dict) else None
        # Others than those that were looked at, such as what a user's own code reads.
        if name is None or name != looked.kept_as:
            return read(config, part)
        found = unpacked(jq_warm.kept(f"{part} {name}"))
        if found is None:
            found = read(config, part)
            content = packed(found)
            if content is not None and name == name_of(config):
                jq_warm.keep(f"{part} {name}", content)
        return found

    reader.handle_data = handle_data


def packed(found):
    """What nirs4all has read, as bytes; None for anything else than spectra with reference values that are numbers."""
    import numpy

    if not (isinstance(found, tuple) and len(found) == 7):
        return None
    x, y, metadata, headers, metadata_headers, unit, signal = found
    if not all(type(one) is numpy.ndarray and one.dtype.kind in KINDS and one.dtype.isnative for one in (x, y)):
        return None
    if not all(one.flags.c_contiguous or one.flags.f_contiguous for one in (x, y)):
        return None
    if not (metadata is signal is None and metadata_headers == [] and type(unit) is str and type(headers) is list
            and all(type(name) is str for name in headers)):
        return None
    about = {"headers": headers, "unit": unit, "arrays": [
        # Sums depend on the order in which numbers lie.
        [one.dtype.str, one.shape, "C" if one.flags.c_contiguous else "F", one.flags.writeable] for one in (x, y)]}
    return json.dumps(about).encode() + b"\n" + b"".join(one.tobytes("A") for one in (x, y))


def unpacked(content):
    import numpy

    if content is None:
        return None
    head, _, rest = content.partition(b"\n")
    about = json.loads(head)
    arrays, begin = [], 0
    for kind, shape, order, writeable in about["arrays"]:
        count = int(numpy.prod(shape))
        array = numpy.frombuffer(rest, kind, count, begin).copy().reshape(shape, order=order)
        array.flags.writeable = writeable
        begin += array.nbytes
        arrays.append(array)
    return (*arrays, None, about["headers"], [], about["unit"], None)
