"""More numbers of the documents' pages, computed again in plain numpy: what feasibility and its proofs rest on."""

from __future__ import annotations

import numpy as np
import pytest

from tests.scripts.plain_dynamics import leading, regressor
from tests.scripts.published_numbers import DATA, numbers, panda_rows, standard, table, wam_rows


def ranks(values: np.ndarray) -> np.ndarray:
    """Ranks, ties by their mean."""
    order = np.argsort(values, kind="stable")
    place = np.empty(len(values))
    place[order] = np.arange(len(values))
    return np.array([place[values == value].mean() for value in values])


def test_two_parameters_carry_nine_tenths_of_the_infeasibility():
    change = numbers("wam_table_4_9_feasible_estimates", "beta_prime_WLS") - numbers(
        "wam_table_4_9_feasible_estimates", "beta_WLS"
    )
    names = [row["first_term"] for row in table("wam_table_4_9_feasible_estimates")]
    share = dict(zip(names, 100 * change**2 / (change @ change), strict=True))
    assert share["Fcj2"] == pytest.approx(63.9, abs=0.1) and share["Iam4"] == pytest.approx(27.1, abs=0.1)


@pytest.mark.parametrize(("term", "expected"), [("gravity", 12), ("Coriolis", 37), ("mass matrix", 39)])
def test_how_many_parameters_each_term_shows(term, expected):
    rng = np.random.default_rng(5)
    q, dq, ddq = rng.uniform(-np.pi, np.pi, (80, 7)), rng.normal(size=(80, 7)), rng.normal(size=(80, 7))
    still = np.zeros_like(q)
    states = {
        "gravity": (still, still, 9.80665), "Coriolis": (dq, still, 0.0), "mass matrix": (still, ddq, 0.0),
    }  # fmt: skip
    speed, acceleration, gravity = states[term]
    Y = regressor(wam_rows(), q, speed, acceleration, True, gravity).reshape(-1, 70)
    assert np.linalg.matrix_rank(Y, tol=1e-9 * np.linalg.norm(Y, 2)) == expected


def test_any_gravity_is_that_of_bodies():
    """First moments alone: with masses and inertias large enough every link is a body."""
    moments = np.random.default_rng(3).normal(size=(20, 3))
    for l in moments:  # noqa: E741
        mass = 100.0
        inertia = np.eye(3) - ((l @ l) * np.eye(3) - np.outer(l, l)) / mass
        assert np.linalg.eigvalsh(inertia)[0] > 0


BETA_T = {
    "Lyy1": 6.4, "Lxx2": -5.48, "Lxy2": 0.072, "Lxz2": -0.087, "Lyz2": 0.051, "Lzz2": 5.6, "lx2": 6.5, "ly2": -0.00075,
    "Lxx3": -0.72, "Lxy3": -0.0098, "Lxz3": -0.0098, "Lyz3": -0.00045, "Lzz3": 0.72, "lx3": 0.95, "ly3": 0.015,
}  # fmt: skip


def least(ixx: float, ixy: float, ixz: float, iyy: float, iyz: float, izz: float) -> float:
    """Least t with ``I + t diag(1, 1, 0) >= 0``, by bisection on eigenvalues."""
    inertia = np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])
    low, high = -100.0, 100.0
    for _ in range(60):
        middle = (low + high) / 2
        positive = np.linalg.eigvalsh(inertia + middle * np.diag([1.0, 1.0, 0.0]))[0] >= 0
        low, high = (low, middle) if positive else (middle, high)
    return high


def taken(m3: float, z3: float) -> float:
    """What links 2 and 3 take from ``Lyy1 + Lyy2 + Lyy3 + m3``: the second link's mass without end."""
    x3, y3 = BETA_T["lx3"], BETA_T["ly3"]
    lyy3 = least(
        BETA_T["Lxx3"] - (y3**2 + z3**2) / m3, BETA_T["Lxy3"] + x3 * y3 / m3, BETA_T["Lxz3"] + x3 * z3 / m3,
        -(x3**2 + z3**2) / m3, BETA_T["Lyz3"] + y3 * z3 / m3, BETA_T["Lzz3"] - (x3**2 + y3**2) / m3,
    )  # fmt: skip
    lyy2 = least(BETA_T["Lxx2"] + m3, BETA_T["Lxy2"], BETA_T["Lxz2"] + z3, 0.0, BETA_T["Lyz2"], BETA_T["Lzz2"] - m3)
    return lyy2 + lyy3 + m3


def test_what_the_regions_of_the_three_link_robot_leave_for_its_first_link():
    best = taken(1.37125651, 0.01497396)
    assert best == pytest.approx(6.4 - 0.197143, abs=2e-6) and best > 6.2  # beta_t1 feasible, beta_t2 not
    rng = np.random.default_rng(1)
    others = [taken(1.37125651 * np.exp(s), 0.01497396 + d) for s, d in 0.02 * rng.normal(size=(60, 2)) if s > -0.08]
    assert min(others) >= best - 1e-5
    assert (BETA_T["lx3"] ** 2 + BETA_T["ly3"] ** 2) / BETA_T["Lzz3"] == pytest.approx(1.2538, abs=1e-4)


def test_the_planar_arm_by_hand_is_a_scan_over_the_free_mass():
    rng, a, agree = np.random.default_rng(6), 0.5, 0
    for _ in range(300):
        first, own, x, y = rng.normal(size=4) * np.array([0.5, 0.3, 0.3, 0.3])
        masses = np.logspace(-4, 5, 4000)
        scanned = bool(((own * masses > x**2 + y**2) & (first - a**2 * masses > 0)).any())
        closed = own > 0 and first > a**2 * (x**2 + y**2) / own
        agree += scanned == closed
    assert agree >= 298  # the scan has gaps of 0.5 %


def test_printed_and_real_parameters_of_the_2r_robot_have_the_same_coefficients():
    def coefficients(column: str) -> np.ndarray:
        p = {row["parameter"]: float(row[column]) for row in table("spatial_2R_table_VII_parameters")}
        L = {}
        for k in (1, 2):
            m, c = p[f"m{k}"], np.array([p[f"c{k}{a}"] for a in "xyz"])
            inertia = np.array([[p[f"I{k}{min(a, b)}{max(a, b)}"] for a in "xyz"] for b in "xyz"])
            L[k] = inertia + m * ((c @ c) * np.eye(3) - np.outer(c, c))
        m, cx, cy, cz = (p[name] for name in ("m2", "c2x", "c2y", "c2z"))
        return np.array([
            L[1][1, 1] + L[2][1, 1] - 0.64 * m, L[2][0, 0] - L[2][1, 1] + 0.64 * m, L[2][0, 1],
            L[2][0, 2] - 0.8 * cz * m, L[2][1, 2], L[2][2, 2] - 0.64 * m, 0.8 * m + cx * m, cy * m,
        ])  # fmt: skip

    real, found = coefficients("p_real"), coefficients("p_hat")
    assert np.abs(real - found).max() <= 1e-3 and real[5] == pytest.approx(-1.85, abs=1e-9)


def test_the_recording_follows_the_printed_series():
    data = np.load(DATA / "panda" / "trajectory_1.npz")
    q, t, w = data["q"], data["t"] - data["t"][0], 0.15 * np.pi
    rows = table("panda_table_II_trajectory")

    def series(joint: int, at: np.ndarray) -> np.ndarray:
        column = {row["parameter"]: float(row[f"joint_{joint + 1}"]) for row in rows}
        parts = [column[f"a_{i}"] / (i * w) * np.sin(i * w * at) - column[f"b_{i}"] / (i * w) * np.cos(i * w * at)
                 for i in range(1, 6)]  # fmt: skip
        return np.sum(parts, axis=0) + column["q_0"]

    inside = (t > 1.0) & (t < 20.0)
    tried = np.array([
        [1e3 * np.sqrt(np.mean((q[inside, k] - series(k, t[inside] - d)) ** 2)) for k in range(7)]
        for d in np.arange(0.514, 0.521, 0.0005)
    ])  # fmt: skip
    rms = tried[np.argmin((tried**2).sum(axis=1))]
    np.testing.assert_allclose(rms, [1.015, 1.632, 0.4771, 1.364, 0.7709, 0.3932, 1.402], rtol=0.02)


def test_printed_delta_has_point_masses_from_the_third_link_on():
    for k, ten in enumerate(standard("delta").reshape(7, 10)):
        m, c = ten[9], ten[6:9] / ten[9]
        L = np.array([[ten[0], ten[1], ten[2]], [ten[1], ten[3], ten[4]], [ten[2], ten[4], ten[5]]])
        least_moment = float(np.linalg.eigvalsh(L - m * ((c @ c) * np.eye(3) - np.outer(c, c)))[0])
        if k >= 2:
            assert least_moment == pytest.approx(2.0e-6, abs=5e-8)
    Y = regressor(panda_rows(), *np.random.default_rng(2).normal(size=(3, 60, 7)), False, 9.8)
    assert len(leading(Y.reshape(-1, 70))) == 43


def test_shares_and_standard_deviations_are_weakly_related():
    change = numbers("wam_table_4_9_feasible_estimates", "beta_prime_WLS") - numbers(
        "wam_table_4_9_feasible_estimates", "beta_WLS"
    )
    deviations = numbers("wam_table_4_6_classical_estimates", "sd_WLS_percent")
    good = np.isfinite(deviations) & (deviations > 0)
    a, b = ranks(change[good] ** 2), ranks(deviations[good])
    assert 0.0 < float(np.corrcoef(a, b)[0, 1]) < 0.5
