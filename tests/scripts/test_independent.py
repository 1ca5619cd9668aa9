"""Main numbers of the documents' pages, computed again in plain numpy from the tables and recordings alone."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from tests.scripts.plain_dynamics import frames, leading, regressor
from tests.scripts.published_numbers import (
    DATA,
    about_centre,
    about_origin,
    numbers,
    panda_rows,
    standard,
    table,
    wam_rows,
)

GRAVITY = 9.80665
PERIOD, HARMONICS = 12.5, 6


# ---------------------------------------------------------------------- the Panda
@cache
def reverse_engineered() -> tuple[np.ndarray, np.ndarray, list[int]]:
    """Rows of ``[vech M; g]`` in all 70 parameters, their values, and the leading columns."""
    data = np.load(DATA / "panda" / "reverse_engineering_1010.npz")
    q, M, g = data["q"], data["M"], data["g"]
    still, count = np.zeros_like(q), len(q)
    parts, values = [regressor(panda_rows(), q, still, still, False, GRAVITY)], [g.reshape(count, 7)]
    for j in range(7):
        unit = still.copy()
        unit[:, j] = 1.0
        parts.append(regressor(panda_rows(), q, still, unit, False, 0.0)[:, j:])
        values.append(M.reshape(count, 7, 7)[:, j:, j])
    W = np.concatenate([part.reshape(-1, 70) for part in parts])
    tau = np.concatenate([value.reshape(-1) for value in values])
    return W, tau, leading(W[:: len(W) // 3000])


@cache
def fitted() -> tuple[np.ndarray, float, float, np.ndarray]:
    """Coefficients, condition number, relative error [%], relative standard deviations [%]."""
    W, tau, columns = reverse_engineered()
    A = W[:, columns]
    x, *_ = np.linalg.lstsq(A, tau, rcond=None)
    rest = tau - A @ x
    variance = rest @ rest / (len(tau) - len(x))
    sd = np.sqrt(variance * np.diag(np.linalg.inv(A.T @ A)))
    error = 100 * float(np.linalg.norm(rest) / np.linalg.norm(tau))
    return x, float(np.linalg.cond(A)), error, 100 * sd / np.abs(x)


def as_coefficients(parameters: np.ndarray) -> np.ndarray:
    """Base parameters of standard ones: what least squares makes of the torques they give."""
    W, _, columns = reverse_engineered()
    W = W[:: len(W) // 3000]
    return np.asarray(np.linalg.lstsq(W[:, columns], W @ parameters, rcond=None)[0])


@cache
def places() -> list[int]:
    """Of each printed coefficient, the fitted one with its value."""
    printed, found = numbers("panda_table_III_dynamic_coefficients", "pi_RE")[:43], fitted()[0]
    return [int(np.abs(found - value).argmin()) for value in printed]


def reliable() -> np.ndarray:
    return numbers("panda_table_III_dynamic_coefficients", "sd_RE_percent")[:43] <= 30


def test_43_coefficients_with_the_printed_digits():
    x, *_ = fitted()
    printed = numbers("panda_table_III_dynamic_coefficients", "pi_RE")[:43]
    assert len(x) == 43 and len(set(places())) == 43
    assert np.abs(x[places()] - printed).max() <= 0.6e-4


def test_condition_number_and_error_of_the_reverse_engineering():
    _, condition, error, sd = fitted()
    assert round(condition, 2) == 48.91
    assert error == pytest.approx(0.001076, abs=0.5e-6)
    assert int((sd <= 30).sum()) == 43 and int(reliable().sum()) == 41


def test_misfit_of_the_printed_and_of_the_retrieved_set():
    import casid

    chosen, own = np.array(places())[reliable()], fitted()[0]
    printed = numbers("panda_table_III_dynamic_coefficients", "pi_RE")[:43][reliable()]
    solution = casid.solve(casid.load_problem("panda_retrieval"))
    misfit = {
        name: float(np.sum((as_coefficients(x)[chosen] - printed) ** 2))
        for name, x in (("p_hat", standard("p_hat")), ("casid", solution.standard_parameters))
    }
    assert misfit["casid"] == pytest.approx(3.8607e-4, abs=0.5e-8)
    assert misfit["p_hat"] == pytest.approx(1.290e-3, abs=0.5e-6)
    for ten in solution.standard_parameters.reshape(7, 10):
        L = about_origin(ten)
        pseudo = np.block([[np.trace(L) / 2 * np.eye(3) - L, ten[6:9, None]], [ten[None, 6:9], ten[9:, None]]])
        assert np.linalg.eigvalsh(pseudo)[0] > 0
    assert own.shape == (43,)


def test_delta_has_a_negative_moment_and_is_far_from_the_coefficients():
    ten = standard("delta")[10:20]
    assert np.linalg.eigvalsh(about_centre(ten))[0] < 0
    printed = numbers("panda_table_III_dynamic_coefficients", "pi_RE")[:43][reliable()]
    chosen = np.array(places())[reliable()]
    assert np.sum((as_coefficients(standard("delta"))[chosen] - printed) ** 2) == pytest.approx(6.4e-2, abs=1e-3)


def test_37_of_41_printed_coefficients_of_p_hat_follow():
    printed = numbers("panda_table_III_dynamic_coefficients", "pi_of_p_hat")[:43]
    follow = np.abs(as_coefficients(standard("p_hat"))[places()] - printed) <= 1.05e-4
    assert int((~np.isnan(printed)).sum()) == 41 and int(follow.sum()) == 37


def test_condition_number_and_printed_error_of_the_classical_identification():
    from benchmarks import recordings

    data = recordings.panda(cutoff=5.0, trim=0.5, every=1)
    links = regressor(panda_rows(), data.q, data.dq, data.ddq, False, GRAVITY)
    columns, eye = reverse_engineered()[2], np.eye(7)
    friction = np.concatenate(
        [data.dq[:, :, None] * eye, np.sign(data.dq)[:, :, None] * eye, np.tile(eye, (len(data.q), 1, 1))], axis=2
    )
    W = np.concatenate([links[:, :, columns], friction], axis=2).reshape(-1, 64)
    assert np.sqrt(np.linalg.cond(W.T @ W)) == pytest.approx(115.67, abs=0.01)
    rows, beta = table("panda_table_III_dynamic_coefficients"), np.zeros(64)
    beta[places()] = [float(row["pi_CLS"]) for row in rows[:43]]
    for row in rows[43:]:
        kind, joint = row["expression_exact"][:2], int(row["expression_exact"][2])
        beta[43 + 7 * ("fv", "fc", "fo").index(kind) + joint - 1] = float(row["pi_CLS"])
    tau = data.tau.reshape(-1)
    assert 100 * np.linalg.norm(W @ beta - tau) / np.linalg.norm(tau) == pytest.approx(1.416, abs=1e-3)


# ---------------------------------------------------------------------- the WAM
@cache
def coupling() -> np.ndarray:
    given = {"n3": 1.68, "n6": 1.0}
    T = np.zeros((7, 7))
    for i, row in enumerate(table("wam_eq_4_5_Tc")):
        for j, text in enumerate(row.values()):
            sign, body = (-1.0, text[1:]) if text.startswith("-") else (1.0, text)
            T[i, j] = sign * (1 / given[body[2:]] if body.startswith("1/") else float(body))
    return T


def reference(name: str, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions, speeds and accelerations of trajectory A or B, written out."""
    q, dq, ddq = (np.zeros((len(t), 7)) for _ in range(3))
    for k, row in enumerate(table(f"wam_table_4_{4 if name == 'A' else 5}_trajectory_{name}")):
        values = [float(text) for key, text in row.items() if key != "joint"]
        q[:, k] = values[-1]
        for i in range(1, HARMONICS + 1):
            a, b, w = values[i - 1], values[HARMONICS + i - 1], 2 * np.pi / PERIOD * i
            q[:, k] += a / w * np.sin(w * t) - b / w * np.cos(w * t)
            dq[:, k] += a * np.cos(w * t) + b * np.sin(w * t)
            ddq[:, k] += -a * w * np.sin(w * t) + b * w * np.cos(w * t)
    return q, dq, ddq


def wam_columns(q: np.ndarray, dq: np.ndarray, ddq: np.ndarray) -> np.ndarray:
    """Links, joint friction, motor friction and rotors behind the differentials, joint by joint, (7 N, 119)."""
    links, T, count = regressor(wam_rows(), q, dq, ddq, True, GRAVITY), coupling(), len(q)
    motor, faster = dq @ T, ddq @ T
    parts = []
    for k in range(7):
        parts.append(links[:, :, 10 * k : 10 * k + 10])
        joint = np.zeros((count, 7, 3))
        joint[:, k] = np.column_stack([dq[:, k], np.sign(dq[:, k]), np.ones(count)])
        own = np.column_stack([motor[:, k], np.sign(motor[:, k]), np.ones(count), faster[:, k]])
        parts += [joint, T[None, :, k, None] * own[:, None, :]]
    return np.concatenate(parts, axis=2).reshape(-1, 119)


@pytest.mark.parametrize(("name", "expected"), [("A", 107.8), ("B", None)])
def test_76_base_parameters_and_the_condition_number_of_the_trajectories(name, expected):
    W = wam_columns(*reference(name, np.arange(0.0, PERIOD, 0.01)))
    columns = leading(W[::3])
    assert len(columns) == 76
    condition = float(np.linalg.cond(W[:, columns]))
    assert condition == pytest.approx(expected, abs=0.06) if expected else abs(condition / 111 - 1) <= 0.05


def links_of(column: str) -> np.ndarray:
    """Leading link parameters and rotors of a column of Table 4.9, shape (7, 11)."""
    found = np.zeros((7, 11))
    order = "L_xx L_xy L_xz L_yy L_yz L_zz l_x l_y l_z m_ Iam".split()
    for row in table("wam_table_4_9_feasible_estimates"):
        name, joint = row["first_term"][:-1], int(row["first_term"][-1])
        if name in order:
            found[joint - 1, order.index(name)] = float(row[column])
    return found


def wam_mass_matrices(column: str, q: np.ndarray) -> np.ndarray:
    given, still = links_of(column), np.zeros_like(q)
    columns = []
    for j in range(7):
        unit = still.copy()
        unit[:, j] = 1.0
        columns.append(regressor(wam_rows(), q, still, unit, True, 0.0) @ given[:, :10].ravel())
    return np.stack(columns, axis=2) + coupling() @ np.diag(given[:, 10]) @ coupling().T


def test_share_of_positive_definite_mass_matrices():
    q = np.random.default_rng(7).uniform(-np.pi, np.pi, (4000, 7))
    bad, good = wam_mass_matrices("beta_WLS", q), wam_mass_matrices("beta_star_WLS", q)
    share = [100 * np.mean(np.linalg.eigvalsh((1 - w) * bad + w * good)[:, 0] > 0) for w in (0.0, 0.5, 0.75, 1.0)]
    assert share[0] == pytest.approx(13.28, abs=2.5)  # 4 standard deviations of 4000 poses
    assert share[1] == pytest.approx(75.55, abs=3.0) and share[2] == pytest.approx(99.76, abs=0.5) and share[3] == 100


def test_at_rest_the_infeasible_mass_matrix_is_indefinite():
    zero = np.zeros((1, 7))
    assert np.linalg.eigvalsh(wam_mass_matrices("beta_WLS", zero)[0])[0] < -1e-3
    assert np.linalg.eigvalsh(wam_mass_matrices("beta_star_e_WLS", zero)[0])[0] > 0


def test_last_frame_of_the_arm_stretched_out():
    R, o, *_ = frames(wam_rows(), np.zeros((1, 7)), True)[-1]
    np.testing.assert_allclose(o[0], [0, 0, 0.55 + 0.3 + 0.06], atol=1e-12)
    np.testing.assert_allclose(R[0], np.eye(3), atol=1e-12)


# ---------------------------------------------------------------------- the spatial 2R robot
def test_volumes_of_the_boxes_around_the_links():
    cylinder = (0.3**2 * 1.5) / (np.pi * 0.15**2 * 1.5)
    second = 0.16**2 * 0.8 / (np.pi * (0.08**2 * 0.6 + 0.2 / 3 * (0.08**2 + 0.08 * 0.02 + 0.02**2)))
    assert round(cylinder, 2) == 1.27 and round(second, 2) == 1.48


# ---------------------------------------------------------------------- what feasibility and its proofs rest on
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
        if k >= 2:
            assert np.linalg.eigvalsh(about_centre(ten))[0] == pytest.approx(2.0e-6, abs=5e-8)
    Y = regressor(panda_rows(), *np.random.default_rng(2).normal(size=(3, 60, 7)), False, 9.8)
    assert len(leading(Y.reshape(-1, 70))) == 43
