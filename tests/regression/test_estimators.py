"""Estimators on one interface, delays, and what data leave undetermined."""

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

import casid
from casid.control import PD, CascadedDrive
from casid.description import Joint, Link, Robot
from casid.description.joint_parameters import JointParameter
from casid.dynamics import Model
from casid.dynamics.terms import JointTerm, friction_terms
from casid.errors import DatasetError, SolveError
from casid.identification import Checks, Choice, Constraints, ModelOptions, identify
from casid.measurement import Dataset, Processing
from casid.regression import MeasurementNoise, compress, ols, unexcited_reasons, wls
from casid.regression.estimators import (
    OLS,
    ClosedLoop,
    InstrumentalVariables,
    MaximumLikelihood,
    Observations,
    OutputError,
    estimator,
)
from casid.testing import motion, recording
from problems.spatial_2r import true_parameters

FRICTION = ("viscous", "coulomb", "offset")


# ---------------------------------------------------------------------- what data leave open


@pytest.mark.claim("collinear terms do not grow to 1e5 N.m")
def test_terms_that_noise_alone_tells_apart_are_regrouped():
    robot = casid.load_robot("kuka_iiwa")
    parameter = JointParameter("al", "N.m", "almost a constant")
    almost = JointTerm("almost", parameter, _almost_one, joints=(robot.joints[6].name,))
    model = Model(robot, (*FRICTION, almost))
    truth = model.parameters(robot.standard_parameters(), [2.0, 3.0, 0.5] * 7 + [0.0])
    data = recording(model, truth, samples=3000, noise=0.1)
    for fit in (ols(compress(model, data)), wls(compress(model, data))):
        assert "al7" in fit.unexcited and fit.beta[model.base.row("al7")] == 0.0
        assert any(reason.startswith("al7: acts as fo7") for reason in unexcited_reasons(fit))
        assert fit.beta[model.base.row("fo7")] == pytest.approx(0.5, abs=0.1)
        assert np.abs(fit.beta).max() < 10 * np.abs(data.tau).max()


def _almost_one(signals):
    return 1 + 2e-6 * ca.sin(signals.q)


# ---------------------------------------------------------------------- estimators


def axis():
    place = np.eye(4)
    robot = Robot("axis", (Joint("axis", "prismatic", -1, Link("carriage"), place, np.array([0.0, 0.0, 1.0])),))
    return Model(robot, friction_terms("smooth", [[1e-3]]), gravity=(0.0, 0.0, 0.0))


LINKS = np.tile([0.2, 0.0, 0.0, 0.3, 0.0, 0.3, 0.5, 0.1, 0.0, 2.0], 2)
TRUTH = np.array([95.0, 203.0, 20.0, -3.0])


@pytest.fixture(scope="module")
def loop():
    t = np.arange(0, 2.0, 1e-3)
    reference = (0.2 - 0.05 * np.cos(np.pi * t) - 0.01 * np.cos(2.6 * np.pi * t))[:, None]  # from rest
    zero = np.zeros_like(reference)
    return ClosedLoop(axis(), CascadedDrive(160.18, 243.45, 1e-3, 10.0, 35.15), reference, zero, zero, 1e-3)


def test_simulated_motion_obeys_the_model_and_its_derivatives_are_exact(loop):
    made = loop.simulate(TRUTH)
    again = loop.model.with_base_parameters().inverse_dynamics
    tau = again(made.q, made.dq, made.ddq, TRUTH)
    np.testing.assert_allclose(tau, made.tau, atol=1e-8)
    np.testing.assert_allclose(np.gradient(made.q[:, 0], made.t)[5:-5], made.dq[5:-5, 0], atol=5e-4)
    q, J = loop.positions(TRUTH)
    np.testing.assert_array_equal(q, made.q)
    for k, step in enumerate((1e-2, 1e-2, 1e-3, 1e-3)):
        d = np.zeros(4)
        d[k] = step
        numeric = (loop.simulate(TRUTH + d).q - loop.simulate(TRUTH - d).q) / (2 * step)
        np.testing.assert_allclose(J[:, :, k], numeric, atol=1e-3 * np.abs(numeric).max())
    with pytest.raises(SolveError, match="diverges at t ="):
        loop.simulate([1e-6, 203.0, 20.0, -3.0])


def test_instruments_take_the_bias_of_position_noise_away(loop):
    model, made = loop.model, loop.simulate(TRUTH)
    # a held torque belongs to the middle of its step
    process = Processing(cutoff=None, every=1, trim=0.1, delay=-0.5e-3)
    estimator = InstrumentalVariables(lambda beta: [process.apply(bare(loop.simulate(beta)))])
    errors = {"OLS": [], "IDIM-IV": []}
    for seed in range(8):
        data = Observations(model, process.apply(noisy(made, np.random.default_rng(seed), 1e-6, 0.5)))
        for fit in (OLS().fit(data), estimator.fit(data)):
            errors[fit.method].append((fit.beta - TRUTH) / fit.sd)
    scores = {name: np.array(e) for name, e in errors.items()}
    assert np.abs(scores["OLS"].mean(axis=0)).max() > 3
    assert np.abs(scores["IDIM-IV"].mean(axis=0)).max() < 1.5
    assert 0.6 < np.sqrt(np.mean(scores["IDIM-IV"] ** 2)) < 1.6


def bare(data):
    return Dataset(data.t, data.q, data.tau)


def noisy(data, rng, position, torque):
    """Positions and torques alone, with white noise of these deviations."""
    q, tau = (x + sd * rng.normal(size=x.shape) for x, sd in ((data.q, position), (data.tau, torque)))
    return Dataset(data.t, q, tau)


def test_output_error_finds_the_truth_from_positions(loop):
    made = loop.simulate(TRUTH)
    rng = np.random.default_rng(0)
    start = loop.simulate(TRUTH * [1.1, 0.9, 1.05, 0.8])
    data = Observations(loop.model, Processing(cutoff=None, every=1, trim=0.1).apply(bare(start)))
    measured = made.q + 1e-6 * rng.normal(size=made.q.shape)
    fit = OutputError(loop, measured).fit(data)
    assert np.abs((fit.beta - TRUTH) / fit.sd).max() < 4
    np.testing.assert_allclose(fit.beta, TRUTH, rtol=0.02, atol=0.1)
    with pytest.raises(DatasetError, match="positions: expected shape"):
        OutputError(loop, measured[:10]).fit(data)


@pytest.mark.parametrize(
    "controller", [PD([900.0, 400.0], [40.0, 20.0]), CascadedDrive(20.0, 3.0, 1e-3, 100.0, 10.0, 2)]
)
def test_sensitivities_of_several_joints_under_control_are_derivatives(controller, monkeypatch):
    """Along the motion in stretches of 64 steps, with and without a memory of the controller."""
    monkeypatch.setattr("casid.regression.estimators._simulated.CHUNK", 64)
    robot = casid.load_robot("spatial_2r")
    model = Model(robot, friction_terms("smooth", [[0.05]] * 2))
    t = np.arange(0, 0.3, 1e-3)
    reference = 0.3 * np.sin(2 * np.pi * t)[:, None] * [1.0, -0.7]
    velocity = np.gradient(reference, t, axis=0)
    loop = ClosedLoop(model, controller, reference, velocity, 0 * velocity, 1e-3, substeps=2)
    beta = model.base.values(model.parameters(LINKS, [1.0, 2.0, 0.1] * 2))
    q, J = loop.positions(beta)
    np.testing.assert_array_equal(q, loop.simulate(beta).q)
    for k in range(len(beta)):
        step = np.zeros(len(beta))
        step[k] = 1e-4
        numeric = (loop.simulate(beta + step).q - loop.simulate(beta - step).q) / 2e-4
        np.testing.assert_allclose(J[:, :, k], numeric, atol=1e-5 * np.abs(numeric).max())
    for steps in (1, 2):
        short = replace(loop, **{x: getattr(loop, x)[:steps] for x in ("reference", "velocity", "acceleration")})
        np.testing.assert_allclose(short.positions(beta)[1], J[:steps], atol=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [({"period": 0.0}, "period and substeps must be positive"), ({"period": np.nan}, "must be positive"),
     ({"substeps": 0}, "must be positive"), ({"velocity": np.zeros((5, 1))}, r"velocity: expected shape"),
     ({"reference": np.full((2000, 1), np.nan)}, "reference: entry")],
)  # fmt: skip
def test_a_loop_has_numbers_for_every_step(loop, change, message):
    with pytest.raises(DatasetError, match=message):
        replace(loop, **change)


@pytest.mark.parametrize(
    "noise",
    [(np.zeros((2, 3, 3)), [1.0, 0.0]), (np.zeros((2, 3, 3)), [1.0, -1.0]), (np.full((2, 3, 3), np.nan), [1.0, 1.0]),
     (np.zeros((2, 3, 3)), [1.0]), (np.zeros((2, 2, 3)), [1.0, 1.0]), (np.zeros((2, 3, 3)), [np.nan, 1.0])],
)  # fmt: skip
def test_noise_has_a_covariance_a_joint_and_positive_variances(noise):
    model = Model("spatial_2r", FRICTION)
    data = Observations(model, recording(model, model.parameters(true_parameters(), [1.0, 2.0, 0.5] * 2), samples=60))
    with pytest.raises(DatasetError, match="expected finite covariances of shape"):
        MaximumLikelihood(MeasurementNoise(noise[0], np.array(noise[1]))).fit(data)


def test_positions_alone_say_what_they_do_not_tell(loop):
    idle = JointTerm("idle", JointParameter("id", "N.m", "almost a constant"), _hardly)
    model = Model(loop.model.robot, (*loop.model.terms, idle), gravity=(0.0, 0.0, 0.0))
    wider = replace(loop, model=model)
    made = loop.simulate(TRUTH)
    rng = np.random.default_rng(0)
    measured = made.q + 1e-6 * rng.normal(size=made.q.shape)
    start = np.append(TRUTH * [1.1, 0.9, 1.05, 0.8], 0.0)
    data = Observations(model, Processing(cutoff=None, every=1, trim=0.1).apply(bare(loop.simulate(start[:4]))))
    fit = OutputError(wider, measured, start=start).fit(data)
    assert fit.unexcited == ("id1",) and fit.indirect
    assert any(reason.startswith("id1: acts as fo1") for reason in unexcited_reasons(fit))
    assert np.abs((fit.beta[:4] - TRUTH) / fit.sd[:4]).max() < 4
    with pytest.raises(DatasetError, match=r"start: expected shape \(5,\)"):
        OutputError(wider, measured, start=TRUTH).fit(data)


def _hardly(signals):
    return 1 + 2e-7 * ca.sin(7.0 * signals.q)


def planar():
    """A planar arm, its exact base parameters, and a recording with the torques of the differentiated motion."""
    model = Model("spatial_2r", ("viscous", "offset"))
    truth = model.parameters(LINKS, [1.0, 0.2] * 2)
    t, q, *_ = motion(2, 4000, 1)
    moved = Processing(cutoff=None, every=1, trim=0.0).apply(Dataset(t, q, np.zeros_like(q)))
    clean = Dataset(t, q, model.inverse_dynamics(q, moved.dq, moved.ddq, truth))
    return model, model.base.values(truth), clean, moved


@pytest.mark.parametrize("spread", [2e-6, 1e-5])
def test_maximum_likelihood_takes_the_bias_of_position_noise_away(spread):
    model, exact, clean, _ = planar()
    process = Processing(cutoff=None, every=1, trim=0.1)
    scores = {"OLS": [], "ML": []}
    for seed in range(6):
        raw = noisy(clean, np.random.default_rng(seed), spread, 0.05)
        data = Observations(model, process.apply(raw))
        noise = MeasurementNoise.of(raw, process)
        assert np.sqrt(noise.motion[:, 0, 0]) == pytest.approx([spread] * 2, rel=0.1)
        assert np.sqrt(noise.torque) == pytest.approx([0.05] * 2, rel=0.1)
        likely = MaximumLikelihood(noise).fit(data)
        for fit in (OLS().fit(data), likely):
            scores[fit.method].append((fit.beta - exact) / likely.sd)
    assert np.abs(np.mean(scores["OLS"], axis=0)).max() > 8
    assert np.abs(np.mean(scores["ML"], axis=0)).max() < 1.5
    assert 0.5 < np.sqrt(np.mean(np.square(scores["ML"]))) < 1.4


@pytest.mark.slow
def test_identify_takes_any_estimator(loop):
    model, exact, clean, moved = planar()
    robot, process, rng = model.robot, Processing(cutoff=None, every=1, trim=0.1), np.random.default_rng(0)
    raw = noisy(clean, rng, 1e-5, 0.05)
    plain = {"model": ModelOptions(terms=("viscous", "offset")), "processing": process}
    plain |= {"constraints": Constraints(build=None), "checks": Checks(verdict=False)}
    found = {method: identify(robot, raw, estimator=method, **plain) for method in ("OLS", "ML")}
    error = {method: np.abs(result.feasible.beta - exact).max() for method, result in found.items()}
    shares = {method: result.share.share for method, result in found.items()}
    assert shares["ML"] < 0.01 < shares["OLS"]  # 100 % by held-out torques, which are noise of accelerations
    assert error["ML"] < 0.3 * error["OLS"] and found["ML"].feasible.solution.feasible
    assert all(result.held_out is not None for result in found.values())
    assert found["ML"].record()["base_parameters"][0]["sd"] > 0

    made, process = loop.simulate(TRUTH), Processing(cutoff=None, every=1, trim=0.1, delay=-0.5e-3)
    rough = noisy(made, rng, 1e-6, 0.5)
    instruments = InstrumentalVariables(lambda beta: [process.apply(bare(loop.simulate(beta)))])
    plain |= {"model": ModelOptions(terms=loop.model.terms), "processing": process}
    plain |= {"choice": Choice(believable=False)}  # of all consistent sets the nearest in the estimate's own metric
    with pytest.raises(SolveError, match="IDIM-IV: its equations do not determine"):  # another gravity than the loop's
        identify(loop.model.robot, rough, estimator=instruments, **plain)
    plain |= {"model": ModelOptions(terms=loop.model.terms, gravity=(0.0, 0.0, 0.0))}
    result = identify(loop.model.robot, rough, estimator=instruments, **plain)
    np.testing.assert_allclose(result.feasible.beta, result.unconstrained.beta, rtol=5e-2)
    given = replace(raw, dq=moved.dq, ddq=moved.ddq)
    for method, message in (("IV", "unknown method 'IV'"), ("ML", "it needs a Processing")):
        with pytest.raises(DatasetError, match=message):
            identify(robot, given, estimator=method, processing=False, model=ModelOptions(terms=("viscous", "offset")))


@pytest.mark.claim("house g: every estimator can be fitted again to a part of the data")
@pytest.mark.parametrize("name", ["WLS", "OLS", "IRLS", "ML"])
def test_estimators_by_name_refit_on_a_part(name):
    robot = casid.load_robot("spatial_2r")
    model = Model(robot, FRICTION)
    truth = model.parameters(true_parameters(), [1.0, 2.0, 0.5] * 2)
    data = recording(model, truth, samples=1200, noise=0.05)
    noise = MeasurementNoise(np.zeros((2, 3, 3)), np.full(2, 0.05**2))
    observations = Observations(model, data, lambda: noise)
    whole = estimator(name).fit(observations)
    part = whole.data.only(range(6))
    refitted = estimator(name).refit(part, whole, observations)
    assert refitted.data is part
    half = data.rows(slice(0, 600), "half")
    alone = wls(compress(model, half), whole.weights if name == "IRLS" else None)
    if name in ("WLS", "OLS"):
        np.testing.assert_allclose(refitted.beta, estimator(name).fit(Observations(model, half)).beta, atol=1e-9)
    elif name == "ML":
        np.testing.assert_allclose(refitted.beta, estimator(name).fit(Observations(model, half, lambda: noise)).beta)
    np.testing.assert_allclose(refitted.beta, alone.beta, rtol=0.2, atol=0.2)
    with pytest.raises(DatasetError, match="unknown method 'best'; known: WLS, OLS, IRLS, ML"):
        estimator("best")


def test_output_error_and_instruments_refit_on_a_part(loop):
    made = loop.simulate(TRUTH)
    noise = 1e-3 * np.random.default_rng(0).normal(size=made.tau.shape)
    data = Dataset(made.t, made.q, made.tau + noise, made.dq, made.ddq)
    observations = Observations(loop.model, data)
    for one in (OutputError(loop, made.q), InstrumentalVariables(lambda beta: [loop.simulate(beta)])):
        whole = one.fit(observations)
        refitted = one.refit(whole.data.only(range(0, 12, 2)), whole, observations)
        np.testing.assert_allclose(refitted.beta, TRUTH, rtol=1e-3)
