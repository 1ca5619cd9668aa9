"""Pieces of recordings and their steps, noise of encoders, unknowns and known values of all joints."""

import numpy as np
import pytest

from casid.drives import FREE, CommandRecording, FreeRuns, Servo, Unknown
from casid.errors import DatasetError

T = np.concatenate([np.arange(100) * 0.02, 1.99 + np.arange(1, 101) * 0.011])
Q = np.column_stack([0.5 * np.sin(2 * T), 0.3 * np.cos(3 * T)])


def test_noise_is_that_of_the_encoders_and_not_of_the_motion(arm):
    rng = np.random.default_rng(0)
    t = np.arange(5000) * 0.01
    q = np.column_stack([np.sin(t), np.sin(2 * t)])
    noisy, coarse = q + rng.normal(size=q.shape) * [1e-3, 4e-3], np.round(q / 0.05) * 0.05
    assert FreeRuns(arm, Servo(), [CommandRecording(t, noisy, q)]).noise == pytest.approx([1e-3, 4e-3], rel=0.05)
    assert np.all(FreeRuns(arm, Servo(), [CommandRecording(t, coarse, q)]).noise >= 0.05 / np.sqrt(12) * (1 - 1e-9))


def test_steps_divide_the_samples_and_the_first_state_is_measured(arm):
    enabled = np.ones(len(T))
    enabled[120:] = 0.0
    data = CommandRecording(T, Q, Q, enabled, gain=2.0, torque=np.column_stack([T, 0 * T]))
    piece = FreeRuns(arm, Servo(), [data], 4e-3, longest=2.0).pieces[1]
    first, times = piece.rows.start, T[piece.rows]
    h = np.diff(piece.edges)
    assert 20 < first < 120 and h.max() <= 4e-3 * (1 + 1e-6) and len(h) == len(piece.emit) == len(piece.on)
    ends = piece.edges[1:][piece.emit == 1]
    assert ends == pytest.approx(times[1:], abs=1e-12) and piece.edges[0] == times[0]
    assert piece.on[(piece.edges[:-1] < T[120] - 1e-9), 0] == pytest.approx(2.0)
    assert not piece.on[piece.edges[:-1] >= T[120] - 1e-9].any()
    assert np.all(np.isin(piece.torque[:, 0], times))  # held from sample to sample
    expected = [np.cos(2 * times[0]), -0.9 * np.sin(3 * times[0])]
    assert piece.start[:2] == pytest.approx(Q[first]) and piece.start[2:4] == pytest.approx(expected, abs=2e-2)
    assert np.all(np.abs(piece.start[2:4] - expected) < 6 * piece.spread[2:4] + 1e-2)


def test_known_values_and_unknowns_fill_one_table(arm):
    servo = Servo(
        kp=[Unknown(8.0, 1.0), 5.0], armature=0.02, viscous=0.1, coulomb=FREE, bias=0.0, delay=FREE, limit=3.0
    )
    data = CommandRecording(T, Q, Q)
    runs = FreeRuns(arm, servo, [data])
    names = [p.name for p in runs.parameters]
    assert names == ["kp shoulder", "coulomb shoulder", "coulomb elbow", "delay"]
    assert runs.parameters[-1].lower == pytest.approx(-data.period) and runs.parameters[0].unknown.sd == 1.0
    table = dict(zip(("kp", "armature", "coulomb", "delay", "limit"), (
        runs.table(np.array([7.0, 0.3, 0.4, 0.01]))[:, k] for k in (0, 2, 4, 8, 6)), strict=True))  # fmt: skip
    assert table["kp"].tolist() == [7.0, 5.0] and table["coulomb"].tolist() == [0.3, 0.4]
    assert table["delay"].tolist() == [0.01, 0.01] and table["limit"].tolist() == [3.0, 3.0]


def test_thinned_runs_keep_a_part_of_every_recording(arm):
    many = [CommandRecording(T + 10 * k, Q, Q, name=str(k)) for k in range(3)]
    runs = FreeRuns(arm, Servo(), many, longest=0.5)
    part = runs.thinned(runs.seconds / 3)
    assert {piece.recording for piece in part.pieces} == set(many)
    assert 0.2 < part.seconds / runs.seconds < 0.5 and len(runs.pieces) > len(part.pieces)
    assert runs.thinned(2 * runs.seconds) is runs


def test_recordings_that_cannot_be_simulated_are_refused(arm):
    with pytest.raises(DatasetError, match="at least one recording"):
        FreeRuns(arm, Servo(), [])
    holes = CommandRecording(np.arange(30.0) + 9 * np.repeat(np.arange(3.0), 10), Q[:30], Q[:30])
    with pytest.raises(DatasetError, match="no stretch"):
        FreeRuns(arm, Servo(), [holes])
