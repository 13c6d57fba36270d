"""Finds what nirs4all's readers would take without a word though it cannot be meant.

nirs4all takes the first row for the header whatever it holds, every column of a file of spectra for a wavelength,
every column of a file of reference values for a target, and rows by their order. The rules of what cannot be meant
are those of the runner of `mljs.run`, which then reads such tables (handover.py).
"""

import csv
import re
from pathlib import Path

# A column name that is a place on an axis, such as `900`, `900 nm` or `X900`.
PLACE = re.compile(r"(?:wavelength|wavenumber|wl|wn|nm|x|v|w)?[\s_.]*([+-]?\d+(?:[.,]\d+)?)[\s_.]*"
                   r"(nm|µm|μm|um|cm-1|cm\^-1|cm⁻¹|1/cm)?$", re.IGNORECASE)
ID_NAME = re.compile(r"(#|ids?|index|no\.?|nr\.?|row|row ?names?|samples?|name|code|barcode|unnamed: ?\d+|proben?|muster|"
                     r"(sample|row|spectrum|scan|lab|proben?)[ _.-]*(ids?|nr|no|#|names?|num(ber|mer)?|code))$",
                     re.IGNORECASE)
# What a reader of CSV has to be told; anything else is the reader's own.
USUAL = {"delimiter": ";", "decimal_separator": ".", "has_header": True, "encoding": "utf-8", "skiprows": 0}


# From here on whole numbers in steps of one may be wavelengths; below, they count.
LEAST_COUNTED_PLACE = 100
# In a description, what says of which samples and columns a dataset is made.
PART = re.compile(r"(train|test)_[xy](_filter)?")
# What stands where nothing was measured, as readers of CSV take it.
GAPS = {"", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "none", "?", "-"}


class Misread(Exception):
    """What a dataset was read as cannot be meant."""


class Table:
    """A file as nirs4all cuts it into cells."""

    def __init__(self, path, params):
        told = {**USUAL, **params}
        self.name = Path(path).name
        self.mark = told["decimal_separator"]
        lines = text_of(path, told["encoding"])[told["skiprows"]:]
        rows = [row for row in csv.reader(lines, delimiter=told["delimiter"]) if any(row)]
        rows = [[cell.strip() for cell in row] for row in rows]
        self.header = rows[0] if told["has_header"] and rows else None
        self.rows = rows[1:] if self.header else rows

    def number(self, cell):
        try:
            return float(cell.replace(self.mark, ".") if self.mark != "." else cell)
        except ValueError:
            return None

    def column(self, place):
        return [row[place] for row in self.rows if place < len(row)]

    def called(self, place):
        return f'column {place + 1} ("{self.header[place]}")'

    def has_gaps(self):
        return not all(GAPS.isdisjoint(row) for row in self.rows)

    def is_plain(self, spectra):
        """Whether nirs4all takes each cell for what it is: rows as long as the header, no gaps, and numbers in spectra."""
        if self.header is None or any(len(row) != len(self.header) for row in self.rows) or self.has_gaps():
            return False
        try:
            for row in self.rows if spectra else ():
                for cell in row:
                    float(cell.replace(self.mark, ".") if self.mark != "." else cell)
        except ValueError:
            return False
        return True

    def tells_rows_apart(self, place):
        """Whether a column numbers or names the samples: by its name, or because it counts the rows."""
        cells = self.column(place)
        if len(set(cells)) != len(cells) or len(cells) < 2:
            return False
        name = self.header[place]
        if name == "" or ID_NAME.match(name):
            return True
        numbers = [self.number(cell) for cell in cells]
        counts = numbers[0] in (0, 1) and all(value == numbers[0] + i for i, value in enumerate(numbers))
        return counts and place_of(name) is None


def text_of(path, encoding):
    try:
        with open(path, encoding=encoding, newline="") as file:
            text = file.read()
    except UnicodeDecodeError:
        with open(path, encoding="latin-1", newline="") as file:
            text = file.read()
    return text.removeprefix("\ufeff").splitlines()


def are_numbered(names):
    """Whether names of columns only number them, as `V1`, `V2` … of R do: numbers without a unit that count."""
    places = [place_of(name) for name in names]
    if len(names) < 2 or None in places or any(unit_of(name) for name in names):
        return False
    if all(re.fullmatch(r"v[\s_.]*\d+", name.strip(), re.IGNORECASE) for name in names):
        return True
    first = places[0]
    return first == int(first) and abs(first) < LEAST_COUNTED_PLACE and places == [first + i for i in range(len(places))]


def place_of(name):
    found = PLACE.match(name.strip())
    return float(found[1].replace(",", ".")) if found else None


def unit_of(name):
    """The unit that the name of a column ends with, or None."""
    found = PLACE.match(name.strip())
    return found[2] if found else None


def rises(values):
    """Whether values only rise or only fall."""
    pairs = list(zip(values, values[1:]))
    return bool(pairs) and (all(a < b for a, b in pairs) or all(a > b for a, b in pairs))


def is_even(values):
    step = (values[-1] - values[0]) / (len(values) - 1)
    return all(abs(value - values[0] - i * step) < abs(step) / 100 for i, value in enumerate(values))


def look_at_spectra(table):
    header, name = table.header, table.name
    if header is None or len(header) < 2 or not table.rows:
        return
    places = [place_of(cell) for cell in header]
    named = sum(place is not None for place in places)
    for column in range(len(header)):
        # Beside wavelengths, or where it tells that by itself.
        beside = named * 2 >= len(header) - 1 and places[column] is None
        if (beside or named == 0) and table.tells_rows_apart(column):
            raise Misread(f"{name}: {table.called(column)} tells the samples apart, and nirs4all would take it for "
                          "a wavelength; delete the column")
    numbers = [table.number(cell) for cell in header]
    if None in numbers:
        return
    below = [[table.number(cell) for cell in row] for row in table.rows]
    below = [[value for value in row if value is not None] for row in below]
    low, high = min(min(row, default=0) for row in below), max(max(row, default=0) for row in below)
    if rises(numbers):
        within = min(numbers) <= high and max(numbers) >= low
        if not within or is_even(numbers) or sum(map(rises, below)) * 2 < len(below):
            return
    elif min(numbers) > high or max(numbers) < low:
        return
    raise Misread(f'{name}: the first row ("{header[0]}", "{header[1]}" …) is a spectrum like the others, and nirs4all '
                  "would take it for the header; write a row of wavelengths above it")


def look_at_values(table):
    header, name = table.header, table.name
    if header is None or not table.rows:
        return []
    others = [column for column in range(len(header)) if not (len(header) > 1 and table.tells_rows_apart(column))]
    for column in range(len(header)):
        if column not in others:
            raise Misread(f"{name}: {table.called(column)} tells the samples apart, and nirs4all would predict it; "
                          "delete the column, with rows in the order of the spectra")
    first = [table.number(cell) for cell in header]
    if None not in first:
        body = [value for cell in table.column(0) if (value := table.number(cell)) is not None]
        # pandas writes 0 or 1 above a column without a name.
        if body and (first[0] not in (0, 1) or min(body) <= first[0] <= max(body)):
            raise Misread(f'{name}: the first row, "{header[0]}", is a number like the others, and nirs4all would take it '
                          "for the header; write the name of the reference value above it")
    if len(others) > 1:
        names = ", ".join(header[column] for column in others)
        return [f"{name}: {len(others)} reference values are predicted together: {names}"]
    return []


def same_axis(train, test):
    if train.header is None or test.header is None or len(train.header) != len(test.header):
        return
    for one, other in zip(train.header, test.header):
        if place_of(one) is not None and place_of(other) is not None and place_of(one) != place_of(other):
            raise Misread(f'"{other}" in {test.name} stands where {train.name} has "{one}"')


class Looked:
    """What is there to say of a dataset that can be meant."""

    # A name for what follows from its tables alone, where that is kept for other tasks (reading.py).
    kept_as = None

    def __init__(self, warnings, tables, whole, names=None):
        # Of all samples, those for training first; None where they are only numbered.
        self.names = names
        # By partition and kind, such as `train_x`; whether they are all that the dataset is made of.
        self.tables = tables
        self.whole = whole
        self._plain = None
        # As nirs4all has read it, once something asked for that.
        self.dataset = None
        spectra, values = tables.get("train_x"), tables.get("train_y")
        self.warnings = warnings
        self.targets = (values.header if values else None) or []
        # The names of the columns of spectra, and how many there are for training; None where that cannot be seen here.
        self.columns = spectra.header if spectra else None
        self.samples = len(spectra.rows) if spectra else None

    def is_plain(self):
        """Whether nirs4all reads these tables as they are meant."""
        if self._plain is None:
            self._plain = self._looks_plain()
        return self._plain

    def _looks_plain(self):
        rows = {key: len(table.rows) for key, table in self.tables.items()}
        pairs = [(rows[key], rows.get(f"{key[:-1]}y")) for key in rows if key.endswith("_x")]
        return all(x == y for x, y in pairs) and all(
            table.is_plain(spectra=key.endswith("_x")) for key, table in self.tables.items())


def look_at(argument):
    """Looks at a dataset as nirs4all takes it. Only its CSV files are looked at.

    Raises Misread where what nirs4all would read cannot be meant.
    """
    config = config_of(argument)
    tables, warnings = tables_in(config), []
    for key, table in tables.items():
        warnings += (look_at_spectra if key.endswith("_x") else look_at_values)(table) or []
    if "train_x" in tables and "test_x" in tables:
        same_axis(tables["train_x"], tables["test_x"])
    return Looked(warnings, tables, is_whole(config, tables))


def known(argument, warnings, names):
    """The same of tables that were written here, in which nothing is to be found."""
    config = config_of(argument)
    tables = tables_in(config)
    return Looked(warnings, tables, is_whole(config, tables), names)


def files_in(argument, path):
    """What of a folder the other reader is to take: its files as nirs4all has found them, or the path where it has found none.

    None where only nirs4all understands what is there: several sources, metadata, folds, archives.
    """
    config = config_of(argument, missing={})
    parts = {key: config[key] for key in config if PART.fullmatch(key) and config[key]}
    if not is_simple(config):
        return None
    sets = {part: {key[-1]: file for key, file in parts.items() if key.startswith(part)} for part in ("train", "test")}
    if set(sets["train"]) != {"x", "y"}:
        return str(path)
    # Test samples without reference values are nirs4all's to judge.
    return None if len(sets["test"]) == 1 else {"train": sets["train"], "test": sets["test"] or None}


def is_simple(config):
    """Whether a folder holds no more than tables of spectra and of reference values."""
    more = any(config.get(key) for key in ("train_group", "test_group", "folds"))
    return not more and all(isinstance(file, str) and Path(file).suffix.lower() == ".csv"
                            for key, file in config.items() if PART.fullmatch(key) and file)


def config_of(argument, missing=None):
    """What nirs4all finds; `missing`, where that is given, in place of the error that there is nothing."""
    from nirs4all.data.config_parser import parse_config

    try:
        return parse_config(argument)[0] or {}
    except ValueError:
        if missing is None:
            raise
        return missing


def tables_in(config):
    tables = {}
    for key in ("train_x", "test_x", "train_y", "test_y"):
        path = config.get(key)
        if isinstance(path, str) and Path(path).suffix.lower() == ".csv" and Path(path).is_file():
            tables[key] = Table(path, params_of(config, key))
    return tables


def is_whole(config, tables):
    """Whether the tables are all that a dataset is made of."""
    return set(tables) == {key for key in config if PART.fullmatch(key) and config[key]}


def params_of(config, key):
    """Those of the file above those of its partition above those of all."""
    merged = {name: config[name] for name in USUAL if name in config}
    for params in (config.get("global_params"), config.get(f"{key.split('_')[0]}_params"), config.get(f"{key}_params")):
        merged.update(params or {})
    return merged
