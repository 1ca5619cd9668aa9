"""Readers of recordings: options, descriptions in TOML, messages."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from casid.errors import DatasetError
from casid.measurement import Processing, read_dataset
from tests.measurement.conftest import TAU, Q, sine

# ---------------------------------------------------------------------- readers


def test_npz_csv_mat_and_toml_give_the_same(tmp_path):
    data = sine(rate=100.0)
    np.savez(tmp_path / "r.npz", t_ms=1e3 * data.t, q=data.q, torque=data.tau)
    header = "time,q1,q2,tau_1,tau_2"
    table = np.column_stack([data.t, data.q, data.tau])
    text = header + "\n" + "\n".join(",".join(repr(float(x)) for x in row) for row in table)
    (tmp_path / "r.csv.gz").write_bytes(gzip.compress(text.encode()))
    savemat(tmp_path / "r.mat", {"t": data.t, "q": data.q, "tau": data.tau})
    (tmp_path / "r.toml").write_text('file = "r.npz"\ntime_scale = 0.001\n[columns]\nt = "t_ms"\n')
    for file in ("r.csv.gz", "r.mat", "r.toml"):
        read = read_dataset(tmp_path / file)
        np.testing.assert_allclose(read.t, data.t, atol=1e-12)
        np.testing.assert_allclose(read.q, data.q, atol=1e-15)
        np.testing.assert_allclose(read.tau, data.tau, atol=1e-15)


def test_reader_options(tmp_path):
    data = sine(rate=100.0)
    R = np.array([[10.0, 0.0], [5.0, 20.0]])
    np.savez(tmp_path / "motor.npz", q=data.q @ R.T, tau=np.linalg.solve(R.T, data.tau.T).T, unused=[1.0])
    read = read_dataset(tmp_path / "motor.npz", rate=100.0, transmission=R, position_offset=[1.0, 0.0], rows=(10, 500))
    np.testing.assert_allclose(read.q, data.q[10:500] + np.array([1.0, 0.0]), atol=1e-12)
    np.testing.assert_allclose(read.tau, data.tau[10:500], atol=1e-12)
    np.savez(tmp_path / "deg.npz", q=np.rad2deg(data.q), tau=data.tau)
    read = read_dataset(tmp_path / "deg.npz", rate=100.0, degrees=True, gains=[2.0, 3.0], between=(1.0, 2.0))
    np.testing.assert_allclose(read.tau, (data.tau * [2.0, 3.0])[100:200])
    np.testing.assert_allclose(read.q, data.q[100:200])


def test_reader_errors_name_file_and_column(tmp_path):
    np.savez(tmp_path / "hole.npz", t=np.arange(20.0), q=np.zeros((20, 2)), tau=np.diag(np.full(20, np.nan))[:, :2])
    for name in (None, "another name"):
        with pytest.raises(DatasetError, match=r"^hole\.npz: tau of joint 1, sample 0 is not a finite number"):
            read_dataset(tmp_path / "hole.npz", name=name)
    np.savez(tmp_path / "r.npz", t=np.arange(20.0), q=np.zeros((20, 2)), tau_sensor=np.zeros((20, 2)))
    with pytest.raises(
        DatasetError, match=r"no column 'tau_senzor'; did you mean 'tau_sensor'\?; it has t, q, tau_sensor"
    ):
        read_dataset(tmp_path / "r.npz", columns={"tau": "tau_senzor"})
    with pytest.raises(DatasetError, match="columns may name t, q, dq, ddq, q_des, tau, not 'taus'"):
        read_dataset(tmp_path / "r.npz", columns={"taus": "tau_sensor"})
    np.savez(tmp_path / "s.npz", q=np.zeros((20, 2)), tau=np.zeros((20, 2)))
    with pytest.raises(DatasetError, match="no time column"):
        read_dataset(tmp_path / "s.npz")
    with pytest.raises(DatasetError, match="cannot read recording"):
        read_dataset(tmp_path / "none.npz")
    (tmp_path / "r.txt").write_text("")
    with pytest.raises(DatasetError, match=r"recordings are \.npz"):
        read_dataset(tmp_path / "r.txt")
    (tmp_path / "r.toml").write_text('file = "r.npz"\nrates = 3\n')
    with pytest.raises(DatasetError, match=r"unknown key 'rates'; did you mean 'rate'"):
        read_dataset(tmp_path / "r.toml")


@pytest.mark.claim('degrees = "false" in a recording\'s TOML is an error, not true')
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('degrees = "false"', "expected true or false, got the string 'false'"),
        ("unwrap = 1", "expected true or false"),
        ("rate = nan", "is or holds NaN"),
        ("rate = -1.0", "sampling rate must be positive"),
        ('rate = "100"', "expected a number"),
        ("gains = [1.0, inf, 1.0]", "must be finite"),
        ("gains = [1.0]", "expected 3 finite numbers"),
        ("rows = [3]", "expected 2 numbers"),
        ("rows = [5, 3]", "the first below the second"),
        ("transmission = [[1, 0], [0]]", "expected 2 x 2 numbers"),
        ("transmission = [[1, 0, 0], [1, 0, 0], [0, 0, 1]]", "transmission is singular"),
        ("columns = 3", "expected a table"),
        ("columns = { q = 3 }", "expected a string"),
        ('columns = { speed = "q" }', "columns may name"),
        ('topic = ""', "expected a string"),
        ("degree = true", "unknown key 'degree'; did you mean 'degrees'"),
    ],
)
def test_types_in_a_recordings_toml(tmp_path: Path, line: str, message: str) -> None:
    np.savez(tmp_path / "r.npz", q=Q, tau=TAU)
    rate = "" if line.startswith("rate") else "rate = 100\n"
    (tmp_path / "r.toml").write_text(f'file = "r.npz"\n{rate}{line}\n', encoding="utf-8")
    with pytest.raises(DatasetError, match=message):
        read_dataset(tmp_path / "r.toml")


@pytest.mark.claim("a recording's TOML that describes itself ends in one error")
def test_descriptions_do_not_chain(tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text('file = "r.toml"\n', encoding="utf-8")
    with pytest.raises(DatasetError, match="not by a chain"):
        read_dataset(tmp_path / "r.toml")


@pytest.mark.claim("samples that are not finite numbers are left out like a gap, and named, unless they are many")
def test_samples_that_are_not_finite_become_a_gap(tmp_path: Path) -> None:
    t = np.arange(0.0, 10.0, 0.01)
    q = np.sin(t)[:, None] * [1.0, 0.5]
    tau = 3.0 * np.cos(t)[:, None] * [1.0, 2.0]
    holes = tau.copy()
    holes[400:420, 1] = np.nan
    np.savez(tmp_path / "holes.npz", t=t, q=q, tau=holes)
    data = read_dataset(tmp_path / "holes.npz")
    assert len(data) == len(t) - 20
    assert any("20 samples, the first 400" in note and "tau of joint 2" in note for note in data.notes)
    ready = Processing(cutoff=5.0).apply(data)
    assert [one.kind for one in ready.defects] == ["gap"]
    assert ready.mask is not None
    np.testing.assert_allclose(np.interp(4.1, ready.t, ready.q[:, 0]), np.sin(4.1), atol=1e-2)
    holes[:200] = np.inf
    np.savez(tmp_path / "more.npz", t=t, q=q, tau=holes)
    with pytest.raises(DatasetError, match="is not a finite number"):
        read_dataset(tmp_path / "more.npz")
