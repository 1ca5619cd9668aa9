"""Defects of recordings: found, named, repaired and left out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from casid.measurement import Dataset, Processing
from casid.measurement._defects import Defect, defect_notes, merged, spoiled, time_gaps
from casid.measurement._processing import measured_is_better

RATE = 500.0


def moving(seed: int = 0, seconds: float = 20.0) -> Dataset:
    """Two joints on sinusoids, with a little noise."""
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, seconds, 1.0 / RATE)
    q = np.sin(2 * np.pi * np.outer(t, [0.3, 0.5])) + 1e-6 * rng.normal(size=(len(t), 2))
    tau = 5 * np.cos(2 * np.pi * np.outer(t, [0.3, 0.4])) + 0.02 * rng.normal(size=(len(t), 2))
    return Dataset(t, q, tau)


def named(data: Dataset) -> dict[str, set[int | None]]:
    """Joints by the kind of defect that processing finds."""
    made = Processing(cutoff=10.0, every=1).apply(data)
    kinds: dict[str, set[int | None]] = {}
    for one in made.defects:
        kinds.setdefault(one.kind, set()).add(one.joint)
    return kinds


def test_a_clean_recording_has_no_defects() -> None:
    made = Processing(cutoff=10.0).apply(moving())
    assert made.defects == () and made.mask is None and made.notes == ()


@pytest.mark.claim("lost samples do not spoil their surroundings")
def test_a_gap_is_left_out_with_the_filters_reach() -> None:
    data = moving()
    kept = np.ones(len(data), dtype=bool)
    kept[4000:4040] = False
    made = Processing(cutoff=10.0, every=1).apply(data.rows(kept, "40 lost"))
    (gap,) = made.defects
    assert (gap.kind, gap.samples, gap.masked) == ("gap", 40, True)
    out = made.t[~made.mask[:, 0]]
    assert out[0] < gap.start - 0.1 and out[-1] > gap.end + 0.1 and out[-1] - out[0] < 1.0
    assert any("lost samples of all joints, 40 samples" in note for note in made.notes)


def test_a_spike_is_interpolated_and_named() -> None:
    data = moving()
    tau = np.array(data.tau)
    tau[3000, 1] += 50.0
    made = Processing(cutoff=10.0, every=1).apply(replace(data, tau=tau))
    assert [(one.kind, one.joint) for one in made.defects] == [("spike", 1)]
    clean = Processing(cutoff=10.0, every=1).apply(data)
    np.testing.assert_allclose(made.tau, clean.tau, atol=0.02)
    assert made.mask[:, 0].all() and not made.mask[:, 1].all()


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
    assert named(replace(data, q=q))["standstill"] == {1}


def test_measured_velocity_is_taken_where_it_has_less_noise_and_agrees() -> None:
    data, rng = moving(), np.random.default_rng(2)
    w = 2 * np.pi * np.array([0.3, 0.5])
    exact = w * np.cos(np.outer(data.t, w))
    q = data.q + 1e-4 * rng.normal(size=data.q.shape)
    good = replace(data, q=q, dq=exact + 1e-4 * rng.normal(size=exact.shape))
    assert measured_is_better(good, 10.0, RATE)
    assert not measured_is_better(replace(good, dq=exact + 0.1 * rng.normal(size=exact.shape)), 10.0, RATE)
    assert not measured_is_better(replace(good, dq=1.2 * exact), 10.0, RATE)
    assert any("less noise" in step for step in Processing(cutoff=10.0).apply(good).steps)


@pytest.mark.claim("a short recording is not trimmed away")
def test_at_most_a_tenth_a_side_is_trimmed() -> None:
    made = Processing(cutoff=10.0, every=1).apply(moving(seconds=2.0))
    assert made.t[0] == pytest.approx(0.2) and made.t[-1] == pytest.approx(1.798, abs=0.01)


def test_defects_near_one_another_are_one_and_spoil_the_filters_reach() -> None:
    spikes = [Defect("spike", 0, 1.0, 1.0, 1), Defect("spike", 0, 1.1, 1.1, 2), Defect("spike", 1, 1.2, 1.2, 1)]
    assert merged(spikes, 0.2) == [Defect("spike", 0, 1.0, 1.1, 3), spikes[2]]
    t = np.arange(0.0, 2.0, 0.1)
    np.testing.assert_allclose(t[spoiled(merged(spikes, 0.2), 0, t, 0.25)], [0.8, 0.9, 1.0, 1.1, 1.2, 1.3])
    (gap,) = time_gaps(np.delete(t, [7, 8, 9, 10]))
    assert (gap.start, gap.end, gap.samples) == (pytest.approx(0.6), pytest.approx(1.1), 4)


def test_counts_of_several_joints_are_of_their_own_samples() -> None:
    both = [Defect("standstill", k, 0.0, 9.0, 900) for k in (0, 1)]
    (still,) = defect_notes("run", both, 0.5)
    assert "joints 1, 2, 1800 torque samples" in still
    (spike,) = defect_notes("run", [Defect("spike", 0, 1.0, 1.0, 1)], 0.5)
    assert "joint 1, 1 torque sample, " in spike
