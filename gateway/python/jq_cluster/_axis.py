"""Whether spectra in memory go with a model, as far as that can be told before they are sent."""

from __future__ import annotations

import re
from typing import Any, List, Mapping, Optional, Sequence

from ._errors import InputError

#: A column that is a place on the axis of a spectrum, such as `900`, `900 nm` or `X900`.
PLACE = re.compile(
    r"(?:wavelength|wavenumber|wl|wn|nm|x|v|w)?[\s_.]*([+-]?\d+(?:[.,]\d+)?)[\s_.]*(nm|µm|μm|um|cm-1|cm\^-1|cm⁻¹|1/cm)?$",
    re.IGNORECASE,
)
#: From here on whole numbers in steps of one may be wavelengths; below, they count columns.
_LEAST_COUNTED_PLACE = 100
#: Two places that differ by less than this share of their distance are the same.
_ROUNDING = 1e-3


def assert_fits(about: Mapping[str, Any], header: Sequence[str], interpolate: bool) -> None:
    """Raises `InputError` where a model that says so of itself would refuse spectra with these columns.

    What is left to doubt is the runner's to judge.
    """
    columns, axis = about.get("columns"), about.get("axis") or {}
    wanted, found = axis.get("values"), places_of(header)
    if isinstance(wanted, list) and wanted and found:
        units = (axis.get("unit"), unit_of(header))
        both = f"the spectra lie on {_span(found, units[1])}, those of the model on {_span(wanted, units[0])}"
        if None not in units and units[0] != units[1]:
            raise InputError(f"{both}; spectra of another unit are not converted")
        if _are_same(sorted(wanted), sorted(found)):
            return
        if min(wanted) < min(found) or max(wanted) > max(found):
            raise InputError(f"{both}; they cannot be interpolated beyond their ends")
        if not interpolate:
            raise InputError(f"{both}; interpolate=True interpolates them")
    elif isinstance(columns, int) and columns != len(header):
        known = f" ({_span(wanted, axis.get('unit'))})" if isinstance(wanted, list) and wanted else ""
        raise InputError(f"the spectra have {len(header)} columns, and those of the model had {columns}{known}")


def places_of(header: Sequence[str]) -> Optional[List[float]]:
    """The axis that columns are named by; None where one of them says no place, or they are only numbered."""
    found = [PLACE.match(name.strip()) for name in header]
    places = [float(one[1].replace(",", ".")) for one in found if one]
    if len(places) < len(header) or not places:
        return None
    first = places[0]
    counts = abs(first) < _LEAST_COUNTED_PLACE and places == [first + i for i in range(len(places))]
    numbered = counts or all(re.match(r"v[\s_.]*\d+$", name.strip(), re.IGNORECASE) for name in header)
    return None if numbered and not any(one and one[2] for one in found) else places


def _are_same(wanted: Sequence[float], found: Sequence[float]) -> bool:
    step = abs(wanted[-1] - wanted[0]) / max(1, len(wanted) - 1)
    return len(wanted) == len(found) and all(abs(a - b) <= step * _ROUNDING for a, b in zip(wanted, found))


def unit_of(header: Sequence[str]) -> Optional[str]:
    """The unit that the names of columns say, as models have it: `nm`, `µm` or `cm-1`."""
    units = [one[2].lower() for one in (PLACE.match(name.strip()) for name in header) if one and one[2]]
    if not units:
        return None
    return "nm" if units[0] == "nm" else "cm-1" if "cm" in units[0] else "µm"


def with_unit(header: Sequence[str], unit: str) -> List[str]:
    """The names of columns with a unit behind each. Raises `InputError` where they are no places, or say another unit."""
    if not unit_of([f"1 {unit}"]):
        raise InputError(f"unit is {unit!r}, and may be nm, µm or cm-1")
    if any(PLACE.match(name.strip()) is None for name in header):
        raise InputError(f"unit is {unit!r}, and the columns of the spectra are no places; name those with axis=…")
    if unit_of(header) not in (None, unit_of([f"1 {unit}"])):
        raise InputError(f"unit is {unit!r}, and the columns of the spectra are named in {unit_of(header)}")
    return [name if unit_of([name]) else f"{name} {unit}" for name in header]


def _span(places: Sequence[float], unit: Optional[str]) -> str:
    return f"{places[0]:.15g} to {places[-1]:.15g}{f' {unit}' if unit else ''}, {len(places)} columns"
