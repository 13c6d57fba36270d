"""Keeps the spectra of a dataset for a picture, as they were read and as the selected model's steps before it made them;
docs/runners.md says how the files look. Which samples and columns are kept goes by the rules of the runner of mljs
(spectra.ts there)."""

import json
import os

import axes
import jq_warm
import predicting

RAW = "spectra.json"
PREPROCESSED = "preprocessed.json"
MOST_SAMPLES = 200
MOST_POINTS = 250
# Digits of what was computed; those of the file stand as they are.
DIGITS = 6


class Kept:
    """Those of the samples that are kept, with all columns: a row of numbers each, those for training first."""

    def __init__(self, rows, partitions, numbers, total, columns):
        self.rows = rows
        self.partitions = partitions
        self.numbers = numbers
        self.total = total
        self.columns = columns


def kept_of(looked):
    """None where what was read of the dataset so far does not tell its spectra: reading it once more would cost too much."""
    parts = parts_of(looked)
    if not parts:
        return None
    total = sum(len(rows) for _, rows, _ in parts)
    count = min(MOST_SAMPLES, total)
    wanted = [k * total // count for k in range(count)]
    kept, partitions, start = [], [], 0
    for partition, rows, number in parts:
        for place in wanted:
            if start <= place < start + len(rows):
                kept.append([number(cell) for cell in rows[place - start]])
                partitions.append(partition)
        start += len(rows)
    width = len(kept[0])
    if any(len(row) != width or None in row for row in kept):
        return None
    columns = looked.columns if looked.columns and len(looked.columns) == width else None
    names = looked.names or [str(place + 1) for place in range(total)]
    return Kept(kept, partitions, [names[place] for place in wanted], total, columns)


def parts_of(looked):
    """Partition, rows and what makes a number of a cell of each table of spectra."""
    if looked.dataset is not None:
        found = [(part, looked.dataset.x({"partition": part}, layout="2d")) for part in predicting.PARTITIONS]
        return [(part, rows, to_number) for part, rows in found if len(rows)]
    # What nirs4all does with a gap may move the numbers of the samples behind it.
    if not looked.whole or any(table.has_gaps() for table in looked.tables.values()):
        return None
    tables = [(part, looked.tables[f"{part}_x"]) for part in predicting.PARTITIONS if f"{part}_x" in looked.tables]
    return [(part, table.rows, table.number) for part, table in tables if table.rows]


def to_number(value):
    """As few digits as tell it from its neighbours: nirs4all keeps floats of 32 bits."""
    return float(str(value))


def write(looked, model, output_dir):
    """`model` is what was exported, or None."""
    steps = predicting.estimators_in(model)[:-1] if model else []
    raw = jq_warm.kept(f"spectra {looked.kept_as}") if looked.kept_as else None
    if raw is not None:
        save(output_dir / RAW, raw)
        if not steps:
            return
    kept = kept_of(looked)
    if kept is None:
        return
    width = len(kept.rows[0])
    places = range(0, width, -(-width // MOST_POINTS))
    if raw is None:
        raw = file_of(kept, places, [], kept.rows, repr)
        save(output_dir / RAW, raw)
        if looked.kept_as:
            jq_warm.keep(f"spectra {looked.kept_as}", raw)
    if not steps:
        return
    import numpy

    made = numpy.asarray(kept.rows, dtype="float32")
    for _, step in steps:
        made = step.transform(made)
    made = numpy.asarray(made)
    # Several spectra side by side, or something else than spectra, have no place on their axis.
    if made.shape == (len(kept.rows), width) and numpy.isfinite(made).all():
        words = [predicting.words_of(step) for _, step in steps]
        save(output_dir / PREPROCESSED, file_of(kept, places, words, made.tolist(), f"{{:.{DIGITS}g}}".format))


def file_of(kept, places, steps, rows, written):
    axis = axes.axis_of(kept.columns)
    about = {
        "steps": steps,
        "samples": {"of": kept.total, "names": kept.numbers, "partitions": kept.partitions},
        "axis": {
            "unit": axis["unit"] if axis else "column",
            "of": len(kept.rows[0]),
            "values": [axis["values"][place] if axis else place + 1 for place in places],
        },
    }
    lines = ["[" + ",".join([written(row[place]) for place in places]) + "]" for row in rows]
    text = json.dumps(about, ensure_ascii=False, separators=(",", ":"))[:-1]
    return (text + ',"values":[\n' + ",\n".join(lines) + "\n]}\n").encode()


def save(path, content):
    draft = path.with_name(f"{path.name}.tmp")
    draft.write_bytes(content)
    os.replace(draft, path)
