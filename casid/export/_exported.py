"""The JSON beside exported C code: names and shapes, and whether they are those of the code."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from casid.codegen import Function, check_identifier, linked
from casid.errors import ExportError
from casid.files import Table, data_limit, near, read_json, read_text, shown

#: Rows and columns of an argument; those of inputs and of outputs by name.
Shape = tuple[int, int]
Shapes = tuple[dict[str, Shape], dict[str, Shape]]
#: Most functions and arguments, and entries of an argument.
_MOST, _LARGEST = 1000, 10**7


class _Table(Table):
    error = ExportError


def read_manifest(path: Path) -> tuple[str, dict[str, Shapes]]:
    """Beginning of all C names of an exported folder, and the shapes of its functions by name.

    Raises
    ------
    ExportError
        If the file is no manifest.
    """
    content = read_json(path, "manifest", ExportError)
    if not isinstance(content, dict):
        raise ExportError(f"{path.name}: it is no manifest of an export")
    table = _Table(content, path.name, ("prefix", "batched", "functions"))
    table.require("prefix", "functions")
    prefix = check_identifier(table.text("prefix"), "prefix")
    functions = table.table("functions", content["functions"])
    assert functions is not None
    if not functions.data or len(functions.data) > _MOST:
        table.fail(f"key 'functions': expected 1 to {_MOST} functions, got {len(functions.data)}")
    return prefix, {name: _shapes(functions, name) for name in functions.data}


def _check(prefix: str, functions: Mapping[str, Shapes], header: str, source: str) -> None:
    """Compare with the declarations of the C code: calling it with other shapes would write beside the arrays.

    Raises
    ------
    ExportError
        Naming the function that differs.
    """
    plain, code = " ".join(header.split()), " ".join(source.split())
    for name, (inputs, outputs) in functions.items():
        arguments = [f"const double {key}[{rows * columns}]" for key, (rows, columns) in inputs.items()]
        arguments += [f"double {key}[{rows * columns}]" for key, (rows, columns) in outputs.items()]
        declaration = f"int {prefix}_{name}({', '.join(arguments)})"
        if f"{declaration};" not in plain or not re.search(re.escape(declaration) + r"\s*\{", code):
            raise ExportError(f"function {shown(name)} has other arguments in the C code than in its .json")


def _shapes(functions: _Table, name: str) -> Shapes:
    check_identifier(name, "function")
    table = functions.table(name, ("inputs", "outputs", "operations"))
    assert table is not None
    table.require("inputs", "outputs")
    inputs, outputs = (_arguments(table, side) for side in ("inputs", "outputs"))
    if not outputs or inputs.keys() & outputs.keys():
        table.fail("expected outputs, with other names than the inputs")
    return inputs, outputs


def _arguments(table: _Table, side: str) -> dict[str, Shape]:
    found: dict[str, Shape] = {}
    entries: list[dict[str, Any]] = table.tables(side)
    for number, entry in enumerate(entries[:_MOST], start=1):
        argument = _Table(entry, f"{table.where}: {side} {number}", ("name", "rows", "columns"))
        argument.require("name", "rows", "columns")
        name = check_identifier(argument.text("name"), "argument")
        if name in found:
            argument.fail(f"the name {shown(name)} is given twice")
        shape = argument.integer("rows", upper=_LARGEST), argument.integer("columns", upper=_LARGEST)
        if shape[0] * shape[1] > _LARGEST:
            argument.fail(f"{shape[0]} x {shape[1]} entries are too many")
        found[name] = shape
    return found


class LoadedLibrary(dict[str, Function]):
    """The functions of an exported folder by name, also as attributes: objects as those of a `casid.Model`.

    They have no graph: no derivatives, hence neither ``external`` nor ``jax``; export derivatives as functions.
    """

    def __getattr__(self, name: str) -> Function:
        if name in self:
            return self[name]
        raise AttributeError(f"no function '{name}'{near(name, self) or ';'} known: {', '.join(self)}")


def load(directory: str | Path) -> LoadedLibrary:
    """Compile the C code of an exported folder, unless the cache has it, and load it.

    Raises
    ------
    ExportError
        If the folder holds no export, there is no compiler, or compiling fails.
    """
    folder = Path(directory)
    trouble = ""
    for path in sorted(folder.glob("*.json")):
        try:
            prefix, shapes = read_manifest(path)
            header = read_text(folder / f"{prefix}.h", "header", ExportError)
            source = read_text(folder / f"{prefix}.c", "source", ExportError, data_limit())
            _check(prefix, shapes, header, source)
        except ExportError as error:
            trouble = trouble or f": {error}"
            continue
        code = source.replace(f'#include "{prefix}.h"', header)
        functions = {name: (f"{prefix}_{name}", *sides) for name, sides in shapes.items()}
        return LoadedLibrary(linked(code, prefix, functions))
    raise ExportError(f"folder '{folder}' holds no export of casid (C files and their .json){trouble}")
