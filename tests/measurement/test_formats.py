"""File formats of recordings."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from casid.errors import DatasetError
from casid.measurement import FORMATS, Processing, read_dataset
from tests.measurement.conftest import TAU, Q, T, csv


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", " "])
def test_delimiters_and_decimal_commas(tmp_path: Path, delimiter: str) -> None:
    header = ["t", "q1", "q2", "q3", "tau1", "tau2", "tau3"]
    text = csv(header, np.column_stack([T, Q, TAU]), delimiter)
    (tmp_path / "r.csv").write_text(text.replace(".", ",") if delimiter == ";" else text, encoding="utf-8")
    np.testing.assert_array_equal(read_dataset(tmp_path / "r.csv").q, Q)


FAULTS = {
    "header only": ("t,q1,tau1\n", "no table of numbers found: fewer than 5 lines"),
    "no header": ("1,2,3\n4,5,6\n" * 12, "no joint positions: it has column"),
    "missing joint": ("t,q1,q2,q4,tau1,tau2,tau4\n" + "0,1,2,3,4,5,6\n" * 12, "it has q4 but no q3"),
    "first joint missing": ("t,q2,tau2\n" + "0,1,2\n" * 12, "it has q2 but no q1"),
    "twice": ("t,q1,q1,tau1\n" + "0,1,2,3\n" * 12, "columns 'q1' and 'q1' mean the same"),
    "ambiguous": ("t,a/j/q,b/j/q,tau_j\n" + "0,1,2,3\n" * 12, "both look like q of joint 'j'"),
    "no torque": ("t,q1\n" + "0,1\n" * 12, "no torques: it has t, q"),
    "words": ("t,q1,tau1\n" + "0,1,2\n0,1,2\n0,x,2\n" * 6, "line 4, column 'q1': 'x', one of 6 cells that are no"),
    "ragged": ("t,q1,tau1\n" + "0,1,2\n" * 9 + "0,1\n" + "0,1,2\n" * 9, "line 11 has 2 cells, line 2 has 3"),
    "empty": ("", "is empty"),
    "short rows": ("t,q1,tau1\n" + "1,2\n" * 12, "3 column names for 2 columns"),
    "not a number": (
        "t,q1,tau1\n" + "".join(f"{k},nan,1\n" for k in range(12)),
        "q of joint 1, sample 0 is not",
    ),
    "huge": ("t,q1,tau1\n" + "".join(f"{k},1e300,1\n" for k in range(12)), "which no robot does"),
    "long name": ("q" * 10**4 + "1" * 10**4 + ",t\n1,2\n", "no table of numbers found"),
}


@pytest.mark.claim("a recording that cannot be used says in one short sentence why")
@pytest.mark.parametrize("case", FAULTS)
def test_what_is_wrong_with_a_csv(tmp_path: Path, case: str) -> None:
    text, message = FAULTS[case]
    (tmp_path / "r.csv").write_text(text, encoding="utf-8")
    with pytest.raises(DatasetError, match=message) as caught:
        read_dataset(tmp_path / "r.csv")
    assert len(str(caught.value)) < 400


@pytest.mark.claim("a cell that holds no number is named by line and column, and its sample bridged")
@pytest.mark.parametrize("cell", ["nan", "", "n/a"])
def test_single_cells_without_a_number_are_named_and_bridged(tmp_path: Path, cell: str) -> None:
    t = np.arange(500) * 0.01
    table = np.column_stack([t, np.sin(t), np.cos(2 * t), np.cos(t), np.sin(t)])
    lines = csv(["t", "q1", "q2", "tau1", "tau2"], table).split("\n")
    row = lines[200].split(",")
    lines[200] = ",".join([row[0], cell, *row[2:]])
    (tmp_path / "r.csv").write_text("\n".join(lines), encoding="utf-8")
    data = read_dataset(tmp_path / "r.csv")
    assert len(data) == 499 and f"1 cells hold no number, the first in line 201, column 'q1': '{cell}'" in data.notes[0]
    ready = Processing(cutoff=5.0, trim=0.0, every=1).apply(data)
    assert len(ready) == 500 and ready.mask is None and "1 lost samples interpolated" in " ".join(ready.steps)
    np.testing.assert_allclose(ready.q[50:-50], table[50:-50, 1:3], atol=1e-3)


@pytest.mark.claim("complex, text and object arrays in recordings are refused")
def test_arrays_must_hold_real_numbers(tmp_path: Path) -> None:
    for value, message in ((Q * (1 + 1j), "complex"), (Q.astype(str), "text"), (Q > 0, "true or false")):
        np.savez(tmp_path / "r.npz", t=T, q=value, tau=TAU)
        with pytest.raises(DatasetError, match=message):
            read_dataset(tmp_path / "r.npz")
    savemat(tmp_path / "r.mat", {"t": T, "q": Q * (1 + 1j), "tau": TAU})
    with pytest.raises(DatasetError, match="complex"):
        read_dataset(tmp_path / "r.mat")


def test_a_large_recording_says_how_to_allow_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, t=T, q=np.zeros((40, 5000)), tau=np.zeros((40, 5000)))
    (tmp_path / "r.npz").write_bytes(buffer.getvalue())
    assert read_dataset(tmp_path / "r.npz").n == 5000
    monkeypatch.setenv("CASID_MAX_BYTES", "100000")
    with pytest.raises(DatasetError, match="set CASID_MAX_BYTES to allow more"):
        read_dataset(tmp_path / "r.npz")


def test_each_path_belongs_to_one_format() -> None:
    order = {"a.npz": 0, "a.csv": 1, "a.csv.gz": 1, "a.mat": 2, "a.pt": 3, "a.parquet": 3, "a.mcap": 4}
    for name, expected in order.items():
        accepted = [k for k, form in enumerate(FORMATS) if form.accepts(Path(name))]
        assert accepted[:1] == [expected], name
