"""Exported C code back in Python, to test it or to call it."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.codegen import compile_shared
from casid.errors import DatasetError, ExportError
from casid.export.manifest import Manifest, Shape, read_manifest
from casid.files import read_text, reason
from casid.files.limits import data_limit

Array = NDArray[np.float64]


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
        try:
            library = ctypes.CDLL(str(path))
            self._functions = {
                name: LoadedFunction(name, library[f"{manifest.prefix}_{name}"], *shapes)
                for name, shapes in manifest.functions.items()
            }
        except (OSError, AttributeError) as error:
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
