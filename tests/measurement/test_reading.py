"""Recordings read as their names and a TOML state: formats, columns, options, and messages."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from casid import load_robot
from casid.errors import DatasetError
from casid.measurement import FORMATS, Dataset, Processing, check_against, factors, read_dataset
from casid.testing import motion
from tests.measurement.conftest import TAU, Q, T, csv, sine, written

NAMES = ["q1", "q2", "q3", "tau1", "tau2", "tau3"]


def same(path: Path, **options: object) -> Dataset:
    """The recording, whose positions and torques are those of this file."""
    data = read_dataset(path, **options)
    np.testing.assert_array_equal(data.q, Q)
    np.testing.assert_array_equal(data.tau, TAU)
    return data


# ---------------------------------------------------------------------- formats


def test_npz_csv_mat_and_toml_give_the_same(tmp_path: Path) -> None:
    data = sine(rate=100.0)
    np.savez(tmp_path / "r.npz", t_ms=1e3 * data.t, q=data.q, torque=data.tau)
    text = csv(["time", "q1", "q2", "tau_1", "tau_2"], np.column_stack([data.t, data.q, data.tau]))
    (tmp_path / "r.csv.gz").write_bytes(gzip.compress(text.encode()))
    savemat(tmp_path / "r.mat", {"t": data.t, "q": data.q, "tau": data.tau})
    (tmp_path / "r.toml").write_text('file = "r.npz"\ntime_scale = 0.001\n[columns]\nt = "t_ms"\n')
    for file in ("r.npz", "r.csv.gz", "r.mat", "r.toml"):
        read = read_dataset(tmp_path / file)
        np.testing.assert_allclose(read.t, data.t, atol=1e-12)
        np.testing.assert_allclose(read.q, data.q, atol=1e-15)
        np.testing.assert_allclose(read.tau, data.tau, atol=1e-15)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", " "])
def test_delimiters_and_decimal_commas(tmp_path: Path, delimiter: str) -> None:
    text = csv(["t", *NAMES], np.column_stack([T, Q, TAU]), delimiter)
    (tmp_path / "r.csv").write_text(text.replace(".", ",") if delimiter == ";" else text, encoding="utf-8")
    np.testing.assert_array_equal(read_dataset(tmp_path / "r.csv").q, Q)


def test_each_path_belongs_to_one_format() -> None:
    order = {"a.npz": 0, "a.csv": 1, "a.csv.gz": 1, "a.mat": 2, "a.pt": 3, "a.parquet": 3, "a.mcap": 4}
    for name, expected in order.items():
        assert next(k for k, form in enumerate(FORMATS) if form.accepts(Path(name))) == expected, name


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


# ---------------------------------------------------------------------- what is wrong with a file

FAULTS = {
    "header only": ("t,q1,tau1\n", "no table of numbers found: fewer than 5 lines"),
    "no header": ("1,2,3\n4,5,6\n" * 12, "no joint positions: it has column"),
    "missing joint": ("t,q1,q2,q4,tau1,tau2,tau4\n" + "0,1,2,3,4,5,6\n" * 12, "it has q4 but no q3"),
    "first joint missing": ("t,q2,tau2\n" + "0,1,2\n" * 12, "it has q2 but no q1"),
    "twice": ("t,q1,q1,tau1\n" + "0,1,2,3\n" * 12, "columns 2, 3 all look like q of joint '1'"),
    "ambiguous": ("t,a/j/q,b/j/q,tau_j\n" + "0,1,2,3\n" * 12, "columns a/j/q, b/j/q all look like q of joint 'j'"),
    "measured and unsaid": ("t,actual/j/q,j/q,tau_j\n" + "0,1,2,3\n" * 12, "which is q: actual/j/q or j/q\\?"),
    "unit for a joint": ("t,a position [deg],tau_a\n" + "0,1,2\n" * 12, "no joint positions: it has t, a position"),
    "by name and by number": (
        "t,q_elbow,tau1\n" + "0,1,2\n" * 12,
        "tau is of joints 1, others are of elbow: name all columns alike",
    ),
    "no torque": ("t,q1\n" + "0,1\n" * 12, "no torques: it has t, q"),
    "words": ("t,q1,tau1\n" + "0,1,2\n0,1,2\n0,x,2\n" * 6, "line 4, column 'q1': 'x', one of 6 cells that are no"),
    "ragged": ("t,q1,tau1\n" + "0,1,2\n" * 9 + "0,1\n" + "0,1,2\n" * 9, "line 11 has 2 cells, line 2 has 3"),
    "empty": ("", "is empty"),
    "short rows": ("t,q1,tau1\n" + "1,2\n" * 12, "3 column names for 2 columns"),
    "not a number": ("t,q1,tau1\n" + "".join(f"{k},nan,1\n" for k in range(12)), "q of joint 1, sample 0 is not"),
    "huge": ("t,q1,tau1\n" + "".join(f"{k},1e300,1\n" for k in range(12)), "which no robot does"),
    "long name": ("q" * 10**4 + "1" * 10**4 + ",t\n1,2\n", "no table of numbers found"),
    "milliseconds": ("t,q1,tau1\n" + "".join(f"{2 * k},1,2\n" for k in range(80)), "seems to count milliseconds"),
}


@pytest.mark.claim("a recording that cannot be used says in one short sentence why")
@pytest.mark.parametrize("case", FAULTS)
def test_what_is_wrong_with_a_csv(tmp_path: Path, case: str) -> None:
    text, message = FAULTS[case]
    (tmp_path / "r.csv").write_text(text, encoding="utf-8")
    with pytest.raises(DatasetError, match=message) as caught:
        read_dataset(tmp_path / "r.csv")
    assert len(str(caught.value)) < 400


def test_reader_errors_name_file_and_column(tmp_path: Path) -> None:
    ones = np.zeros((20, 2))
    np.savez(tmp_path / "hole.npz", t=np.arange(20.0), q=ones, tau=np.diag(np.full(20, np.nan))[:, :2])
    for name in (None, "another name"):
        with pytest.raises(DatasetError, match=r"^hole\.npz: tau of joint 1, sample 0 is not a finite number"):
            read_dataset(tmp_path / "hole.npz", name=name)
    np.savez(tmp_path / "r.npz", t=np.arange(20.0), q=ones, tau_sensor=ones)
    for columns, message in (
        ({"tau": "tau_senzor"}, r"no column 'tau_senzor'; did you mean 'tau_sensor'\?; it has t, q, tau_sensor"),
        ({"taus": "tau_sensor"}, "columns may name t, q, dq, ddq, q_des, tau, not 'taus'"),
    ):
        with pytest.raises(DatasetError, match=message):
            read_dataset(tmp_path / "r.npz", columns=columns)
    np.savez(tmp_path / "s.npz", q=ones, tau=ones)
    (tmp_path / "r.txt").write_text("")
    (tmp_path / "r.toml").write_text('file = "r.npz"\nrates = 3\n')
    (tmp_path / "self.toml").write_text('file = "self.toml"\n')
    for file, message in (
        ("s.npz", "no time column"), ("none.npz", "cannot read recording"), ("r.txt", r"recordings are \.npz"),
        ("r.toml", r"unknown key 'rates'; did you mean 'rate'"), ("self.toml", "not by a chain"),
        (f"{300 * 'x'}.npz", "cannot read recording"),
    ):  # fmt: skip
        with pytest.raises(DatasetError, match=message):
            read_dataset(tmp_path / file)


@pytest.mark.claim("an array of a wrong shape is named, whichever it is")
@pytest.mark.parametrize("key", ["t", "q", "dq", "tau"])
@pytest.mark.parametrize("value", [np.array(1.0), np.array(np.nan), np.zeros(0), np.zeros((3, 2, 2))], ids=np.shape)
def test_arrays_of_a_wrong_shape_are_refused(tmp_path: Path, key: str, value: np.ndarray) -> None:
    t, q, dq, tau = motion(2, 100, 1)
    np.savez(tmp_path / "r.npz", **({"t": t, "q": q, "dq": dq, "tau": tau} | {key: value}))
    with pytest.raises(DatasetError, match=r"^r\.npz: "):
        read_dataset(tmp_path / "r.npz")


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
        ("gains = [1.0]", r"gains: expected shape \(3,\)"),
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


# ---------------------------------------------------------------------- what is read


def test_reader_options(tmp_path: Path) -> None:
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


def test_factors_are_those_of_the_definitions() -> None:
    for unit, signal, expected in (
        ("deg", "q", np.pi / 180), ("deg", "q_des", np.pi / 180), ("rev", "q", 2 * np.pi), ("mm", "q", 1e-3),
        ("rpm", "dq", 2 * np.pi / 60), ("rad/s", "dq", 1.0), ("deg/s^2", "ddq", np.pi / 180), ("mN.m", "tau", 1e-3),
        ("ms", "t", 1e-3), ("ns", "t", 1e-9), ("min", "t", 60.0),
    ):  # fmt: skip
        np.testing.assert_allclose(factors(unit, signal, 2, "a"), [expected] * 2, rtol=1e-15)
    np.testing.assert_allclose(factors(["rpm", "mm/s"], "dq", 2, "a"), [2 * np.pi / 60, 1e-3], rtol=1e-15)
    for units, message in (
        ("grad", "log.toml: unit of q is 'grad'; known are rad"), (["deg"], "1 units of q for 2"),
        (3.0, "unit of q is 3"),
    ):  # fmt: skip
        with pytest.raises(DatasetError, match=message):
            factors(units, "q", 2, "log.toml")


def named(*signals: str) -> list[str]:
    return [pattern.format(j) for pattern in signals for j in ("elbow", "wrist1", "wrist2")]


@pytest.mark.parametrize(
    "header",
    [
        ["t", *named("q_{}", "tau_{}")],
        ["__time", *named("/joint_states/{}/position", "/joint_states/{}/effort")],
        ["time", *named("{}.position", "{}.effort")],
        ["Time", *named("/joint_states/position/{}", "/joint_states/effort/{}")],
        ["timestamp", *(f"/joint_states/{s}[{k}]" for s in ("position", "effort") for k in range(3))],
        ["t", *(f"{s}[{k}]" for s in ("q", "tau") for k in range(3))],
        ["t", *(f"{s}_{k}" for s in ("q", "tau") for k in (1, 2, 3))],
        ["t", *(f"actual_{s}_{k}" for s in ("q",) for k in (1, 2, 3)), "tau1", "tau2", "tau3"],
    ],
    ids=lambda header: header[1],
)
def test_columns_are_found_by_number_and_by_joint_name(tmp_path: Path, header: list[str]) -> None:
    columns = {"q": "actual_q"} if header[1].startswith("actual") else None
    data = same(written(tmp_path / "r.csv", header, T, Q, TAU), columns=columns)
    assert data.joints == (("elbow", "wrist1", "wrist2") if "elbow" in header[1] else ())


@pytest.mark.claim("torques named by joint follow positions into the robot's order")
@pytest.mark.claim("two unused columns of one name are no reason to refuse a recording")
def test_unused_columns_may_have_one_name(tmp_path: Path) -> None:
    written(tmp_path / "r.csv", ["t", "mode", "mode", *NAMES], T, 0 * T, 0 * T, Q, TAU)
    np.testing.assert_array_equal(read_dataset(tmp_path / "r.csv").q, Q)


def test_signals_named_alike_are_ordered_alike(tmp_path: Path) -> None:
    header = ["t", "q_joint3", "q_joint1", "q_joint2", "tau_joint1", "tau_joint2", "tau_joint3"]
    read = read_dataset(written(tmp_path / "r.csv", header, T, Q[:, [2, 0, 1]], TAU))
    data = check_against(read, load_robot("three_link"))
    np.testing.assert_array_equal(data.q, Q)
    np.testing.assert_array_equal(data.tau, TAU)


@pytest.mark.parametrize("first", ["tau_joint_a", "torque_joint_a", "tau_j_a"])
def test_a_joints_name_may_begin_as_another_word_for_the_signal(first: str, tmp_path: Path) -> None:
    """``tau_joint_a1`` beside ``q_joint_a1`` is the torque of 'joint_a1', not the joint torque of 'a1'."""
    stem = first.split("_", 1)[1]
    header = ["time", *(f"q_{stem}{k}" for k in (1, 2, 3)), *(f"{first}{k}" for k in (3, 1, 2))]
    data = same(written(tmp_path / "r.csv", header, T, Q, TAU[:, [2, 0, 1]]))
    assert data.joints == tuple(f"{stem}{k}" for k in (1, 2, 3))


def test_time_in_other_units(tmp_path: Path) -> None:
    ms = np.arange(0.0, 2 * len(T), 2.0)
    for name, factor in (("t_ms", 1e-3), ("time_us", 1e-6), ("Time [ms]", 1e-3)):
        np.testing.assert_allclose(read_dataset(written(tmp_path / "r.csv", [name, *NAMES], ms, Q, TAU)).t, factor * ms)
    path = written(tmp_path / "r.csv", ["t", *NAMES], np.arange(80.0) * 2, np.tile(Q, (2, 1)), np.tile(TAU, (2, 1)))
    assert read_dataset(path, time_scale=1).t[1] == 2.0
    times = [*(f"11:59:{50 + k}.5 AM" for k in range(10)), *(f"12:00:0{k}.5 PM" for k in range(5))]
    path.write_text("when;q1;tau1\n" + "\n".join(f"{time};{k};1" for k, time in enumerate(times)))
    options = {"columns": {"t": "when", "q": ["q1"], "tau": ["tau1"]}, "text": {"separator": ";"}}
    np.testing.assert_allclose(read_dataset(path, **options).t, np.arange(15.0))
    path.write_text(path.read_text().replace("12:00:01.5 PM", "noon"))
    with pytest.raises(DatasetError, match="sample 11 is 'noon'"):
        read_dataset(path, **options)


@pytest.mark.claim("of several torque columns the one that is used is said")
def test_of_several_torque_columns_the_one_used_is_said(tmp_path: Path) -> None:
    arrays = {
        "t": T,
        "q": Q,
        "tau_sensor": TAU,
        "tau_current": TAU,
        "motor_current": TAU,
        "torque_limits": T,
        "taught": Q,
    }
    np.savez(tmp_path / "run.npz", **arrays)
    assert read_dataset(tmp_path / "run.npz").notes == (
        "run.npz: torques are 'tau_sensor', not tau_current, motor_current (columns = { tau = ... } names another)",
    )
    assert read_dataset(tmp_path / "run.npz", columns={"tau": "tau_sensor"}).notes == ()


# ---------------------------------------------------------------------- numbers that are missing


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


@pytest.mark.claim("samples that are not finite numbers are left out like a gap, and named, unless they are many")
def test_samples_that_are_not_finite_become_a_gap(tmp_path: Path) -> None:
    t = np.arange(0.0, 10.0, 0.01)
    q = np.sin(t)[:, None] * [1.0, 0.5]
    tau = 3.0 * np.cos(t)[:, None] * [1.0, 2.0]
    tau[400:420, 1] = np.nan
    np.savez(tmp_path / "holes.npz", t=t, q=q, tau=tau)
    data = read_dataset(tmp_path / "holes.npz")
    assert len(data) == len(t) - 20
    assert any("20 samples, the first 400" in note and "tau of joint 2" in note for note in data.notes)
    ready = Processing(cutoff=5.0).apply(data)
    assert [one.kind for one in ready.defects] == ["gap"] and ready.mask is not None
    np.testing.assert_allclose(np.interp(4.1, ready.t, ready.q[:, 0]), np.sin(4.1), atol=1e-2)
    tau[:200] = np.inf
    np.savez(tmp_path / "more.npz", t=t, q=q, tau=tau)
    with pytest.raises(DatasetError, match="is not a finite number"):
        read_dataset(tmp_path / "more.npz")
