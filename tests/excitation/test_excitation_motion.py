"""Bases of motions, their certified bounds, and the files they are written to."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest

import casid
from casid.errors import DatasetError, ProblemError
from casid.excitation import MotionLimits, certify_limits
from casid.motion import Basis, Fourier, Poses, QuinticSpline, Ramped, Trajectory, read_trajectory, trajectory_text

BASES: list[Basis] = [
    Fourier(0.5, 5),
    Fourier(0.7, 3, "position", periods=2),
    QuinticSpline(10.0, 12),
    QuinticSpline(8.0, 9, rest=False),
    Ramped(Fourier(0.5, 4), 1.5),
]
MOTIONS = pytest.mark.parametrize("basis", BASES, ids=lambda basis: f"{type(basis).__name__}-{basis.size}")


def random_trajectory(basis: Basis, n: int = 3) -> Trajectory:
    rng = np.random.default_rng(4)
    return Trajectory(basis, np.array([basis.random(rng) + basis.constant(0.3) for _ in range(n)]))


@MOTIONS
def test_derivatives_are_those_of_the_positions(basis: Basis) -> None:
    start, end = basis.span
    t, h = np.linspace(start + 0.01, end - 0.01, 997), 1e-4
    t = t[np.min([np.abs(t - b) for b in (*basis.breaks, start)], axis=0) > 2 * h]
    for order in range(3):
        numeric = (basis.matrix(t + h, order) - basis.matrix(t - h, order)) / (2 * h)
        exact = basis.matrix(t, order + 1)
        assert np.abs(numeric - exact).max() <= 1e-6 * np.abs(exact).max()


@MOTIONS
def test_bounds_of_derivatives_hold(basis: Basis) -> None:
    trajectory = random_trajectory(basis)
    t = np.linspace(*basis.span, 5001)
    for order in range(4):
        reached = np.abs(trajectory.derivative(t, order)).max(axis=0)
        assert (reached <= basis.derivative_bound(trajectory.coefficients, order) * (1 + 1e-12)).all()


@MOTIONS
def test_a_constant_stands_still(basis: Basis) -> None:
    t = np.linspace(*basis.span, 50)
    assert basis.matrix(t) @ basis.constant(0.7) == pytest.approx(0.7)
    assert np.abs(basis.matrix(t, 1) @ basis.constant(0.7)).max() <= 1e-12


@pytest.mark.parametrize("basis", [QuinticSpline(10.0, 12), Ramped(Fourier(0.5, 4), 1.5)])
def test_starts_and_ends_at_rest(basis: Basis) -> None:
    trajectory = random_trajectory(basis)
    for order in (1, 2):
        assert np.abs(trajectory.derivative(basis.span, order)).max() <= 1e-12


def test_ramps_join_the_motion_smoothly() -> None:
    basis = Ramped(Fourier(0.5, 4), 1.5)
    trajectory = random_trajectory(basis)
    for instant in basis.motion.span:
        for order in range(3):
            before, after = trajectory.derivative([instant - 1e-9, instant + 1e-9], order)
            assert before == pytest.approx(after, abs=1e-7)


def test_the_two_fourier_forms_describe_the_same_motions() -> None:
    w = 0.5
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 3))
    rates = w * np.arange(1, 4)
    t = np.linspace(0, 10, 40)
    velocity = Fourier(w, 3).matrix(t) @ np.concatenate([a, b, [0.2]])
    position = Fourier(w, 3, "position").matrix(t) @ np.concatenate([a / rates, -b / rates, [0.2]])
    written = (
        sum(a[k] / rates[k] * np.sin(rates[k] * t) - b[k] / rates[k] * np.cos(rates[k] * t) for k in range(3)) + 0.2
    )
    assert velocity == pytest.approx(written)
    assert position == pytest.approx(written)


@MOTIONS
def test_certified_limits_are_tight_and_never_too_small(basis: Basis) -> None:
    trajectory = random_trajectory(basis)
    far = np.full((4, 3), 1e3)
    limits = MotionLimits(trajectory.joints, -far, far)
    t = np.linspace(*basis.span, 40001)
    t = np.sort(np.concatenate([t, *(b + np.array([-2e-6, 2e-6]) for b in (*basis.breaks, *basis.span))]))
    t = t[(t >= basis.span[0]) & (t <= basis.span[1])]
    inner = t[np.min([np.abs(t - b) for b in (*basis.breaks, -99.0)], axis=0) > 1e-6]
    checks = certify_limits(trajectory, limits)
    assert len(checks) == 12
    for check in checks:
        order = ("position", "velocity", "acceleration", "jerk").index(check.quantity)
        values = trajectory.derivative(inner, order)[:, trajectory.joints.index(check.joint)]
        size = np.abs(values).max()
        assert values.max() <= check.high <= values.max() + 1e-4 * size
        assert values.min() >= check.low >= values.min() - 1e-4 * size
        assert check.excess < 0


def test_certification_finds_a_peak_between_samples() -> None:
    basis = Fourier(1.0, 4)
    trajectory = Trajectory(basis, np.array([[0, 0, 0, 4.0, 0, 0, 0, 0, 0.0]]))  # velocity 4 cos 4 t
    far = np.full((4, 1), 1e3)
    top = far.copy()
    top[1] = 3.9999
    (velocity,) = (c for c in certify_limits(trajectory, MotionLimits(("a",), -far, top)) if c.quantity == "velocity")
    assert velocity.excess == pytest.approx(1e-4, rel=1e-2)


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
    yaml = pytest.importorskip("yaml", reason="needs the package pyyaml to read the file back")
    trajectory = random_trajectory(Fourier(0.5, 2))
    message = yaml.safe_load(trajectory_text(trajectory, "ros2", 10.0))
    assert message["joint_names"] == list(trajectory.joints)
    point = message["points"][7]
    assert point["time_from_start"] == {"sec": 0, "nanosec": 700000000}
    assert point["velocities"] == pytest.approx(trajectory.derivative([0.7], 1)[0])


def test_ros2_file_is_one_line_a_field() -> None:
    trajectory = random_trajectory(Fourier(0.5, 2))
    lines = trajectory_text(trajectory, "ros2", 1.0).splitlines()
    count = len(trajectory.times(1.0))
    assert sum(line.startswith("- positions: [") for line in lines) == count
    assert sum("time_from_start" in line for line in lines) == count


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


def test_bad_settings_are_refused() -> None:
    for make in (
        lambda: Fourier(0.0, 3), lambda: Fourier(1.0, 0), lambda: Fourier(1.0, 2, "speed"),  # type: ignore[arg-type]
        lambda: QuinticSpline(1.0, 6), lambda: Ramped(Fourier(1.0, 2), 0.0), lambda: Poses(0),
    ):  # fmt: skip
        with pytest.raises(ProblemError):
            make()
    with pytest.raises(DatasetError, match=r"\(n, 5\)"):
        Trajectory(Fourier(1.0, 2), np.zeros((2, 4)))
    with pytest.raises(DatasetError, match="rate"):
        random_trajectory(Fourier(1.0, 2)).times(0.0)


def test_limits_that_cannot_be_used_name_the_joint() -> None:
    wam = casid.load_robot("wam7")
    with pytest.raises(ProblemError, match="no velocity or acceleration limit for joint1"):
        MotionLimits.of_robot(wam)
    panda = casid.load_robot("panda")
    still = np.array(panda.limits.velocity)
    still[3] = 0.0
    from dataclasses import replace

    with pytest.raises(ProblemError, match="joint 'joint4': its velocity limits"):
        MotionLimits.of_robot(panda, limits=replace(panda.limits, velocity=still))
    with pytest.raises(ProblemError, match=r"joint 'joint4' at 0.5 is outside"):
        MotionLimits.of_robot(panda).check_pose([0, 0, 0, 0.5, 0, 1, 0], "start pose")


@pytest.mark.claim("every character of a joint's name survives TOML and YAML")
def test_names_of_any_characters_are_read_back(tmp_path: Path) -> None:
    yaml = pytest.importorskip("yaml", reason="needs PyYAML")
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
