"""The graphs of casid.dynamics against a plain numpy oracle and against their own identities."""

import numpy as np
import pytest

from casid import Model
from casid.errors import RobotError
from casid.testing import inverse_dynamics, random_body, random_robot, standard_parameters

TREES = [
    pytest.param({"seed": 0, "n": 1}, id="one joint"),
    pytest.param({"seed": 1, "n": 7, "chain": True}, id="chain"),
    pytest.param({"seed": 2, "n": 6, "chain": True, "shifted_links": True}, id="shifted link frames"),
    pytest.param({"seed": 3, "n": 9, "shifted_links": True}, id="tree"),
]


class Case:
    def __init__(self, seed, **kind):
        self.rng = np.random.default_rng(seed + 100)
        self.robot = random_robot(seed, **kind)
        self.bodies = [random_body(self.rng) for _ in range(self.robot.n)]
        self.pi = standard_parameters(self.bodies)
        self.model = Model(self.robot)
        self.q, self.dq, self.ddq = self.rng.uniform(-2, 2, (3, self.robot.n))

    def __call__(self, function, *inputs):
        return getattr(self.model, function)(*inputs)


@pytest.fixture(params=TREES)
def case(request):
    return Case(**request.param)


def test_inverse_dynamics_is_newton_and_euler(case):
    expected = inverse_dynamics(case.robot, case.bodies, case.q, case.dq, case.ddq, case.robot.gravity)
    tau = case("inverse_dynamics", case.q, case.dq, case.ddq, case.pi)
    np.testing.assert_allclose(tau, expected, atol=1e-11 * abs(expected).max())


def test_torque_is_linear_in_the_parameters(case):
    tau = case("inverse_dynamics", case.q, case.dq, case.ddq, case.pi).ravel()
    Y = case("regressor", case.q, case.dq, case.ddq)
    np.testing.assert_allclose(Y @ case.pi, tau, atol=1e-11 * abs(tau).max())
    Y_b = case("base_regressor", case.q, case.dq, case.ddq)
    np.testing.assert_allclose(Y_b @ case.model.base.values(case.pi), tau, atol=1e-10 * abs(tau).max())


def test_torque_splits_into_inertial_coriolis_and_gravity(case):
    tau = case("inverse_dynamics", case.q, case.dq, case.ddq, case.pi).ravel()
    M, g = case("mass_matrix", case.q, case.pi), case("gravity", case.q, case.pi).ravel()
    c = case("coriolis", case.q, case.dq, case.pi).ravel()
    np.testing.assert_allclose(M @ case.ddq + c + g, tau, atol=1e-11 * abs(tau).max())
    np.testing.assert_array_equal(M, M.T)
    assert np.linalg.eigvalsh(M)[0] > 0
    rows, columns = np.tril_indices(case.robot.n)
    static = case("static_regressor", case.q) @ case.pi
    np.testing.assert_allclose(static, np.concatenate([M[rows, columns], g]), atol=1e-11 * abs(static).max())


def test_christoffel_matrix_makes_dM_minus_2C_skew(case):
    C = case("coriolis_matrix", case.q, case.dq, case.pi)
    scale = max(abs(C).max(), 1.0)
    np.testing.assert_allclose(C @ case.dq, case("coriolis", case.q, case.dq, case.pi).ravel(), atol=1e-11 * scale)
    dM_dq = case.model.derivatives("mass_matrix")(q=case.q, pi=case.pi)["dM_dq"]
    dM = (dM_dq @ case.dq).reshape(case.robot.n, case.robot.n)
    skew = dM - 2 * C
    np.testing.assert_allclose(skew, -skew.T, atol=1e-11 * scale)


def test_forward_dynamics_inverts_inverse_dynamics(case):
    tau = case("inverse_dynamics", case.q, case.dq, case.ddq, case.pi)
    ddq = case("forward_dynamics", case.q, case.dq, tau, case.pi).ravel()
    np.testing.assert_allclose(ddq, case.ddq, atol=1e-9)


def test_energy_rate_is_power(case):
    h = 1e-5
    energies = []
    for sign in (-1, 1):  # along the parabola q + s dq + s^2/2 ddq
        q, dq = case.q + sign * h * case.dq + h**2 / 2 * case.ddq, case.dq + sign * h * case.ddq
        energies.append(case("kinetic_energy", q, dq, case.pi) + case("potential_energy", q, case.pi))
    power = case("inverse_dynamics", case.q, case.dq, case.ddq, case.pi).ravel() @ case.dq
    rate = (energies[1] - energies[0]) / (2 * h)
    assert rate == pytest.approx(power, rel=1e-7, abs=1e-7)
    M = case("mass_matrix", case.q, case.pi)
    assert case("kinetic_energy", case.q, case.dq, case.pi) == pytest.approx(case.dq @ M @ case.dq / 2)


@pytest.mark.parametrize("function", ["inverse_dynamics", "forward_dynamics", "mass_matrix", "coriolis_matrix"])
def test_derivatives_against_finite_differences(case, function):
    f = getattr(case.model, function)
    values = {"q": case.q, "dq": case.dq, "ddq": case.ddq, "tau": case.ddq, "pi": case.pi}
    inputs = {name: values[name] for name in f.name_in()}
    exact = case.model.derivatives(function)(**inputs)
    out, h = f.name_out(0), 1e-6
    for name in set(inputs) - {"pi"}:
        columns = []
        for unit in np.eye(case.robot.n):
            plus, minus = (f(**{**inputs, name: inputs[name] + s * h * unit})[out] for s in (1, -1))
            columns.append((plus - minus).T.ravel() / (2 * h))
        expected = np.stack(columns, axis=1)
        got = exact[f"d{out}_d{name}"]
        np.testing.assert_allclose(got, expected, atol=2e-7 * max(1.0, abs(expected).max()))


def test_joint_wrench_along_the_axis_is_the_torque(case):
    w = case("joint_wrenches", case.q, case.dq, case.ddq, case.pi)
    tau = case("inverse_dynamics", case.q, case.dq, case.ddq, case.pi).ravel()
    for k, joint in enumerate(case.robot.joints):
        part = w[3:, k] if joint.type == "revolute" else w[:3, k]
        assert part @ joint.axis == pytest.approx(tau[k], abs=1e-10 * abs(tau).max())


def test_jacobian_is_the_derivative_of_the_placement(case):
    last = case.robot.joints[-1].link.name
    T, J, h = case.model.frame_placement(last), case.model.frame_jacobian(last)(case.q), 1e-6
    ahead, behind, here = (T(case.q + s * h * case.dq) for s in (1, -1, 0))
    rate = (ahead - behind) / (2 * h)
    spin = rate[:3, :3] @ here[:3, :3].T
    np.testing.assert_allclose(J[:3] @ case.dq, rate[:3, 3], atol=1e-8)
    np.testing.assert_allclose(J[3:] @ case.dq, [spin[2, 1], spin[0, 2], spin[1, 0]], atol=1e-8)


def test_gravity_can_be_set_or_be_an_input(case):
    wall = np.array([9.81, 0.0, 0.0])
    fixed = Model(case.robot, gravity=wall)
    free = Model(case.robot, gravity="input")
    state = (case.q, case.dq, case.ddq, case.pi)
    expected = inverse_dynamics(case.robot, case.bodies, case.q, case.dq, case.ddq, wall)
    np.testing.assert_allclose(fixed.inverse_dynamics(*state), expected, atol=1e-10)
    np.testing.assert_allclose(free.inverse_dynamics(*state, wall), expected, atol=1e-10)
    assert free.inverse_dynamics.name_in() == ["q", "dq", "ddq", "pi", "gravity"]
    assert free.mass_matrix.name_in() == ["q", "pi"]


def test_functions_have_names_and_are_built_once():
    model = Model(random_robot(1, n=3))
    f = model.inverse_dynamics
    assert f is model.inverse_dynamics
    assert (f.name(), f.name_in(), f.name_out()) == ("inverse_dynamics", ["q", "dq", "ddq", "pi"], ["tau"])


def test_errors_name_what_is_known():
    model = Model(random_robot(1, n=3))
    with pytest.raises(RobotError, match=r"no frame 'hand'; known: link1, link2, link3"):
        model.frame_placement("hand")
    with pytest.raises(RobotError, match="no function 'jerk'"):
        model.derivatives("jerk")
    for gravity in ("moon", [0, 0], [0, 0, np.nan], [0, 0, [1, 2]], [0, 0, {}]):
        with pytest.raises(RobotError, match="gravity"):
            Model(model.robot, gravity=gravity)
