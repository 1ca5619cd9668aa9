"""TOML, in linear time whatever the text."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from casid.errors import CasidError
from casid.files.limits import read_text
from casid.files.words import reason

if sys.version_info >= (3, 11):
    import tomllib
else:  # pragma: no cover
    import tomli as tomllib

#: Largest TOML file [bytes], and most parts of a dotted key or levels of brackets: parsers take quadratic time in them.
_LIMIT, _DEPTH = 8 * 2**20, 100
_BREAKS = str.maketrans(dict.fromkeys(",={}[]\"'#", "\n") | dict.fromkeys(" \t"))


def read_toml(path: str | Path, what: str, error: type[CasidError]) -> dict[str, Any]:
    """Content of a TOML file; see `parse_toml`."""
    return parse_toml(read_text(path, what, error, _LIMIT), Path(path).name, error)


def parse_toml(text: str, where: str, error: type[CasidError]) -> dict[str, Any]:
    """Plain values of a TOML text; ``where`` names its file.

    Raises
    ------
    CasidError
        Of the class ``error`` if it is not TOML, or keys or brackets are nested more than 100 deep.
    """
    dotted = max((word.count(".") for word in text.translate(_BREAKS).split("\n") if len(word) > _DEPTH), default=0)
    if dotted > _DEPTH or "[" * _DEPTH in text or text.count('".') + text.count("'.") > 100 * _DEPTH:
        raise error(f"{where}: not valid TOML: keys or arrays are nested more than {_DEPTH} deep")
    try:
        values: dict[str, Any] = tomllib.loads(text)
    except (ValueError, RecursionError, MemoryError, OverflowError, TypeError) as problem:
        raise error(f"{where}: not valid TOML: {reason(problem)}") from None
    return values
