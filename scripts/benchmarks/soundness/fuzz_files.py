"""Recordings as bytes of each format, to be spoilt, and small files that unpack to large ones."""

from __future__ import annotations

import gzip
import io
import pickle
import sys
import tempfile
import zipfile
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import numpy as np


@dataclass(frozen=True)
class Seed:
    """A good input: its files, the name of the one that is spoilt, and what is read (the folder if empty)."""

    files: Mapping[str, bytes]
    spoilt: str
    target: str

    @property
    def is_text(self) -> bool:
        """Whether what is spoilt is text."""
        return b"\0" not in self.files[self.spoilt][:4096] and not self.spoilt.endswith((".gz", ".npz", ".pt"))


def files(
    name: str, contents: Callable[[], Iterable[bytes]], **beside: Callable[[], bytes]
) -> Callable[[], list[Seed]]:
    """Seeds of one file each; further files by their names, ``_`` for the dot."""

    @cache
    def seeds() -> list[Seed]:
        further = {key.replace("_", "."): make() for key, make in beside.items()}
        return [Seed({name: content, **further}, name, name) for content in contents()]

    return seeds


def saved(write: Callable[[Path], object], name: str = "") -> dict[str, bytes]:
    """Files that something writes into a folder, or into one file of this name."""
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder) / name)
        return {path.name: path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()}


def recording(samples: int = 300) -> dict[str, Any]:
    """A smooth motion of three joints."""
    t = np.arange(samples) * 0.01
    phase = np.array([0.3, 0.5, 0.8])
    q = np.sin(np.outer(t, phase) * 2 * np.pi)
    return {"t": t, "q": q, "dq": np.gradient(q, t, axis=0), "tau": 3.0 * np.cos(np.outer(t, phase)) + q}


def packed(save: Callable[..., Any], *data: Any, **named: Any) -> bytes:
    """What a function writes into a buffer."""
    buffer = io.BytesIO()
    save(buffer, *data, **named)
    return buffer.getvalue()


def npz(arrays: dict[str, Any]) -> bytes:
    return packed(np.savez, **arrays)


def mat(arrays: dict[str, Any], compress: bool = True, form: str = "5") -> bytes:
    from scipy.io import savemat

    return packed(savemat, arrays, do_compression=compress, format=form)


def npy(arrays: dict[str, Any]) -> bytes:
    return packed(np.save, next(iter(arrays.values())))


def csv_text(header: Iterable[str], table: Any, delimiter: str = ",") -> bytes:
    rows = (delimiter.join(f"{x:.7g}" for x in row) for row in table)
    return "\n".join([delimiter.join(header), *rows]).encode()


def csv() -> Iterator[bytes]:
    joints, signals = ("shoulder", "elbow", "wrist"), ("q", "dq", "tau")
    table = np.column_stack(list(recording(120).values()))
    for name in ("{signal}{k}", "/joint_states/{joint}/{signal}", "{signal}_{joint}"):
        places = [(signal, k, joint) for signal in signals for k, joint in enumerate(joints, 1)]
        header = ["t", *(name.format(signal=signal, k=k, joint=joint) for signal, k, joint in places)]
        yield from (csv_text(header, table, delimiter) for delimiter in (",", ";", "\t"))


def parquet() -> Iterator[bytes]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    run = recording(120)
    names = {"observation.state": "q", "action": "q", "observation.effort": "tau"}
    columns = {"timestamp": pa.array(run["t"]), "episode_index": pa.array(np.zeros(len(run["t"]), int))}
    columns |= {name: pa.array(run[signal].tolist()) for name, signal in names.items()}
    for packing in ("none", "snappy"):
        yield packed(partial(pq.write_table, pa.table(columns)), compression=packing)


@dataclass(frozen=True, eq=False)
class Storage:
    """The numbers of a tensor, which a PyTorch file has apart from its pickle."""

    array: Any


def torch_file(path: Any, entries: dict[str, Any]) -> None:
    """A file as ``torch.save`` writes it, by stand-ins for the names that it pickles: PyTorch is no dependency."""
    names = {"f4": "FloatStorage", "f8": "DoubleStorage"}
    storages = {code: type(name, (), {"__module__": "torch"}) for code, name in names.items()}
    torch, utils, contents = ModuleType("torch"), ModuleType("torch._utils"), list[bytes]()

    def rebuild(*_: Any) -> None:
        """Of the tensor, which only PyTorch would make."""

    rebuild.__module__, rebuild.__qualname__ = "torch._utils", "_rebuild_tensor_v2"
    utils.__dict__["_rebuild_tensor_v2"] = rebuild
    torch.__dict__.update({kind.__name__: kind for kind in storages.values()})

    class Packer(pickle.Pickler):
        def persistent_id(self, value: Any) -> Any:
            if not isinstance(value, Storage):
                return None
            contents.append(value.array.tobytes())
            kind = storages[value.array.dtype.str[1:]]
            return ("storage", kind, str(len(contents) - 1), "cpu", value.array.size)

        def reducer_override(self, value: Any) -> Any:
            if not isinstance(value, np.ndarray):
                return NotImplemented
            strides = tuple(s // value.itemsize for s in value.strides)
            return rebuild, (Storage(value), 0, value.shape, strides, False, OrderedDict())

    out = io.BytesIO()
    with patch.dict(sys.modules, {"torch": torch, "torch._utils": utils}):
        Packer(out, 2).dump(entries)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("traj/data.pkl", out.getvalue())
        archive.writestr("traj/byteorder", "little")
        for k, content in enumerate(contents):
            archive.writestr(f"traj/data/{k}", content)


@cache
def bags() -> list[Seed]:
    """An MCAP file, a folder with one, a folder with SQLite: whatever file of it is spoilt."""
    from rosbags import rosbag2
    from rosbags.typesys import Stores, get_typestore

    store, kind, run = get_typestore(Stores.LATEST), "sensor_msgs/msg/JointState", recording(120)
    State, Header, Time = (store.types[name] for name in (kind, "std_msgs/msg/Header", "builtin_interfaces/msg/Time"))
    plugins, seeds = rosbag2.StoragePlugin, []

    def write(path: Path, plugin: Any, compress: bool) -> None:
        writer = rosbag2.Writer(path, version=9, storage_plugin=plugin)
        if compress:
            writer.set_compression(rosbag2.CompressionMode.STORAGE, rosbag2.CompressionFormat.ZSTD)
        with writer:
            connection = writer.add_connection("/joint_states", kind, typestore=store)
            for k in range(len(run["t"])):
                stamp = Time(sec=k // 100, nanosec=(k % 100) * 10**7)
                signals = (run[name][k] for name in ("q", "dq", "tau"))
                message = State(Header(stamp, ""), ["joint1", "joint2", "joint3"], *signals)
                writer.write(connection, k * 10**7, store.serialize_cdr(message, kind))

    for plugin, compress in ((plugins.MCAP, False), (plugins.MCAP, True), (plugins.SQLITE3, False)):
        bag = saved(partial(write, plugin=plugin, compress=compress), "bag")
        for name, content in bag.items():
            alone = name.endswith(".mcap")
            seeds.append(Seed({name: content}, name, name) if alone else Seed(bag, name, ""))
    return seeds


def large_text() -> bytes:
    """More text than any description has."""
    return b"# a comment line that says nothing at all, again and again\n" * 600_000


def gzip_bomb() -> bytes:
    """2 GB of zeros, 2 MB packed."""
    return gzip.compress(bytes(2**26), 6) * 32


def zip_bomb() -> bytes:
    """An npz with an array that unpacks to 1.5 GB."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (24 * 2**20, 8)})
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("q.npy", "w") as file,
    ):
        for part in (header.getvalue(), *[bytes(2**26)] * 24):
            file.write(part)
    return buffer.getvalue()


def matlab_bomb() -> bytes:
    """A MATLAB file whose variable unpacks to 2 GB."""
    stream = zlib.compressobj(6)
    header, block = (stream.compress(part) + stream.flush(zlib.Z_FULL_FLUSH) for part in (b"", bytes(2**26)))
    body = header + 32 * block  # its end does not matter: nobody should get there
    return b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM" + np.array([15, len(body)], "<u4").tobytes() + body
