"""Files of parameters: one writer, and one reader for everything that casid writes.

Written is either CSV with a row a parameter (columns ``parameter, value, link``) or JSON with an object ``parameters``
(names and values) and the list ``links``. Read are these, CSV with a row a link (columns ``Lxx ... m``), the JSON files
of a solution or an identification, a JSON object of names and values, and, for numbers without names, a JSON list or an
``.npy`` file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from casid.errors import DatasetError
from casid.files import (
    CsvTable,
    csv_bytes,
    csv_table,
    finite_number,
    json_bytes,
    npy_array,
    number_list,
    numeric_array,
    parse_json,
    read_bytes,
    read_text,
    write_files,
)
from casid.inertia._parameters import STANDARD_NAMES, HasParameterNames, Parameters, standard_names

_WHAT = "parameter file"


def parameter_record(parameters: Parameters) -> dict[str, Any]:
    """Content of a JSON file of parameters: ``parameters`` and ``links``."""
    return {"parameters": parameters.to_dict(), "links": list(parameters.link_names)}


def parameter_csv(parameters: Parameters) -> bytes:
    """CSV with the columns ``parameter, value, link``; no link for terms."""
    names = standard_names(parameters.n)
    link_of = dict(zip(names, np.repeat(parameters.link_names, len(STANDARD_NAMES)).tolist(), strict=True))
    rows = [[name, value, link_of.get(name, "")] for name, value in parameters.to_dict().items()]
    return csv_bytes(["parameter", "value", "link"], rows)


def write_parameters(path: str | Path, parameters: Parameters) -> Path:
    """Write parameters to a ``.csv`` or ``.json`` file; `read_parameters` gives back the same, to the last bit.

    Raises
    ------
    DatasetError
        For another ending.
    ExportError
        If the file cannot be written; then nothing has changed.
    """
    path = Path(path)
    ending = path.suffix.lower()
    if ending not in (".csv", ".json"):
        raise DatasetError(f"parameters are written as .csv or .json, not as '{path.name}'")
    content = parameter_csv(parameters) if ending == ".csv" else json_bytes(parameter_record(parameters))
    return write_files(path.parent, {path.name: content})[0]


def read_parameters(path: str | Path, order: HasParameterNames | Sequence[str] | None = None) -> Parameters:
    """Parameters from a file, see this module's first lines.

    Parameters
    ----------
    path
        ``.csv``, ``.json`` or ``.npy``.
    order
        Of numbers without names: a model, or names. Default: standard parameters, ten a link.

    Raises
    ------
    DatasetError
        If the file cannot be read, is none of these, or its values are not the parameters of whole links.
    """
    path = Path(path)
    reader = {".csv": _from_csv, ".json": _from_json, ".npy": _from_npy}.get(path.suffix.lower())
    if reader is None:
        raise DatasetError(f"{_WHAT} '{path}': expected a .csv, .json or .npy file")
    where = f"{_WHAT} '{path}'"
    named, links = reader(path, where, order)
    try:
        return Parameters(tuple(named), np.array(list(named.values()), dtype=float), links)
    except DatasetError as error:
        raise DatasetError(f"{where}: {error}") from None


_Named = tuple[dict[str, float], tuple[str, ...]]


def _from_npy(path: Path, where: str, order: HasParameterNames | Sequence[str] | None) -> _Named:
    content = npy_array(read_bytes(path, _WHAT, DatasetError), where, DatasetError)
    return _nameless(content, where, order), ()


def _from_json(path: Path, where: str, order: HasParameterNames | Sequence[str] | None) -> _Named:
    content = parse_json(read_text(path, _WHAT, DatasetError), where, DatasetError)
    links: Any = ()
    if isinstance(content, Mapping):
        links = content.get("links", ())
        content = content.get("parameters", content)
    if isinstance(content, list):
        return _nameless(content, where, order), ()
    if not isinstance(content, Mapping) or not content:
        raise DatasetError(f"{where}: expected names and values of parameters, under the key 'parameters'")
    named = {str(key): finite_number(value, f"{where}: '{key}'", DatasetError) for key, value in content.items()}
    return named, tuple(links) if isinstance(links, list) and all(isinstance(name, str) for name in links) else ()


def _nameless(values: Any, where: str, order: HasParameterNames | Sequence[str] | None) -> dict[str, float]:
    numbers = numeric_array(values, where, DatasetError, finite=True)
    if order is None:
        names = standard_names(len(numbers) // len(STANDARD_NAMES)) if numbers.ndim == 1 else ()
    else:
        names = tuple(order) if isinstance(order, Sequence) else order.parameter_names
    standard = tuple(name for name in names if name in set(standard_names(len(names) // len(STANDARD_NAMES))))
    names = standard if numbers.shape == (len(standard),) else names
    if numbers.shape != (len(names),) or not names:
        raise DatasetError(
            f"{where}: numbers without names, shape {numbers.shape}; expected {len(names) or 'ten a link'}; use a "
            ".csv or .json file with names"
        )
    return dict(zip(names, numbers.tolist(), strict=True))


def _from_csv(path: Path, where: str, order: HasParameterNames | Sequence[str] | None) -> _Named:
    text = read_text(path, _WHAT, DatasetError)
    lines = (line for line in text.splitlines() if line.strip() and not line.startswith("#"))
    table = csv_table("\n".join(lines), where, DatasetError)
    plain = [name.split(" [")[0] for name in table.header]
    if set(STANDARD_NAMES) <= set(plain):
        return _link_by_link(table, plain, where)
    lower = [name.lower() for name in plain]
    name = next((lower.index(key) for key in ("parameter", "name") if key in lower), None)
    rows = table.rows(where, DatasetError)
    if name is None or "value" not in lower:
        if len(plain) != 2:
            raise DatasetError(f"{where}: expected the columns 'parameter' and 'value', got {', '.join(plain[:6])}")
        name, value = 0, 1
        rows = [list(table.header), *rows] if number_list(table.header[1:]) else rows
    else:
        value = lower.index("value")
    named: dict[str, float] = {}
    for row in rows:
        if row[name] in named:
            raise DatasetError(f"{where}: parameter '{row[name]}' appears twice")
        named[row[name]] = _number(row[value], f"{where}: '{row[name]}'")
    link = lower.index("link") if "link" in lower else None
    masses = {row[name]: row[link] for row in rows if row[name].startswith("m")} if link is not None else {}
    found = [masses[f"m{k + 1}"] for k in range(len(masses)) if f"m{k + 1}" in masses]
    return named, tuple(found) if all(found) else ()


def _link_by_link(table: CsvTable, columns: list[str], where: str) -> _Named:
    at = [columns.index(name) for name in STANDARD_NAMES]
    rows = table.rows(where, DatasetError)
    named = {
        f"{symbol}{k + 1}": _number(row[column], f"{where}: row {k + 1}, '{symbol}'")
        for k, row in enumerate(rows)
        for symbol, column in zip(STANDARD_NAMES, at, strict=True)
    }
    return named, tuple(row[columns.index("link")] for row in rows) if "link" in columns else ()


def _number(text: str, where: str) -> float:
    value = number_list([text])
    if value is None:
        raise DatasetError(f"{where}: expected a number, got '{text[:40]}'")
    return finite_number(value[0], where, DatasetError)
