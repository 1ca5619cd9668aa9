"""Motions have one shape, instants by joints, and other shapes are refused."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest

import casid
from casid.control import ComputedTorque, OperationalSpace, Passive, nominal
from casid.dynamics import Model
from casid.errors import DatasetError, ProblemError
from casid.excitation import Observation
from casid.motion import Basis, Fourier, Motion, Poses, Ramped, Trajectory, read_trajectory, trajectory_text
from tests.helpers import BASES, random_trajectory


@pytest.fixture(scope="module")
def trajectory() -> Trajectory:
    return Trajectory(Fourier(0.5, 2), 0.1 * np.random.default_rng(0).standard_normal((7, 5)))


@pytest.mark.claim("house f: a motion has shape (instants, joints) in trajectories, controllers and observations alike")
def test_a_trajectory_s_motion_is_what_controllers_and_observations_take(trajectory: Trajectory) -> None:
    panda = casid.load_robot("panda")
    motion = trajectory.motion(np.linspace(0, 1, 5))
    assert [part.shape for part in motion] == [(5, 7)] * 3
    assert len(motion) == 5
    assert motion.n == 7
    assert ComputedTorque(*nominal(panda), 100.0, 20.0).rows(motion).shape == (5, 21)  # type: ignore[arg-type]
    assert Observation.of_model(Model(panda)).matrix(motion).shape[0] == 5 * 7


@pytest.mark.claim("house f: a motion of another shape is refused, not read by columns")
def test_motions_of_other_shapes_are_refused(trajectory: Trajectory) -> None:
    panda = casid.load_robot("panda")
    turned = Motion(*(part.T for part in trajectory.motion(np.linspace(0, 1, 5))))
    for use in (
        ComputedTorque(*nominal(panda), 100.0, 20.0).rows,  # type: ignore[arg-type]
        OperationalSpace(*nominal(panda), 100.0, 20.0, "flange").rows,  # type: ignore[arg-type]
        Passive(7).rows,
        Observation.of_model(Model(panda)).matrix,
    ):
        with pytest.raises(DatasetError, match=r"expected a motion of shape \(instants, 7\), got \(7, 5\)"):
            use(turned)
    with pytest.raises(DatasetError, match="one shape"):
        Motion(np.zeros((5, 7)), np.zeros((7, 5)), np.zeros((5, 7)))
    with pytest.raises(DatasetError, match="one shape"):
        Motion(np.zeros(7), np.zeros(7), np.zeros(7))


def test_a_motion_at_rest_and_one_of_coefficients(trajectory: Trajectory) -> None:
    still = Motion.at_rest(np.arange(7.0))
    assert still.q.shape == (1, 7)
    assert not still.dq.any() and not still.ddq.any()
    t = np.linspace(0, 1, 5)
    motion = Motion.of_coefficients(trajectory.coefficients, trajectory.basis.matrices(t))
    for order, part in enumerate(motion):
        assert np.array_equal(part, trajectory.derivative(t, order))


# ---------------------------------------------------------------------- files


@pytest.mark.parametrize("basis", [*BASES, Poses(6)], ids=lambda basis: f"{type(basis).__name__}-{basis.size}")
def test_toml_gives_back_the_same_trajectory(basis: Basis, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    trajectory = Trajectory(basis, rng.normal(size=(2, basis.size)), ('shoulder "1"', "elbow"), "arm")
    path = tmp_path / "trajectory.toml"
    path.write_text(trajectory_text(trajectory), encoding="utf-8")
    back = read_trajectory(path)
    assert back.basis == basis
    assert (back.coefficients == trajectory.coefficients).all()
    assert back.joints == trajectory.joints
    assert back.robot == "arm"


def test_csv_has_the_states_at_the_rate() -> None:
    trajectory = random_trajectory(Ramped(Fourier(0.5, 4), 1.5))
    rows = list(csv.reader(io.StringIO(trajectory_text(trajectory, "csv", 50.0))))
    values = np.array(rows[1:], dtype=float)
    start, end = trajectory.basis.span
    assert rows[0][:2] == ["t", "q_joint1"]
    assert values[:4, 0] == pytest.approx([0, 0.02, 0.04, 0.06])
    assert values[-1, 0] == pytest.approx(end - start)
    assert values[:, 4] == pytest.approx(trajectory.derivative(values[:, 0] + start, 1)[:, 0], abs=1e-8)


def test_ros2_points_carry_states_and_times() -> None:
    yaml = pytest.importorskip("yaml", reason="needs the extra all-tests")
    trajectory = random_trajectory(Fourier(0.5, 2))
    message = yaml.safe_load(trajectory_text(trajectory, "ros2", 10.0))
    assert message["joint_names"] == list(trajectory.joints)
    point = message["points"][7]
    assert point["time_from_start"] == {"sec": 0, "nanosec": 700000000}
    assert point["velocities"] == pytest.approx(trajectory.derivative([0.7], 1)[0])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("harmonics = 2", "harmonics = 2.5", "'harmonics'"),
        ("harmonics = 2", "overtones = 2", "unknown key 'overtones'"),
        ('kind = "fourier"', 'kind = "wavelet"', "fourier, quintic-spline, poses"),
        ("schema = 1", "schema = 7", "schema 1"),
        ("frequency = 0.5\n", "", "missing key 'frequency'"),
        ("[[joint]]", "[[joints]]", "unknown key 'joints'"),
        ("    0.0, # a_1\n", "", "expected 5 numbers"),
        ("    0.0, # a_1\n", "    nan,\n", "NaN"),
    ],
)
def test_a_broken_file_is_refused_with_its_key(old: str, new: str, message: str, tmp_path: Path) -> None:
    text = trajectory_text(Trajectory(Fourier(0.5, 2), np.zeros((1, 5))))
    assert old in text
    path = tmp_path / "broken.toml"
    path.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(DatasetError, match=message):
        read_trajectory(path)


@pytest.mark.claim("every character of a joint's name survives TOML and YAML")
def test_names_of_any_characters_are_read_back(tmp_path: Path) -> None:
    yaml = pytest.importorskip("yaml", reason="needs the extra all-tests")
    names = ("\U000e0001 tag", 'a "quote" \\ back', "$x$ [/b]", "tab\tline\n\x1b[31m", "\u2028é")
    trajectory = Trajectory(Fourier(0.5, 1), np.zeros((5, 3)), names)
    (tmp_path / "t.toml").write_text(trajectory_text(trajectory), encoding="utf-8")
    assert read_trajectory(tmp_path / "t.toml").joints == names
    assert tuple(yaml.safe_load(trajectory_text(trajectory, "ros2", 1.0))["joint_names"]) == names


@pytest.mark.claim("a trajectory file cannot ask for memory or time without end")
def test_sizes_in_a_trajectory_file_have_limits(tmp_path: Path) -> None:
    text = trajectory_text(Trajectory(Fourier(0.5, 2), np.zeros((1, 5))))
    path = tmp_path / "broken.toml"
    for old, new in (
        ("harmonics = 2", "harmonics = 1000000000"),
        ("harmonics = 2", f"harmonics = 1{'0' * 400}"),
        ("periods = 1", "periods = 1000000000"),
        ("frequency = 0.5", "frequency = 1e-300"),
        ("frequency = 0.5", "frequency = inf"),
        ("    0.0, # a_1\n", "    1e300,\n"),
        ("    0.0, # a_1\n", "    true,\n"),
    ):
        assert old in text
        path.write_text(text.replace(old, new), encoding="utf-8")
        with pytest.raises(DatasetError, match=r"broken\.toml"):
            read_trajectory(path)


@pytest.mark.claim("a function of a user that returns another shape is refused where it is taken")
@pytest.mark.parametrize(
    ("name", "value"),
    [("matrix", np.zeros((2, 5))), ("matrix", np.zeros(7)), ("constant", 0.0), ("labels", ("a",)),
     ("derivative_bound", 1.0)],
)  # fmt: skip
def test_shapes_of_a_basis_are_checked(name: str, value: object) -> None:
    given = property(lambda self: value) if name == "labels" else lambda self, *_: value
    basis = type("Own", (Fourier,), {name: given})(1.0, 3)
    with pytest.raises(ProblemError, match=rf"basis 'Own': `{name}.*expected shape .*, got shape"):
        Trajectory(basis, np.zeros((2, 7)))
