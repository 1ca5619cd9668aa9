"""Loads on the last link, and gains from a known one."""

import re
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest

from casid.errors import DatasetError
from casid.inertia import tensor_entries, to_standard
from casid.loads import Payload, gains, payload
from casid.measurement import Dataset
from casid.regression import compress, wls
from casid.testing import recording, with_friction
from tests.helpers import run

LOAD = to_standard(1.7, [0.01, -0.02, 0.15], np.diag([4e-3, 5e-3, 3e-3]))


@pytest.fixture(scope="module")
def known(panda):
    return with_friction(panda)


@pytest.fixture(scope="module")
def model(known):
    return known[0]


@pytest.fixture(scope="module")
def truth(known):
    return known[1]


def loaded_parameters(model, truth, offsets=0.0):
    x = truth.copy()
    x[np.asarray(model.link_columns[-1])] += LOAD
    for column, (term, _) in model.term_columns.items():
        if term.symbol == "fo":
            x[column] += offsets
    return x


def pair(model, truth, samples, noise=0.05, seeds=(3, 5)):
    """Recordings with the load and without it."""
    both = zip((loaded_parameters(model, truth), truth), seeds, strict=True)
    return [recording(model, x, samples=samples, noise=noise, seed=seed) for x, seed in both]


def poses(model, parameters, count, noise, seed):
    rng = np.random.default_rng(seed)
    still = recording(model, parameters, samples=count, seed=seed)
    zero = np.zeros_like(still.q)
    g = np.array(model.inverse_dynamics.map(count)(still.q.T, zero.T, zero.T, np.tile(parameters[:, None], count))).T
    return Dataset(still.t, still.q, g + noise * rng.normal(size=g.shape), zero, zero, name="poses")


def test_a_pair_of_recordings_gives_the_load(model, truth):
    found = payload(model, *pair(model, truth, 600, seeds=(3, 0)))
    assert found.mass == pytest.approx(1.7, rel=0.01)
    np.testing.assert_allclose(found.com, [0.01, -0.02, 0.15], atol=2e-3)
    entries = ("xx", "xy", "xz", "yy", "yz", "zz")
    for letter, true, chosen in (
        ("L", LOAD[:6], found.standard[:6]), ("I", [4e-3, 0, 0, 5e-3, 0, 3e-3], tensor_entries(found.inertia_com)),
    ):  # fmt: skip
        for name, value, own in zip(entries, true, chosen, strict=True):
            low, high = found.intervals[letter + name]
            assert low <= value <= high and low <= own <= high
    assert found.solution.certified and found.error < 0.2 * found.error_without


def test_static_poses_give_mass_and_centre_but_not_inertia(model, truth):
    data = poses(model, loaded_parameters(model, truth, offsets=1.0), 15, 0.05, 4)
    found = payload(model, data, parameters=truth)
    assert found.intervals["m"][0] <= 1.7 <= found.intervals["m"][1]
    for axis, value in zip("xyz", (0.01, -0.02, 0.15), strict=True):
        assert found.intervals[f"c{axis}"][0] <= value <= found.intervals[f"c{axis}"][1]
    assert np.isinf(found.intervals["Lxx"]).all() and np.isinf(found.intervals["Izz"]).all()
    assert not found.inertia_determined and any("moments of inertia" in note for note in found.notes)
    assert found.mass == pytest.approx(1.7, rel=0.03)
    assert np.linalg.eigvalsh(found.inertia_com)[0] > 0


@pytest.mark.claim("a load held by friction at poses is estimated as bounded errors allow, with intervals that hold it")
def test_errors_that_friction_bounds_are_no_normal_noise(model, truth, monkeypatch):
    module = import_module("casid.loads._payload")
    with_load, rng = loaded_parameters(model, truth, offsets=1.0), np.random.default_rng(0)
    errors, held = {"bounded": [], "least squares": []}, []
    for seed in range(6):
        data = poses(model, with_load, 40, 0.0, seed)
        data = replace(data, tau=data.tau + 0.3 * rng.uniform(-1.0, 1.0, data.tau.shape))
        found = payload(model, data, parameters=truth)
        held += [found.intervals[name][0] <= value <= found.intervals[name][1]
                 for name, value in zip(("m", "cx", "cy", "cz"), (1.7, 0.01, -0.02, 0.15), strict=True)]  # fmt: skip
        errors["bounded"].append(np.append(found.com - [0.01, -0.02, 0.15], (found.mass - 1.7) / 10))
        with monkeypatch.context() as patched:
            patched.setattr(module, "bounded_load", lambda *given: None)
            plain = payload(model, data, parameters=truth)
        errors["least squares"].append(np.append(plain.com - [0.01, -0.02, 0.15], (plain.mass - 1.7) / 10))
    size = {name: np.sqrt(np.mean(np.square(values))) for name, values in errors.items()}
    assert size["bounded"] < 0.7 * size["least squares"]
    assert np.mean(held) >= 0.9


def test_gains_from_a_known_load(model, truth):
    factor = 1.0 / 1.135
    weak = [replace(data, tau=factor * data.tau) for data in pair(model, truth, 900)]
    found = gains(model, *weak, mass=1.7)
    assert found.common == pytest.approx(1.135, rel=0.01)
    assert found.interval[0] <= 1.135 <= found.interval[1]
    known = ~np.isnan(found.joints)
    assert known.any()
    np.testing.assert_allclose(found.joints[known], 1.135, rtol=0.05)
    with pytest.raises(DatasetError, match="positive"):
        gains(model, *weak, mass=0.0)


def test_factors_of_joints_are_not_drawn_towards_zero_by_noise(model, truth):
    factors = np.array([1.0, 1.1, 0.9, 1.2, 1.0, 0.8, 1.05])
    found, deviations = [], []
    for seed in range(6):
        data = pair(model, truth, 600, 0.3, (20 * seed, 20 * seed + 1))
        made = gains(model, *[replace(one, tau=one.tau / factors) for one in data], mass=1.7)
        found.append(made.joints)
        deviations.append(made.sd)
    away = (np.array(found) - factors) / np.array(deviations)
    known = ~np.isnan(away)
    assert known.sum() >= 30 and (np.abs(away[known]) < 1.96).mean() > 0.85
    assert np.abs(np.nanmean(np.where(known, away, np.nan), axis=0)).max() < 1.5  # no bias


@pytest.mark.claim("the deviation of a drive's gain is in the units of the gain")
@pytest.mark.parametrize("scale", [0.25, 3.0])
def test_gains_and_their_deviations_scale_with_the_torques_unit(model, truth, scale):
    """Torques in another unit: factors and deviations in the inverse one."""
    data = pair(model, truth, 400, 0.3)
    plain = gains(model, *data, mass=1.7)
    other = gains(model, *[replace(one, tau=one.tau / scale) for one in data], mass=1.7)
    np.testing.assert_allclose(other.joints, scale * plain.joints, rtol=1e-6)
    np.testing.assert_allclose(other.sd, scale * plain.sd, rtol=1e-6)
    assert np.isfinite(plain.sd).any()


def test_exchanged_recordings_are_named_and_no_load_is_noted(model, truth):
    with_load, without = pair(model, truth, 500)
    with pytest.raises(DatasetError, match="are exchanged"):
        payload(model, without, with_load)
    same = recording(model, truth, samples=500, noise=0.05, seed=6)
    assert any("cannot be distinguished from none" in note for note in payload(model, same, without).notes)


def test_what_determines_no_load_is_refused_or_reported(model, truth):
    data = recording(model, truth, samples=300, noise=0.05)
    with pytest.raises(DatasetError, match="one of the two"):
        payload(model, data)
    with pytest.raises(DatasetError, match="cannot be distinguished"):
        gains(model, data, recording(model, truth, samples=300, noise=0.05, seed=9), mass=1.0)
    wide = replace(data, q=3.0 * data.q)
    with pytest.raises(DatasetError, match=r"negative.*motions differ"):
        payload(model, wide, data)
    wide = recording(model, loaded_parameters(model, truth), samples=300, noise=0.05, seed=3)
    narrow = replace(data, **{name: 0.5 * getattr(data, name) for name in ("q", "dq", "ddq")})
    torque = model.inverse_dynamics.map(300)(narrow.q.T, narrow.dq.T, narrow.ddq.T, np.tile(truth[:, None], 300))
    found = payload(model, wide, replace(narrow, tau=np.array(torque).T))
    assert any("motions differ" in note for note in found.notes)
    heavy = truth.copy()
    heavy[np.asarray(model.link_columns[-1])] += to_standard(60.0, [0, 0, 0.2], np.eye(3))
    found = payload(model, recording(model, heavy, samples=300), parameters=truth)
    assert any("heavier than the robot can carry" in note for note in found.notes)


def test_commands(model, truth, tmp_path):
    for name, data in zip(("with", "without"), pair(model, truth, 500), strict=True):
        np.savez(tmp_path / f"{name}.npz", t=data.t, q=data.q, dq=data.dq, ddq=data.ddq, tau=data.tau)
    paths = [tmp_path / "with.npz", "--without", tmp_path / "without.npz"]
    assert "set_target_payload" in run("payload", "panda", *paths, "--out", tmp_path / "out")
    assert (tmp_path / "out" / "payload.json").is_file()
    assert "torques times" in run("gains", "panda", *paths, "--mass", 1.7)
    assert "--without" in run("payload", "panda", paths[0], code=1)


@pytest.mark.claim("the robot controllers' products of inertia are in the order that each of them takes")
def test_fields_of_controllers_have_the_order_of_their_manuals():
    inertia = np.array([[11.0, -1.0, 2.0], [-1.0, 12.0, 3.0], [2.0, 3.0, 13.0]]) * 1e-3
    load = Payload(to_standard(1.5, [0.01, 0.02, 0.03], inertia), {}, {}, None, 0.0, 0.0)
    fields = load.controller_fields(np.eye(4))
    ur = [float(number) for number in re.findall(r"-?[0-9.]+", fields["UR"])]
    assert ur == [1.5, 0.01, 0.02, 0.03, 0.011, 0.012, 0.013, -0.001, 0.002, 0.003]  # Ixx Iyy Izz Ixy Ixz Iyz
    franka = [float(number) for number in re.findall(r"-?[0-9.]+", fields["Franka"])]
    assert franka == [1.5, 0.01, 0.02, 0.03, *inertia.T.ravel().round(6)]


@pytest.mark.claim("a load's intervals contain the error of the robot's own parameters and that of the model")
def test_intervals_grow_with_the_error_of_the_robot_and_of_the_model(model, truth):
    with_load = recording(model, loaded_parameters(model, truth), samples=600, noise=0.05, seed=3)
    widths = {}
    for noise in (0.05, 1.0):
        fit = wls(compress(model, recording(model, truth, samples=300, noise=noise, seed=5)))
        known = np.linalg.pinv(model.base.K) @ fit.beta
        found = payload(model, with_load, parameters=known, information=fit.information)
        widths[noise] = np.ptp(found.intervals["m"])
        assert found.intervals["m"][0] <= 1.7 <= found.intervals["m"][1]
        assert not any("exact" in note for note in found.notes)
    exact = payload(model, with_load, parameters=truth)
    assert any("count as exact" in note for note in exact.notes)
    assert np.ptp(exact.intervals["m"]) < widths[0.05] < widths[1.0]
    creep = 0.4 * np.sign(with_load.dq) * np.exp(-((with_load.dq / 0.3) ** 2))
    mistaken = payload(model, replace(with_load, tau=with_load.tau + creep), parameters=truth)
    assert np.ptp(mistaken.intervals["m"]) > 2 * np.ptp(exact.intervals["m"])
    with pytest.raises(DatasetError, match="information of"):
        payload(model, with_load, parameters=truth, information=(np.eye(3), np.ones(3)))
