"""Recordings as robot learning keeps them: PyTorch files (``.pt``, without PyTorch) and LeRobot datasets (parquet).

`casid.measurement` reads them by the entry ``files`` of the annex.
"""

from __future__ import annotations

import io
import pickle
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from casid.errors import DatasetError
from casid.files import data_limit, listed, read_bytes, read_json, reason, shown, too_large, unzip
from casid.measurement import Columns

_WHAT = "recording"
#: Storages of PyTorch -> type of their numbers.
_STORAGES = {
    "DoubleStorage": "f8", "FloatStorage": "f4", "HalfStorage": "f2", "LongStorage": "i8", "IntStorage": "i4",
    "ShortStorage": "i2", "CharStorage": "i1", "ByteStorage": "u1", "BoolStorage": "?",
}  # fmt: skip
#: Names of joints beside the arrays of a PyTorch file.
_JOINTS = ("joint_names", "joint_order", "joints")
#: Between episodes the clock goes on by so many samples, so that each is a stretch of its own: a gap in time is
#: more than one period.
_PAUSE = 50


class TorchFile:
    """Dictionaries of tensors as ``torch.save`` writes them: read by their zip and a restricted unpickler.

    Nothing in the file is executed: of all that a pickle may name, only tensors, their storages and ordered
    dictionaries are made, as with ``weights_only=True``.
    """

    name = ".pt"

    def accepts(self, path: Path) -> bool:
        """By the ending."""
        return path.suffix in (".pt", ".pth")

    def read(self, path: Path, topic: str | None) -> Columns:
        """All tensors of the dictionary; names of joints where it has them."""
        content = read_bytes(path, _WHAT, DatasetError, data_limit())
        if not content.startswith(b"PK"):
            raise DatasetError(f"'{path.name}': not the zip format of PyTorch 1.6 and later; load it there and save it "
                               "again, or as npz")  # fmt: skip
        members = unzip(content, str(path), _WHAT, DatasetError)
        root = next((name.removesuffix("data.pkl") for name in members if name.endswith("/data.pkl")), None)
        if root is None:
            raise DatasetError(f"'{path.name}': no data.pkl inside: not a file of torch.save")
        try:
            held = _Unpickler(members, root).load()
        except DatasetError as error:
            raise DatasetError(f"'{path.name}': {error.message}") from None
        except Exception as problem:  # a damaged pickle raises anything
            raise DatasetError(f"'{path.name}': not a valid PyTorch file ({reason(problem)})") from None
        if not isinstance(held, Mapping):
            raise DatasetError(f"'{path.name}': holds {type(held).__name__}; save a dictionary of tensors: "
                               "time, dof_pos, des_dof_pos")  # fmt: skip
        arrays = {str(key): value for key, value in held.items() if isinstance(value, np.ndarray)}
        names = next((held[key] for key in _JOINTS if key in held), None)
        joints = _texts(names)
        wide = [key for key, value in arrays.items() if value.ndim == 2 and value.shape[1] == len(joints)]
        return Columns(arrays, dict.fromkeys(wide, joints) if joints else {})


class _Unpickler(pickle.Unpickler):
    """Makes arrays of tensors and refuses everything else that a pickle can name."""

    def __init__(self, members: Mapping[str, bytes], root: str) -> None:
        super().__init__(io.BytesIO(members[f"{root}data.pkl"]))
        self.members, self.root = members, root
        self.order: Literal["<", ">"] = ">" if members.get(f"{root}byteorder", b"little") == b"big" else "<"

    def find_class(self, module: str, name: str) -> Any:
        """Tensors, storages, ordered dictionaries."""
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if module == "torch._utils" and name in ("_rebuild_tensor", "_rebuild_tensor_v2"):
            return _tensor
        if module == "torch" and name in _STORAGES:
            return np.dtype(_STORAGES[name]).newbyteorder(self.order)
        raise DatasetError(f"holds {shown(f'{module}.{name}')}, only dictionaries of tensors, numbers and texts are "
                           "read; save data.cpu() without other objects")  # fmt: skip

    def persistent_load(self, pid: Any) -> NDArray[Any]:
        """Numbers of a storage: ``("storage", type, key, device, count)``."""
        _, dtype, key, _, count = pid
        content = self.members[f"{self.root}data/{key}"]
        if count < 0 or count * dtype.itemsize > len(content):
            raise DatasetError(f"storage {shown(key)} is cut short")
        return np.frombuffer(content, dtype, count)


def _tensor(storage: NDArray[Any], offset: int, size: Sequence[int], stride: Sequence[int], *_: Any) -> NDArray[Any]:
    """A tensor's numbers, copied; its last element must lie in the storage."""
    if len(size) != len(stride) or min((offset, *size, *stride), default=0) < 0:
        raise DatasetError(f"a tensor of shape {tuple(size)} has no such layout")
    last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    if 0 not in size and last >= len(storage):
        raise DatasetError(f"a tensor of shape {tuple(size)} is larger than its storage")
    if int(np.prod(size, dtype=object)) * storage.itemsize > data_limit():  # strides of 0 repeat
        raise DatasetError(too_large(data_limit()))
    steps = tuple(step * storage.itemsize for step in stride)
    made: NDArray[Any] = np.lib.stride_tricks.as_strided(storage[offset:], tuple(size), steps).copy()
    return made


class LeRobot:
    """LeRobot datasets, a folder of versions 2 and 3 (``meta/info.json``, ``data/**.parquet``), or one parquet file.

    ``action`` holds the commands, ``observation.state`` the encoders; episodes follow each other with a gap in time.
    """

    name = "a LeRobot folder or .parquet"

    def accepts(self, path: Path) -> bool:
        """By the ending, or by ``meta/info.json`` in the folder."""
        try:
            return path.suffix == ".parquet" or (path / "meta" / "info.json").is_file()
        except OSError:
            return False

    def read(self, path: Path, topic: str | None) -> Columns:
        """All numeric columns of all episodes in their order."""
        files = [path] if path.is_file() else sorted((path / "data").rglob("*.parquet"))
        if not files:
            raise DatasetError(f"'{path.name}': no parquet files in its folder data")
        if sum(file.stat().st_size for file in files) > data_limit():
            raise DatasetError(f"cannot read recording '{path}': {too_large(data_limit())}")
        parts = [_parquet(file) for file in files]
        keys = [key for key in parts[0] if all(key in part for part in parts)]
        try:
            arrays = {key: np.concatenate([part[key] for part in parts]) for key in keys}
        except ValueError as problem:
            raise DatasetError(f"'{path.name}': its files have different columns ({reason(problem)})") from None
        if "timestamp" in arrays and "episode_index" in arrays:
            arrays = _in_order(arrays)
        joints = {} if path.is_file() else _feature_names(path / "meta" / "info.json")
        fitting = {key: names for key, names in joints.items()
                   if key in arrays and arrays[key].ndim == 2 and arrays[key].shape[1] == len(names)}  # fmt: skip
        return Columns(arrays, fitting)


def _in_order(arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Rows by episode and time, with one clock that goes on over all episodes."""
    episode, t = np.ravel(arrays["episode_index"]), np.ravel(arrays["timestamp"]).astype(float)
    order = np.lexsort((t, episode))
    made = {key: value[order] for key, value in arrays.items()}
    episode, t = episode[order], t[order]
    steps = np.diff(t)
    within = steps[np.diff(episode) == 0]
    pause = _PAUSE * float(np.median(within)) if len(within) else 1.0
    jumps = np.where(np.diff(episode) == 0, steps, pause)
    made["timestamp"] = t[:1].repeat(len(t)) + np.concatenate([[0.0], np.cumsum(jumps)])
    return made


def _parquet(file: Path) -> dict[str, NDArray[Any]]:
    """Numeric columns of a parquet file; lists of one length become matrices."""
    try:
        from pyarrow import parquet
    except ImportError:
        raise DatasetError(f"'{file.name}': reading parquet needs pyarrow: pip install 'casid[lerobot]'") from None
    try:
        table = parquet.read_table(file)
        columns = {name: table.column(name).to_pylist() for name in table.column_names if _numeric(table, name)}
    except Exception as problem:  # pyarrow raises classes of its own
        raise DatasetError(f"cannot read recording '{file}': not a valid parquet file ({reason(problem)})") from None
    made = {}
    for name, rows in columns.items():
        try:
            made[name] = np.asarray(rows, dtype=float)
        except (ValueError, TypeError):
            raise DatasetError(
                f"'{file.name}': column {shown(name)} has rows of different lengths, or empty ones"
            ) from None
    return made


def _numeric(table: Any, name: str) -> bool:
    from pyarrow import types

    kind = table.schema.field(name).type
    while types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        kind = kind.value_type
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))


def _feature_names(file: Path) -> dict[str, tuple[str, ...]]:
    """Names of the joints by feature: a list, or the one list of a mapping; ``pan.pos`` is joint ``pan``."""
    info = read_json(file, "dataset's description", DatasetError)
    features = info.get("features", {}) if isinstance(info, Mapping) else {}
    if not isinstance(features, Mapping):
        raise DatasetError(f"{file}: 'features' is no mapping; it has {listed(info)}")
    made = {}
    for key, feature in features.items():
        names = feature.get("names") if isinstance(feature, Mapping) else None
        if isinstance(names, Mapping):
            names = next(iter(names.values()), None)
        made[str(key)] = tuple(name.removesuffix(".pos") for name in _texts(names))
    return {key: names for key, names in made.items() if names and len(set(names)) == len(names)}


def _texts(value: Any) -> tuple[str, ...]:
    if isinstance(value, (list, tuple)) and all(isinstance(one, str) for one in value):
        return tuple(value)
    return ()


FORMATS = (TorchFile(), LeRobot())
