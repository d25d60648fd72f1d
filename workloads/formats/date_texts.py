"""Rewrite dates as programs and spreadsheets write them to ISO 8601."""

import re

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
#: A time of the day, with 12 or 24 hours.
_CLOCK = r"(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d(?:[.,]\d+)?))?(?: ?(?P<half>[AaPp])\.?[Mm]\.?)?"
#: An offset. Abbreviations other than UTC name several zones.
_ZONE = r"(?: ?(?P<zone>Z|UTC|GMT|[+-]\d\d:?\d\d)(?: (?:UTC|GMT))?)?"
_DAY_NAME = r"(?:[A-Za-z]{3,9}\.?,? +)?"
_NAME = r"(?P<name>[A-Za-z]{3,9})\.?"
_FORMS = [
    re.compile(form)
    for form in (
        rf"{_DAY_NAME}{_NAME} +(?P<day>\d{{1,2}}),? +{_CLOCK}{_ZONE} +(?P<year>\d{{4}})",
        rf"{_DAY_NAME}{_NAME} +(?P<day>\d{{1,2}}),? +(?P<year>\d{{4}}),? +{_CLOCK}{_ZONE}",
        rf"{_DAY_NAME}(?P<day>\d{{1,2}})\.?[ /-]{_NAME}[ /-](?P<year>\d{{4}}|\d\d)[ :,]+{_CLOCK}{_ZONE}",
        rf"(?P<first>\d{{1,2}})(?P<between>[-/.])(?P<last>\d{{1,2}})[-/.](?P<year>\d{{4}}|\d\d)[ T,]+{_CLOCK}{_ZONE}",
        rf"(?P<year>\d{{4}})[-/.](?P<month>\d{{1,2}})[-/.](?P<day>\d{{1,2}})[ T,]+{_CLOCK}{_ZONE}",
        r"(?P<year>(?:19|20)\d\d)(?P<month>\d\d)(?P<day>\d\d)(?P<hour>\d\d)(?P<minute>\d\d)(?P<second>\d\d)",
    )
]
#: Years of two digits from this one on are of the last century.
_CENTURY = 70
_NOON = 12


def iso_date(text: str, *, day_first: bool = False) -> str:
    """Return a date in ISO 8601, empty if the text is none.

    Months may be names, and hours those of a clock with a.m. and p.m. Days may stand before months: with dots and with
    names they do, with slashes and hyphens if `day_first`.
    """
    match = next(filter(None, (form.fullmatch(text) for form in _FORMS)), None)
    if match is None:
        return ""
    part = {"half": "", "zone": "", "second": "", **{key: value or "" for key, value in match.groupdict().items()}}
    if "name" in part:
        short = part["name"][:3].lower()
        if short not in _MONTHS:
            return ""
        month, day = str(_MONTHS.index(short) + 1), part["day"]
    elif "first" in part:
        order = (part["first"], part["last"])
        day, month = order if day_first or part["between"] == "." else order[::-1]
    else:
        month, day = part["month"], part["day"]
    year = int(part["year"])
    if len(part["year"]) == len("24"):
        year += 1900 if year >= _CENTURY else 2000
    hour = int(part["hour"])
    if part["half"]:
        if not 1 <= hour <= _NOON:
            return ""
        hour = hour % _NOON + _NOON * (part["half"] in "Pp")
    zone = {"UTC": "Z", "GMT": "Z"}.get(part["zone"], part["zone"])
    second = part["second"].replace(",", ".") or "00"
    return f"{year:04}-{int(month):02}-{int(day):02}T{hour:02}:{part['minute']}:{second}{zone}"
