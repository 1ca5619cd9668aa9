"""File formats of recordings."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from casid.errors import DatasetError
from casid.measurement import read_dataset
from casid.measurement._formats import FORMATS, Csv, read_columns
from tests.measurement.conftest import TAU, Q, T, csv


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", " "])
def test_delimiters_and_decimal_commas(tmp_path: Path, delimiter: str) -> None:
    header = ["t", "q1", "q2", "q3", "tau1", "tau2", "tau3"]
    text = csv(header, np.column_stack([T, Q, TAU]), delimiter)
    (tmp_path / "r.csv").write_text(text.replace(".", ",") if delimiter == ";" else text, encoding="utf-8")
    np.testing.assert_array_equal(read_dataset(tmp_path / "r.csv").q, Q)


FAULTS = {
    "header only": ("t,q1,tau1\n", "it has a header and no samples"),
    "no header": ("1,2,3\n4,5,6\n", "first line must name the columns"),
    "missing joint": ("t,q1,q2,q4,tau1,tau2,tau4\n" + "0,1,2,3,4,5,6\n" * 12, "it has q4 but no q3"),
    "first joint missing": ("t,q2,tau2\n" + "0,1,2\n" * 12, "it has q2 but no q1"),
    "twice": ("t,q1,q1,tau1\n" + "0,1,2,3\n" * 12, "columns 'q1' and 'q1' mean the same"),
    "ambiguous": ("t,a/j/q,b/j/q,tau_j\n" + "0,1,2,3\n" * 12, "both look like q of joint 'j'"),
    "no torque": ("t,q1\n" + "0,1\n" * 12, "no torques: it has t, q"),
    "word": ("t,q1,tau1\n0,1,2\n0,x,2\n", "row 2 below the header, column 'q1' is no number: 'x'"),
    "ragged": ("t,q1,tau1\n0,1,2\n0,1\n", "row 2 below the header has 2 cells, the header names 3"),
    "empty": ("", "is empty"),
    "short rows": ("t,q1,tau1\n1,2\n", "3 column names for 2 columns"),
    "not a number": (
        "t,q1,tau1\n" + "".join(f"{k},nan,1\n" for k in range(12)),
        "q of joint 1, sample 0 is not",
    ),
    "huge": ("t,q1,tau1\n" + "".join(f"{k},1e300,1\n" for k in range(12)), "which no robot does"),
    "long name": ("q" * 10**4 + "1" * 10**4 + ",t\n1,2\n", "the first line must name the columns"),
}


@pytest.mark.claim("a recording that cannot be used says in one short sentence why")
@pytest.mark.parametrize("case", FAULTS)
def test_what_is_wrong_with_a_csv(tmp_path: Path, case: str) -> None:
    text, message = FAULTS[case]
    (tmp_path / "r.csv").write_text(text, encoding="utf-8")
    with pytest.raises(DatasetError, match=message) as caught:
        read_dataset(tmp_path / "r.csv")
    assert len(str(caught.value)) < 400


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


def test_each_path_belongs_to_one_format(tmp_path: Path) -> None:
    order = {"a.npz": 0, "a.csv": 1, "a.csv.gz": 1, "a.mat": 2, "a.pt": 3, "a.parquet": 4, "a.mcap": 5}
    for name, expected in order.items():
        accepted = [k for k, form in enumerate(FORMATS) if form.accepts(Path(name))]
        assert accepted[:1] == [expected], name
    assert Csv().name
    (tmp_path / "r.csv").write_text("t,q1\n0,1\n1,2\n", encoding="utf-8")
    assert read_columns(tmp_path / "r.csv", None) is not None
