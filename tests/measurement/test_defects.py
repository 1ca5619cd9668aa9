"""Defects of recordings: found once, left out or interpolated, named alike by notes and verdict."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import casid
from casid.dynamics import Model
from casid.identification import Checks, ModelOptions, identify
from casid.measurement import Dataset, Processing, check_against, defects, prepare, time_gaps
from tests.measurement.conftest import arm_of, motion

RATE = 500.0


def moving(seed: int = 0, seconds: float = 20.0) -> Dataset:
    """Two joints on sinusoids, with a little noise."""
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, seconds, 1.0 / RATE)
    q = np.sin(2 * np.pi * np.outer(t, [0.3, 0.5])) + 1e-6 * rng.normal(size=(len(t), 2))
    tau = 5 * np.cos(2 * np.pi * np.outer(t, [0.3, 0.4])) + 0.02 * rng.normal(size=(len(t), 2))
    return Dataset(t, q, tau)


def processed(data: Dataset) -> Dataset:
    return Processing(cutoff=10.0, every=1).apply(data)


def named(data: Dataset) -> dict[str, set[int | None]]:
    """Joints by the kind of defect that processing finds."""
    kinds: dict[str, set[int | None]] = {}
    for one in processed(data).defects:
        kinds.setdefault(one.kind, set()).add(one.joint)
    return kinds


def test_a_clean_recording_has_no_defects() -> None:
    made = processed(moving())
    assert made.defects == () and made.mask is None and made.notes == ()


@pytest.mark.claim("lost samples do not spoil their surroundings")
def test_a_gap_is_left_out_with_the_filters_reach() -> None:
    data = moving()
    kept = np.ones(len(data), dtype=bool)
    kept[4000:4040] = kept[8000:8002] = False
    made = processed(data.rows(kept, "lost"))
    short, gap = sorted(made.defects, key=lambda one: one.samples)
    assert (gap.kind, gap.samples, gap.treatment) == ("gap", 40, "left out")
    assert (short.kind, short.samples, short.treatment) == ("gap", 2, "bridged")  # a tenth of the cut-off's period
    assert gap.share + short.share == pytest.approx(42 / len(data))
    ((start, end),) = gap.spans
    out = made.t[~made.mask[:, 0]]
    assert out[0] < start - 0.1 and out[-1] > end + 0.1 and out[-1] - out[0] < 1.0
    assert any("lost samples of all joints, 40 samples" in note for note in made.notes)
    assert any("2 samples" in note and note.endswith("interpolated") for note in made.notes)


@pytest.mark.claim("one list has what is wrong with a recording, reversed torques among it, with the samples of each")
def test_defects_are_listed_with_their_samples(arm: tuple[casid.Robot, Dataset]) -> None:
    robot, data = arm
    assert defects(data, robot) == ()
    tau = np.array(data.tau)
    tau[300, 0] += 4.0
    (spike,) = defects(replace(data, tau=tau))
    tau[:, 1] *= -1.0
    _, reversed_ = defects(replace(data, tau=tau), robot)
    assert (spike.kind, spike.joint, reversed_.kind, reversed_.joint) == ("spike", 0, "reversed", 1)
    assert np.flatnonzero(spike.mask(data.t)).tolist() == [300] and reversed_.mask(data.t).all()
    assert np.flatnonzero(spike.mask(data.t, 0.025)).tolist() == [298, 299, 300, 301, 302]
    (kept,) = check_against(replace(data, tau=data.tau * [1.0, -1.0]), robot).defects
    assert (kept.kind, kept.joint, kept.samples) == ("reversed", 1, len(data))


def test_a_step_of_the_clock_has_lost_what_it_rounds_to() -> None:
    t = np.delete(np.arange(0.0, 4.0, 0.1), [7, 12, 13, 20, 21, 22, 23])
    (gaps,) = time_gaps(t)  # one sample alone is jitter
    np.testing.assert_array_equal(gaps.counts, [2, 4])
    np.testing.assert_allclose(gaps.spans, [[1.1, 1.4], [1.9, 2.4]])
    assert time_gaps(t, 1)[0].samples == 7 and time_gaps(t, 5) == []


def test_a_spike_is_interpolated_and_named() -> None:
    data = moving()
    tau = np.array(data.tau)
    tau[3000, 1] += 3.0
    made = processed(replace(data, tau=tau))
    assert [(one.kind, one.joint, one.samples) for one in made.defects] == [("spike", 1, 1)]
    np.testing.assert_allclose(made.tau, processed(data).tau, atol=0.02)
    assert made.mask[:, 0].all() and not made.mask[:, 1].all()


@pytest.mark.claim("torques in coarse steps are no spikes; spikes among them are")
@pytest.mark.parametrize("joint", [None, 1])
def test_spikes_are_apart_from_steps_of_the_torque(joint: int | None) -> None:
    data = moving()
    tau = 0.03 * np.round(data.tau / 5 / 0.03)
    if joint is not None:
        tau[500::1000, joint] += 5.0
    assert named(replace(data, tau=tau)) == ({} if joint is None else {"spike": {joint}})


def test_frozen_samples_saturation_and_standstill_are_named() -> None:
    data = moving()
    q, tau = np.array(data.q), np.array(data.tau)
    q[2000:2100], tau[2000:2100] = q[2000], tau[2000]
    assert named(replace(data, q=q, tau=tau)) == {"repeats": {None}}
    assert named(replace(data, tau=np.clip(data.tau, [-4.0, -9.0], [4.0, 9.0]))) == {"saturation": {0}}
    rng = np.random.default_rng(1)
    q = np.array(data.q)
    q[5000:6000, 1] = q[5000, 1] + 1e-6 * rng.normal(size=1000)
    q[6000:, 1] += q[5000, 1] - q[6000, 1]
    made = processed(replace(data, q=q))
    (still,) = made.defects
    assert (still.kind, still.joint, still.treatment) == ("standstill", 1, "left out")
    assert still.share == pytest.approx(0.1, abs=0.01)


@pytest.mark.claim("rest is left out however long it is: the motion that counts is that of the recording without it")
@pytest.mark.parametrize("place", [0, 4000, 9999])
def test_rest_of_four_fifths_is_left_out(place: int) -> None:
    data = moving()
    repeats = np.ones(len(data), dtype=int)
    repeats[place] += 4 * len(data)
    order = np.repeat(np.arange(len(data)), repeats)
    noise = 1e-6 * np.random.default_rng(0).normal(size=(len(order), data.n))
    rested = replace(data, t=np.arange(len(order)) * data.period, q=data.q[order] + noise, tau=data.tau[order] + noise)
    made, own = processed(rested), processed(data)
    assert {(one.kind, one.treatment) for one in made.defects} == {("standstill", "left out")}
    counted = len(made) if made.mask is None else int(made.mask.all(axis=1).sum())
    assert 0.85 * len(own) <= counted <= 1.02 * len(own)
    if place != 4000:  # at an end: the samples themselves are gone
        assert len(made) <= 1.05 * len(own)


def test_a_joint_that_never_moves_keeps_its_torques() -> None:
    """What is held by a brake is measured at rest: there is no other part of the recording to take."""
    data = moving()
    q = np.array(data.q)
    q[:, 1] = 0.3 + 1e-4 * np.sin(data.t) ** 21
    made = processed(replace(data, q=q))
    assert [(one.kind, one.joint, one.share, one.treatment) for one in made.defects] == [("standstill", 1, 1.0, "kept")]
    assert made.mask is None and any("standstill of joint 2" in note for note in made.notes)
    assert not made.dq[:, 1].any() and not made.ddq[:, 1].any() and made.dq[:, 0].any()


@pytest.mark.parametrize("noise", [0.0, 0.02])
@pytest.mark.parametrize("held", [1, 20])
@pytest.mark.parametrize("quantum", [0.0, 0.05])
def test_peaks_of_smooth_torques_are_no_saturation(quantum: float, held: int, noise: float) -> None:
    """Neither of a noise-free, noisy, quantised or slow channel; a clipped one is found in each."""
    data = moving()
    tau = 5 * np.cos(2 * np.pi * np.outer(data.t, [0.3, 0.4]))
    tau += noise * np.random.default_rng(3).normal(size=tau.shape)
    tau = np.repeat(tau[::held], held, axis=0)[: len(data)]
    tau = quantum * np.round(tau / quantum) if quantum else tau
    assert "saturation" not in named(replace(data, tau=tau))
    made = processed(replace(data, tau=np.clip(tau, [-4.8, -9.0], [9.0, 9.0])))
    (found,) = (one for one in made.defects if one.kind == "saturation")
    assert found.joint == 0 and found.values["level"] == pytest.approx(-4.8)
    assert found.share == pytest.approx(np.mean(tau[:, 0] <= -4.8), abs=1e-9)


def test_velocities_that_are_not_the_derivative_are_named() -> None:
    data = moving()
    w = 2 * np.pi * np.array([0.3, 0.5])
    exact = w * np.cos(np.outer(data.t, w))
    for scale, joints, factor in (
        ([1.0, 1.0], [], 0), ([0.95, 1.05], [], 0), ([57.3, 1.0], [0], 1 / 57.3), ([0.8, 0.8], [None], 1.25)
    ):  # fmt: skip
        found = [one for one in processed(replace(data, dq=exact * scale)).defects if one.kind == "velocity"]
        assert [one.joint for one in found] == joints
        assert all(one.values["factor"] == pytest.approx(factor, rel=1e-3) for one in found)


def test_a_recording_that_is_taken_as_it_is_has_its_defects_named() -> None:
    data = moving()
    tau = np.array(data.tau)
    tau[:, 1] = 3.0
    w = 2 * np.pi * np.array([0.3, 0.5])
    complete = replace(data, tau=tau, dq=w * np.cos(np.outer(data.t, w)), ddq=-(w**2) * data.q)
    made = prepare(complete, False)
    assert [(one.kind, one.joint, one.treatment) for one in made.defects] == [("dead", 1, "kept")]
    assert made.mask is None and "never changes" in made.notes[0]
    order = np.random.default_rng(0).permutation(len(data))
    states = {name: getattr(complete, name)[order] for name in ("q", "dq", "ddq", "tau")}
    assert prepare(replace(complete, **states)).defects == ()


def swinging(held: float = np.nan, noise: float = 0.0) -> tuple[casid.Robot, Dataset]:
    """A double pendulum with friction, 3,000 samples with noise, whose first joint may be held."""
    robot, rng = arm_of(2), np.random.default_rng(0)
    t, q, dq, ddq = motion(2, 3000, 2, speed=0.8)
    if np.isfinite(held):
        q[:, 0], dq[:, 0], ddq[:, 0] = held, 0.0, 0.0
    body = [0.3, 0.01, 0.02, 0.3, 0.01, 0.2, 0.1, 0.05, 0.1, 2.0]
    pi = np.array([*body, *body, 0.5, 0.4, 0.5, 0.4])
    tau = Model(robot, ("viscous", "coulomb")).inverse_dynamics(q, dq, ddq, pi)
    q = q + noise * rng.normal(size=q.shape)
    return robot, Dataset(np.arange(3000) * (t[1] - t[0]), q, tau + 0.02 * rng.normal(size=tau.shape))


@pytest.mark.claim("a clipped torque is masked, noted and named by the verdict alike")
def test_a_clipped_torque_is_masked_noted_and_judged() -> None:
    """0.4 % of the samples at the first joint, 1 % at the second."""
    robot, data = swinging()
    shares = np.array([0.004, 0.01])
    levels = np.array([np.quantile(column, 1 - share) for column, share in zip(data.tau.T, shares, strict=True)])
    clipped = np.minimum(data.tau, levels)
    model, settings = ModelOptions(terms=("viscous", "coulomb")), Processing(cutoff=8.0, every=5)
    result = identify(robot, replace(data, tau=clipped), processing=settings, model=model, checks=Checks(folds=0))
    (one,) = result.datasets
    places = np.clip(np.searchsorted(data.t, one.t), 0, len(data) - 1)
    at = (clipped == levels)[places]
    assert at.any(axis=0).all() and not one.mask[at].any() and one.mask.any(axis=0).all()
    (note,) = (note for note in one.notes if "saturated" in note)
    assert "joints joint1, joint2" in note and "left out" in note
    found = sorted((f for f in result.verdict.findings if f.kind == "saturation"), key=lambda f: f.joint)
    assert [f.joint for f in found] == ["joint1", "joint2"] and all("left out" in f.text for f in found)
    np.testing.assert_allclose([f.values["share"] for f in found], 100 * shares, rtol=0.05)
    np.testing.assert_allclose([f.values["level"] for f in found], levels, rtol=1e-6)


@pytest.mark.claim("a joint that stands in the whole recording is named, and no friction is read off its noise")
@pytest.mark.parametrize("noise", [5e-5, 2e-4, 1e-3])
def test_a_joint_that_stands_is_named_and_has_no_friction(noise: float) -> None:
    """The first of two joints is held; its position has the noise of an encoder, up to seven times what is motion."""
    robot, data = swinging(0.4, noise)
    result = identify(robot, data, checks=Checks(folds=0))
    assert "joint1: no motion in any recording" in result.verdict.torques and result.verdict.right
    extras = result.feasible.extras
    assert {extras[name] for name in ("fv1", "fc1", "Ia1")} == {0.0} and 0.3 < extras["fc2"] < 0.5
