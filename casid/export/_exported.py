"""The JSON beside exported C code: names and shapes, and whether they are those of the code."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import Array
from casid.codegen import check_identifier, compile_shared, load_library
from casid.errors import DatasetError, ExportError
from casid.files import Table, data_limit, read_json, read_text, reason, shown

#: Rows and columns of an argument.
Shape = tuple[int, int]
#: Most functions and arguments, and entries of an argument.
_MOST, _LARGEST = 1000, 10**7


class _Table(Table):
    error = ExportError


@dataclass(frozen=True)
class Manifest:
    """Content of the manifest of an exported folder.

    Attributes
    ----------
    prefix : str
        Beginning of all C names.
    functions : mapping of str to (mapping, mapping)
        Shapes of inputs and outputs by name.
    """

    prefix: str
    functions: Mapping[str, tuple[Mapping[str, Shape], Mapping[str, Shape]]]

    def check(self, header: str, source: str) -> None:
        """Compare with the declarations of the C code: calling it with other shapes would write beside the arrays.

        Raises
        ------
        ExportError
            Naming the function that differs.
        """
        plain, code = " ".join(header.split()), " ".join(source.split())
        for name, (inputs, outputs) in self.functions.items():
            arguments = [f"const double {key}[{rows * columns}]" for key, (rows, columns) in inputs.items()]
            arguments += [f"double {key}[{rows * columns}]" for key, (rows, columns) in outputs.items()]
            declaration = f"int {self.prefix}_{name}({', '.join(arguments)})"
            if f"{declaration};" not in plain or not re.search(re.escape(declaration) + r"\s*\{", code):
                raise ExportError(f"function {shown(name)} has other arguments in the C code than in its .json")


def read_manifest(path: Path) -> Manifest:
    """Manifest from its file; `ExportError` if it is not one."""
    content = read_json(path, "manifest", ExportError)
    if not isinstance(content, dict):
        raise ExportError(f"{path.name}: it is no manifest of an export")
    table = _Table(content, path.name, ("prefix", "batched", "functions"))
    table.require("prefix", "functions")
    prefix = check_identifier(table.text("prefix"), "prefix")
    value = content["functions"]
    functions = table.table("functions", value if isinstance(value, dict) else ())
    assert functions is not None
    if not functions.data or len(functions.data) > _MOST:
        table.fail(f"key 'functions': expected 1 to {_MOST} functions, got {len(functions.data)}")
    return Manifest(prefix, {name: _shapes(functions, name) for name in functions.data})


def _shapes(functions: _Table, name: str) -> tuple[dict[str, Shape], dict[str, Shape]]:
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


class LoadedFunction:
    """An exported C function, called with numbers.

    Vectors go in and come out with shape (length,), matrices with (rows, columns); several results are a tuple.

    Attributes
    ----------
    name : str
        Name without the export's prefix.
    inputs, outputs : mapping of str to (int, int)
        Rows and columns of each argument.
    """

    def __init__(self, name: str, symbol: Any, inputs: Mapping[str, Shape], outputs: Mapping[str, Shape]) -> None:
        self.name = name
        self._call = symbol
        self.inputs = MappingProxyType(dict(inputs))
        self.outputs = MappingProxyType(dict(outputs))

    def __call__(self, *arrays: ArrayLike) -> Array | tuple[Array, ...]:
        """Evaluate one sample.

        Raises
        ------
        DatasetError
            If the number or shape of the arguments does not fit.
        """
        if len(arrays) != len(self.inputs):
            raise DatasetError(f"'{self.name}' takes {', '.join(self.inputs)}; got {len(arrays)} arguments")
        passed = []
        for (name, (rows, columns)), given in zip(self.inputs.items(), arrays, strict=True):
            value = np.ascontiguousarray(given, dtype=float)
            if value.shape not in ((rows, columns), (rows,) if columns == 1 else (rows, columns)):
                shape = (rows, columns) if columns > 1 else (rows,)
                raise DatasetError(f"'{self.name}': '{name}' expects shape {shape}, got {value.shape}")
            passed.append(value)
        results = [np.empty((rows, columns) if columns > 1 else rows) for rows, columns in self.outputs.values()]
        status = self._call(*(ctypes.c_void_p(value.ctypes.data) for value in (*passed, *results)))
        if status:
            raise ExportError(f"'{self.name}' returned {status}")
        return results[0] if len(results) == 1 else tuple(results)

    def __repr__(self) -> str:
        return f"LoadedFunction({self.name}: ({', '.join(self.inputs)}) -> ({', '.join(self.outputs)}))"


class LoadedLibrary(Mapping[str, LoadedFunction]):
    """The functions of an exported folder by name, also as attributes.

    Attributes
    ----------
    path : Path
        The shared library in the cache.
    """

    def __init__(self, path: Path, manifest: Manifest) -> None:
        self.path = path
        library = load_library(path)
        try:
            self._functions = {
                name: LoadedFunction(name, library[f"{manifest.prefix}_{name}"], *shapes)
                for name, shapes in manifest.functions.items()
            }
        except AttributeError as error:
            raise ExportError(f"the library of export '{manifest.prefix}' cannot be loaded: {reason(error)}") from None

    def __getitem__(self, name: str) -> LoadedFunction:
        return self._functions[name]

    def __iter__(self) -> Any:
        return iter(self._functions)

    def __len__(self) -> int:
        return len(self._functions)

    def __getattr__(self, name: str) -> LoadedFunction:
        functions = self.__dict__.get("_functions", {})
        if name in functions:
            found: LoadedFunction = functions[name]
            return found
        raise AttributeError(f"no function '{name}'; known: {', '.join(functions)}")


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
            manifest = read_manifest(path)
            header = read_text(folder / f"{manifest.prefix}.h", "header", ExportError)
            source = read_text(folder / f"{manifest.prefix}.c", "source", ExportError, data_limit())
            manifest.check(header, source)
        except ExportError as error:
            trouble = trouble or f": {error}"
            continue
        code = source.replace(f'#include "{manifest.prefix}.h"', header)
        return LoadedLibrary(compile_shared(code, manifest.prefix), manifest)
    raise ExportError(f"folder '{folder}' holds no export of casid (C files and their .json){trouble}")
