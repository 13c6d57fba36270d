"""Brings spectra to the axis of a model, by the rules of the runner of mljs (data/axis-match.ts there): as they are, with
their columns in another order, or, where that is asked for, interpolated linearly; never extrapolated."""

import misreadings

# Places that differ by less than this share of a step are the same: programs round them.
ROUNDING = 1e-3


class Refused(Exception):
    """Spectra that do not go with the model."""


def axis_of(names):
    """The axis that the names of columns say; None where one of them says none, or they only number the columns."""
    places = [misreadings.place_of(name) for name in names or []]
    if not places or None in places or misreadings.are_numbered(names):
        return None
    units = [unit for unit in map(misreadings.unit_of, names) if unit]
    return {"values": places, "unit": plain_unit(units[0]) if units else None}


def plain_unit(unit):
    small = unit.lower()
    if small == "nm":
        return "nm"
    return "cm-1" if "cm" in small else "µm"


def shown(value):
    return f"{value:.15g}"


def described(axis, columns):
    values, unit = axis["values"], axis["unit"]
    return f"{shown(values[0])} to {shown(values[-1])}{' ' + unit if unit else ''} ({columns} columns)"


class Alignment:
    """How spectra were brought to the axis of a model: `how`, what a person should know of it, and the spectra."""

    def __init__(self, how, warning, spectra):
        self.how = how
        self.warning = warning
        self.spectra = spectra


def align(model, axis, spectra, source, interpolate):
    """`model` has `axis` and `columns`, each None where it does not say it."""
    import numpy

    columns = spectra.shape[1]
    if not model["axis"] or not axis:
        return unchecked(model, axis, spectra, source, interpolate)
    both = (f"{source}: its spectra lie on {described(axis, columns)}, "
            f"those of the model on {described(model['axis'], len(model['axis']['values']))}")
    wanted, found = (numpy.array(one["values"]) for one in (model["axis"], axis))
    units = (model["axis"]["unit"], axis["unit"])
    if None not in units and units[0] != units[1]:
        raise Refused(f"{both}; spectra of another unit are not converted")
    order = match(wanted, found)
    if order is not None:
        if (order == numpy.arange(len(order))).all():
            return Alignment("same", None, spectra)
        return Alignment("reordered", f"{source}: its columns stand in another order than those of the model, and were "
                                      "put into that", spectra[:, order])
    differs = ""
    if len(wanted) == len(found) and wanted[0] == found[0] and wanted[-1] == found[-1]:
        place = int((wanted != found).argmax())
        differs = f", and column {place + 1} is {shown(found[place])} instead of {shown(wanted[place])}"
    reason = why_not_interpolated(wanted, found, axis["unit"])
    if reason:
        raise Refused(f"{both}{differs}; {reason}")
    if not interpolate:
        raise Refused(f"{both}{differs}; with params.interpolate: true (--interpolate) they are interpolated")
    way = 1 if found[-1] > found[0] else -1
    drawn = numpy.array([numpy.interp(wanted, found[::way], row[::way]) for row in spectra])
    return Alignment("interpolated", f"{both}; they were interpolated", drawn.astype(spectra.dtype))


def unchecked(model, axis, spectra, source, interpolate):
    """Where only one side says its axis, or neither, as many columns are taken for the same, and that is told."""
    columns = spectra.shape[1]
    if model["columns"] is None:
        return Alignment("unchecked", f"{source}: the model does not say which spectra it was made of; they were taken "
                                      "for the same", spectra)
    found = f"lie on {described(axis, columns)}" if axis else f"have {columns} columns without wavelengths"
    expected = (f"those of the model lie on {described(model['axis'], model['columns'])}" if model["axis"]
                else f"those of the model had {model['columns']} columns without wavelengths")
    both = f"{source}: its spectra {found}, {expected}"
    if model["columns"] != columns:
        raise Refused(both)
    if interpolate:
        raise Refused(f"{both}; without both axes nothing can be interpolated")
    known = model["axis"] or axis
    return Alignment("unchecked", f"{both}; they were taken for the same" if known else None, spectra)


def match(wanted, found):
    """For each place of the model, the column of the data that lies there; None unless each has one and all are taken."""
    import numpy

    if len(wanted) != len(found):
        return None
    ours, theirs = wanted.argsort(kind="stable"), found.argsort(kind="stable")
    gaps = numpy.concatenate(([numpy.inf], numpy.diff(wanted[ours]), [numpy.inf]))
    steps = numpy.minimum(gaps[:-1], gaps[1:])
    steps[~numpy.isfinite(steps)] = 0
    if (abs(found[theirs] - wanted[ours]) > steps * ROUNDING).any():
        return None
    order = numpy.empty(len(wanted), dtype=int)
    order[ours] = theirs
    # What stands twice can be told apart by nothing but its place.
    is_plain = len(set(wanted.tolist())) == len(wanted) or (order == numpy.arange(len(order))).all()
    return order if is_plain else None


def why_not_interpolated(wanted, found, unit):
    import numpy

    steps = numpy.diff(found)
    if len(found) < 2 or not ((steps > 0).all() or (steps < 0).all()):
        return "an axis in no order cannot be interpolated"
    if wanted.min() >= found.min() and wanted.max() <= found.max():
        return None
    end = found.min() if wanted.min() < found.min() else found.max()
    return f"they cannot be interpolated beyond their end at {shown(end)}{' ' + unit if unit else ''}"
