"""Findings about recordings of commands and their fit, each with its evidence and the remedy that was tried."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.special import ndtri

from casid.arrays import ALIKE, RANK, Array
from casid.description import Robot
from casid.drives._recording import CommandRecording
from casid.drives._runs import FreeRuns, Parameter, Point, quantum_of
from casid.drives._search import MISFIT, Search, compared_errors
from casid.drives._servo import FREE, QUANTITIES, Servo, Unknown
from casid.drives._start import CUTOFFS, convex_start
from casid.drives._statistics import Estimate
from casid.errors import DatasetError
from casid.evidence import CONFIDENCE, NOTICEABLE, Finding, robust_sd
from casid.measurement import STILL_TIME, likely_degrees, moving_joints, time_gaps

#: A joint that moves less than so many steps of its encoder does not move, it shakes.
_STEPS = 8.0
#: Samples on either side of a jump: bodies gather speed over several, and drives lag behind their commands by some.
_AROUND = 5
#: Share of lost cycles that is named; it only notes.
_SHARE = 0.002
#: The free runs explain a motion under a standing command if their error changes by less than this share of it; it is
#: no more than their usual misfit if that changes by less than so many times what it changes by in most windows.
_EXPLAINED, _USUAL = 0.5, 3.0
#: Kinds of finding whose remedy is tried on the commands.
TRIED = ("sign", "joint order", "unit")
#: A torque limit is begun at these shares of what it is at most: what it does has no derivative where it does nothing.
_SHARES = (1.0, 0.5, 0.25)
#: Length of the pieces that readings are tried on [s]: each is a fit of its own.
TRIAL = 60.0
_SLIPPED = "a slipped mount or a lost zero: identify the parts before and after it apart (between)"


def check_recordings(recordings: Sequence[CommandRecording], robot: Robot) -> tuple[Finding, ...]:
    """Findings before any model: joints that do not move, signs, order, units of commands.

    Raises
    ------
    DatasetError
        If no joint moves, or commands are the measured positions.
    """
    names = [joint.name for joint in robot.coordinates]
    q = np.concatenate([data.q for data in recordings])
    u = np.concatenate([data.q_des for data in recordings])
    driven = any(data.torque is not None for data in recordings)
    steps = quantum_of([q])
    known = np.count_nonzero(np.diff(q, axis=0), axis=0) > 1  # one change of an encoder that stands is no step
    quantum = np.where(known, steps, steps[known].min() if known.any() else 1e-6)
    moves = np.ptp(q, axis=0) > _STEPS * quantum
    if not moves.any():
        raise DatasetError("no joint moves: there is nothing to identify; record motions of every joint")
    if not driven and np.array_equal(q, u):
        raise DatasetError(
            "commands and encoders are the same numbers: the logger wrote one of them twice; record the goal positions "
            "that were sent"
        )
    found = [
        Finding("standstill", names[k], f"moves by {1e3 * np.ptp(q[:, k]):.2g} mrad in all recordings",
                       "record a motion of this joint; its values are assumed, not measured", False)
        for k in np.flatnonzero(~moves).tolist()
    ]  # fmt: skip
    found += [jump for data in recordings for jump in _jumps(data, quantum, names)]
    if driven:
        return tuple(found)
    active, follows = np.flatnonzero(moves).tolist(), _followed(recordings)
    nearest = {k: min((sum(float((e**2).sum()) for e in follows[k, j][1]), j) for j in active)[1] for k in active}
    for k in active:
        slope, left = follows[k, k]
        moved, other = follows[k, -1][1], nearest[k]
        if k < other and nearest[other] == k and _explained(
            [np.hstack(both) for both in zip(left, follows[other, other][1], strict=True)],
            [np.hstack(both) for both in zip(follows[k, other][1], follows[other, k][1], strict=True)], len(active),
        ):  # fmt: skip
            text = f"the encoder of '{names[k]}' follows the command of '{names[other]}', and the other way round"
            both = f"{names[k]}, {names[other]}"
            found.append(Finding("joint order", both, text, "columns in the robot's order"))
        elif slope < 0.0 and nearest[other] == k and _explained(moved, left, len(active)):
            text = f"encoder and command move against each other ({slope:.2g} x the command)"
            found.append(Finding("sign", names[k], text, "reverse the command or the encoder of this joint"))
    turns = [k for k in active if robot.coordinates[k].type == "revolute"]
    angles = [data.q[:, [k]] for data in recordings for k in turns]
    left_over = [data.q[:, [k]] - np.radians(data.q_des[:, [k]]) for data in recordings for k in turns]
    if turns and (_explained(angles, left_over, 1) or likely_degrees(u, robot) is not None):
        most = float(np.abs(u[:, turns]).max())
        text = f"commands of up to {most:.3g} rad are explained if they are in degrees"
        remedy = 'units = { q_des = "deg" } in the recording\'s TOML'
        found.append(Finding("unit", ", ".join(names[k] for k in turns), text, remedy))
    return tuple(found)


def _jumps(data: CommandRecording, quantum: Array, names: Sequence[str]) -> list[Finding]:
    """Encoders that move from one sample to the next by more than in the `_AROUND` before and after it together.

    Bodies gather speed over several samples: in 41 clean recordings of four robots at 50 to 200 Hz no such step is
    larger than 0.9 times what the samples around it move together.
    What the command has moved while the encoder stood does not count: there samples were lost.
    """
    made, moved = list[Finding](), np.abs(np.diff(data.q, axis=0))
    padded = np.pad(moved, ((_AROUND, _AROUND), (0, 0)))
    around = sliding_window_view(padded, 2 * _AROUND + 1, axis=0).sum(axis=-1) - moved
    regular = np.rint(np.diff(data.t) / data.period) <= 1
    for i, k in np.argwhere(regular[:, None] & (moved - around > _STEPS * quantum)).tolist():
        stood = next((j for j in range(i, 0, -1) if moved[j - 1, k] > 0.0), 0)
        if moved[i, k] - np.ptp(data.q_des[max(stood - _AROUND, 0) : i + 1, k]) - around[i, k] > _STEPS * quantum[k]:
            text = f"{data.name}: at {data.t[i + 1]:.2f} s the encoder jumps by {moved[i, k]:.3g} rad in one sample"
            made.append(Finding("slip", names[k], text, _SLIPPED))
    return made


def _followed(recordings: Sequence[CommandRecording]) -> dict[tuple[int, int], tuple[float, list[Array]]]:
    """How each encoder follows each command, in changes over a quarter of a second: slope, and what it leaves.

    By encoder and command; command -1: none, the changes themselves. What is left, over the root mean square of the
    encoder's changes: one array (N, 1) a recording.
    """
    pairs = []
    for data in recordings:
        lag = max(1, round(0.25 / data.period))
        pairs.append([z[lag:] - z[:-lag] for z in (data.q, data.q_des)])
    means = [np.mean(np.concatenate(each), axis=0) for each in zip(*pairs, strict=True)]
    x, y = ([z - mean for z in each] for each, mean in zip(zip(*pairs, strict=True), means, strict=True))
    moved, size = (np.maximum(sum((z**2).sum(axis=0) for z in each), 1e-300) for each in (x, y))
    slopes = sum(a.T @ b for a, b in zip(x, y, strict=True)) / size
    scales = np.sqrt(sum(map(len, x)) / moved)
    made = {(k, -1): (0.0, [scales[k] * a[:, [k]] for a in x]) for k in range(len(size))}
    for k, j in np.ndindex(slopes.shape):
        left = [scales[k] * (a[:, [k]] - slopes[k, j] * b[:, [j]]) for a, b in zip(x, y, strict=True)]
        made[k, j] = float(slopes[k, j]), left
    return made


def _explained(before: Sequence[Array], after: Sequence[Array], tried: int) -> bool:
    """Whether surely the greater part of the square of errors is explained."""
    return compared_errors([np.sqrt(0.5) * e for e in before], after, tried, after).better


def judge(
    runs: FreeRuns, point: Point, estimates: Sequence[Estimate], names: Sequence[str], part: FreeRuns
) -> tuple[Finding, ...]:
    """Findings about the fit: no better than standing still, zeros, delays, stalls, bounds.

    A gain that the data leave open carries the load's deflection, and so does the offset: no zero is in doubt then.
    One is wrong where the offset surely explains the greater part of what everything else leaves.
    """
    found, errors = [], runs.missed(point)
    loose = {k for e in estimates if e.attribute == "kp" and not e.determined for k in e.joints}
    sure = {(e.attribute, e.joints): max(e.low, -e.high) for e in estimates if e.determined and not loose & {*e.joints}}
    for p, value in zip(runs.parameters, point.theta.tolist(), strict=True):
        joint = "" if p.name == p.attribute else ", ".join(names[k] for k in p.joints)
        least = sure.get((p.attribute, p.joints), 0.0)
        if p.attribute == "bias" and least > QUANTITIES["bias"].weak:
            text = (f"the command is offset by {value:.3f} rad: encoder and model have different zeros, or a load is "
                    "missing")  # fmt: skip
            remedy = "position_offset of this joint, or links = 'scaled'"
            found.append(Finding("zero", joint, text, remedy, _offset_explains(part, runs, point, p)))
        elif p.attribute == "delay" and least > 2 * runs.period:  # one to send, one to read
            text = f"commands act {1e3 * value:.0f} ms late, {value / runs.period:.1f} cycles"
            remedy = "taken into account; check the logger's order of writing and reading"
            found.append(Finding("delay", joint, text, remedy, False))
        elif p.attribute == "kp" and not p.lower * (1.0 + ALIKE) < value < p.upper * (1.0 - ALIKE):
            found.append(Finding("bound", joint, f"kp is at its bound, {value:.3g} N.m/rad", wrong=False))
    return (*_unexplained(runs, errors), *found, *_stalls(runs, errors, names))


def _unexplained(runs: FreeRuns, errors: Sequence[Array]) -> list[Finding]:
    """Free runs that surely miss by more than joints that stand at the mean of all recordings."""
    one = compared_errors(errors, runs.standing)
    if not one.better:
        return []
    text = f"the free runs miss by {1e3 * one.before**0.5:.3g} mrad, the joints move by {1e3 * one.after**0.5:.3g} mrad"
    return [Finding("no fit", "", text, "check units, signs and order of the commands, and what is given of the servo")]


def _offset_explains(part: FreeRuns, runs: FreeRuns, point: Point, bias: Parameter) -> bool:
    """Whether free runs that are fitted without an offset surely miss by more than twice the squares."""
    servo = runs.servo
    known = {p.name: float(v) for p, v in zip(runs.parameters, point.theta, strict=True)}
    offsets = [0.0 if k in bias.joints else value for k, value in enumerate(servo.of("bias", runs.robot.n))]
    left, _ = _fitted(part, replace(servo, bias=tuple(offsets)), runs, known)
    return _explained(left, _fitted(part, servo, runs, known)[0], 1)


def _windows(x: Array, width: int) -> Array:
    """Whole windows of consecutive samples, shape (count, width, n)."""
    count = len(x) // width
    return np.asarray(x)[: count * width].reshape(count, width, -1)


def _stalls(runs: FreeRuns, errors: Sequence[Array], names: Sequence[str]) -> list[Finding]:
    """Stretches in which a joint stands while its command and the model move on: a stop, an obstacle, an overload."""
    made: dict[tuple[str, str], tuple[float, float]] = {}
    spread = robust_sd(np.concatenate(errors))
    for piece, e in zip(runs.pieces, errors, strict=True):
        width = max(3, round(STILL_TIME / piece.recording.period))
        still, asked = (np.ptp(_windows(x, width), axis=1) for x in (piece.measured, piece.recording.q_des[piece.rows]))
        off = np.abs(_windows(e, width)).max(axis=1)
        stuck = (still < (NOTICEABLE - 1.0) * asked) & (off > 12 * spread) & (asked > 12 * spread)
        for k in np.flatnonzero(stuck.sum(axis=0) >= 2).tolist():
            seconds, largest = made.get((names[k], piece.recording.name), (0.0, 0.0))
            seconds += STILL_TIME * float(stuck[:, k].sum())
            made[names[k], piece.recording.name] = seconds, max(largest, float(off[stuck[:, k], k].max()))
    return [
        Finding("stall", joint, f"{recording}: stands for {seconds:.1f} s while the command moves on, "
                       f"{largest:.2g} rad from the model: a stop, an obstacle or an overload",
                       "robust loss: these samples count little; leave the stretch out (between)", False)
        for (joint, recording), (seconds, largest) in made.items()
    ]  # fmt: skip


def further(runs: FreeRuns, point: Point, names: Sequence[str], part: FreeRuns) -> list[Finding]:
    """Findings about clocks, commands, mounts, and, without one that is wrong, what explains a misfit better."""
    errors, found = runs.missed(point), list[Finding]()
    value, pi = runs.values(point.theta), runs.robot.standard_parameters()
    for data in dict.fromkeys(piece.recording for piece in runs.pieces):
        missed = np.full(np.shape(data.q), np.nan)
        for piece, error in zip(runs.pieces, errors, strict=True):
            if piece.recording is data:
                missed[piece.rows] = error
        load = np.asarray(runs.model.inverse_dynamics(data.q, 0.0 * data.q, 0.0 * data.q, pi))
        leeway = _leeway(value, load, runs.noise)
        found += [*_lost_cycles(data), *_missing_commands(data, missed, runs.noise, leeway, names)]
    found += _slips(runs, point, errors, names)
    if not any(f.wrong for f in found):
        found += _tried_readings(part, runs, point, errors, names)
    return found


def _lost_cycles(data: CommandRecording) -> list[Finding]:
    remedy = "commands are held over them; longer ones split the recording"
    return [
        Finding("lost cycles", "", f"{data.name}: {len(gap.spans)} steps of the clock miss "
                       f"{int(gap.counts.sum())} cycles", remedy, False)
        for gap in time_gaps(data.t, 1) if len(gap.spans) >= _SHARE * len(data)
    ]  # fmt: skip


def _leeway(value: Mapping[str, Array], load: Array, noise: Array) -> Array:
    """Where a joint may rest under one command: dry friction holds it ``+- f / kp``; play; encoder noise [rad]."""
    dry = value["load_friction"] * np.abs(load).max(axis=0) + value["coulomb"] + value["stribeck"]
    return np.asarray(2.0 * dry / np.maximum(value["kp"], 1e-300) + value["backlash"] + MISFIT * noise)


def _missing_commands(
    data: CommandRecording, missed: Array, noise: Array, leeway: Array, names: Sequence[str]
) -> list[Finding]:
    """Stretches in which a joint moves on although its command has stood for two windows, and the model does not.

    Of joints that take part in the motion. ``missed`` (N, n) are the errors of the free runs, NaN outside of them:
    a slow or ringing joint moves on, too. A joint moves where the range of its window is larger than that of the
    encoder's noise (Bonferroni), and in all farther than it shakes, than where it may rest, since other joints'
    motion shakes it loose within that, and than 95 % of the errors of the model elsewhere in the recording span.
    """
    if data.torque is not None:
        return []
    width = max(3, round(STILL_TIME / data.period))
    moved, left = (np.ptp(_windows(x, width), axis=1) for x in (data.q, missed))
    steps = quantum_of([data.q])
    range_of_noise = 2.0 * ndtri(1.0 - (1.0 - CONFIDENCE) / (2 * width)) * noise
    known = [x[np.isfinite(x)] for x in left.T]
    usual = np.array([np.median(x) if x.size else 0.0 for x in known])
    made, command, still = [], _windows(data.q_des, width), np.zeros(moved.shape, dtype=bool)
    still[1:] = np.ptp(np.concatenate([command[:-1], command[1:]], axis=1), axis=1) == 0
    found = still & (moved > range_of_noise) & ~(left < _EXPLAINED * moved)
    away = np.abs([_windows(x, width) for x in (data.q - data.q_des, missed)])
    away = (away - np.minimum.accumulate(away, axis=2)).max(axis=2)
    both = [_windows(x, width) for x in (data.q, missed)]
    # late or slow motion leads to the command or, under a load, to where the model rests; most of this leads away
    leaves = ~(away <= _EXPLAINED * moved).any(axis=0)
    beyond = found & ~(left < _USUAL * usual)
    for k in np.flatnonzero(moving_joints(data.q) & ((beyond & leaves).sum(axis=0) >= 2)).tolist():
        rows, stretch = found[:, k], np.cumsum(~still[:, k])
        spans = [
            float(np.nanmin([np.ptp(windows[rows & (stretch == one), :, k]) for windows in both]))  # NaN: no free run
            for one in np.unique(stretch[rows])
        ]
        elsewhere = _windows(missed, width)[~rows, :, k].ravel()
        elsewhere = elsewhere[np.isfinite(elsewhere)]
        usual_span = 2.0 * ndtri((1.0 + CONFIDENCE) / 2.0) * float(robust_sd(elsewhere)) if elsewhere.size else 0.0
        least = max(float(leeway[k]), _STEPS * float(steps[k]), usual_span)
        if max(spans) <= least:
            continue
        text = (f"{data.name}: the joint moves by up to {moved[rows, k].max():.2g} rad while its command stands, for "
                f"{STILL_TIME * rows.sum():.1f} s")  # fmt: skip
        made.append(Finding("missing commands", names[k], text, "leave the stretch out (between)", True))
    return made


def _slips(runs: FreeRuns, point: Point, errors: Sequence[Array], names: Sequence[str]) -> list[Finding]:
    """A lasting jump of a joint's error: the encoder or the horn moved on its shaft.

    Means over windows, less what goes with the posture, load, speed and direction of the joint, as errors of gains,
    masses, delays and friction do: a jump at one place has to explain the greater part of what is left, surely, and to
    be larger than what dry friction, which holds a joint anywhere within ``+- fc / kp``, play, and the encoder's noise
    leave open.
    """
    made, pi = list[Finding](), runs.robot.standard_parameters()
    value = runs.values(point.theta)
    for data in dict.fromkeys(piece.recording for piece in runs.pieces):
        width = max(3, round(STILL_TIME / data.period))
        pairs = [(e, piece.measured) for piece, e in zip(runs.pieces, errors, strict=True) if piece.recording is data]
        missed, q = (np.concatenate([_windows(x, width) for x in each]) for each in zip(*pairs, strict=True))
        missed, q, rate = missed.mean(axis=1), q.mean(axis=1), q[:, -1] - q[:, 0]
        moves = rate / (np.abs(rate) + runs.noise)
        load = np.asarray(runs.model.inverse_dynamics(q, 0.0 * q, 0.0 * q, pi))
        leeway = _leeway(value, load, runs.noise)
        places = np.arange(3, len(q) - 2)
        for k in range(missed.shape[1] if len(missed) >= 8 else 0):
            sound = np.column_stack([np.ones(len(q)), *(x[:, k] for x in (q, load, rate, moves))])
            U, size, _ = np.linalg.svd(sound, full_matrices=False)
            U = U[:, size > RANK * size[0]]
            plain = missed[:, k] - U @ (U.T @ missed[:, k])
            after = np.cumsum(np.column_stack([plain, U])[::-1], axis=0)[::-1][places]  # products with all steps
            free = len(q) - places - (after[:, 1:] ** 2).sum(axis=1)  # squares of the steps less what U has of them
            steps = np.divide(after[:, 0], free, out=np.zeros(len(places)), where=free > RANK * len(q))
            best = int(np.argmax(steps**2 * free))
            place, jump = int(places[best]), float(abs(steps[best]))
            rest = plain - steps[best] * ((np.arange(len(q)) >= place) - U @ after[best, 1:])
            explains = _explained([plain[:, None]], [rest[:, None]], len(places))
            if jump > leeway[k] and explains:
                seconds = place * width * data.period
                text = f"{data.name}: after {seconds:.0f} s the joint stands {jump:.3f} rad off for good"
                made.append(Finding("slip", names[k], text, _SLIPPED))
    return made


def _tried_readings(
    part: FreeRuns, runs: FreeRuns, point: Point, errors: Sequence[Array], names: Sequence[str]
) -> list[Finding]:
    """Which of: another gain, a saturated servo, another mass of a body, explains a misfit; each is fitted.

    Of those that explain the greater part of it, surely, the first that no other is surely and noticeably better than:
    with one factor of all gains wrong, bodies lighter by it explain a motion as well.
    """
    rms = np.sqrt(np.mean(np.concatenate(errors) ** 2, axis=0)) / runs.noise
    if rms.max() < MISFIT:
        return []
    known = {p.name: float(v) for p, v in zip(runs.parameters, point.theta, strict=True)}
    left, _ = _fitted(part, part.servo, runs, known)
    tried = [(*_fitted(part, servo, runs, known), kind, text) for kind, text, servo in _readings(runs)]

    def beaten(one: Sequence[Array], other: Sequence[Array]) -> bool:
        both = compared_errors(one, other, len(tried))
        return both.better and both.before > NOTICEABLE**2 * both.after

    best = [one for one in tried if not any(beaten(one[0], other[0]) for other in tried)]
    for found, reached, kind, text in best:
        again, _ = _fitted(part, part.servo, runs, {**known, **reached})  # a better start is no better reading
        one = min((compared_errors(x, found, len(tried)) for x in (left, again)), key=lambda one: one.before)
        if one.better and one.before - one.after > one.after:  # the greater part of the misfit is explained
            remedy = f"tried: {1e3 * one.before**0.5:.3g} -> {1e3 * one.after**0.5:.3g} mrad"
            return [Finding(kind, names[int(rms.argmax())], text, remedy, True)]
    return []


def _readings(runs: FreeRuns) -> list[tuple[str, str, Servo]]:
    """Other descriptions of the servos: kind of finding, its text, the servo."""
    n, servo, made = runs.robot.n, runs.servo, []
    kp = servo.of("kp", n)
    given = [not isinstance(value, Unknown) or np.isfinite(value.sd) for value in kp]
    if any(given) and not any(value == 0.0 for value in kp if not isinstance(value, Unknown)):
        text = "another gain than the given one explains the motion better: kp = 'free'"
        made.append(("gain", text, replace(servo, kp=FREE)))
    if not any(isinstance(value, Unknown) for value in servo.of("limit", n)):
        text = "a limited torque explains the motion better: limit = 'free'"
        made.append(("saturation", text, replace(servo, limit=FREE)))
    if servo.links == "nominal":
        text = "heavier or lighter bodies explain the motion better: links = 'scaled'; a load is missing"
        made.append(("load", text, replace(servo, links="scaled", scale=Unknown(1.0, 0.5, 0.1, 10.0))))
    return made


def _fitted(
    part: FreeRuns, servo: Servo, runs: FreeRuns, known: dict[str, float]
) -> tuple[list[Array], dict[str, float]]:
    """Errors of free runs fitted from known values or a convex start [rad], and the values reached."""
    made, held = part.under(servo), {p.name: p for p in runs.parameters}
    made.parameters = tuple(held.get(p.name, p) for p in made.parameters)
    convex = convex_start(made, CUTOFFS[0]).theta
    first = [known.get(p.name, float(x)) for p, x in zip(made.parameters, convex, strict=True)]
    limits = np.array([p.attribute == "limit" for p in made.parameters])
    starts = [
        min((made.point(np.clip(np.where(limits, share * np.array(theta), theta), *made.bounds))
             for theta in (first, convex)), key=made.error)
        for share in (_SHARES if limits.any() else (1.0,))
    ]  # fmt: skip
    point, _ = min((Search(made, budget=np.inf).run(start) for start in starts), key=lambda one: one[1].rms)
    missed = made.missed(point)
    runs.rollouts += made.rollouts * made.seconds / runs.seconds
    return missed, {p.name: float(v) for p, v in zip(made.parameters, point.theta, strict=True)}


def with_remedy(finding: Finding, runs: FreeRuns, names: Sequence[str], before: float) -> Finding:
    """A finding whose remedy was tried from a convex start: columns exchanged, a command reversed or in radians.

    Parameters
    ----------
    before
        Free-run error without the remedy [rad].
    """
    if finding.kind not in TRIED:
        return finding
    joints = [names.index(name) for name in finding.joint.split(", ")]
    changed = []
    for data in runs.recordings:
        u = np.array(data.q_des)
        order = joints[::-1] if finding.kind == "joint order" else joints
        u[:, joints] = u[:, order] * {"sign": -1.0, "unit": np.radians(1)}.get(finding.kind, 1.0)
        changed.append(replace(data, q_des=u))
    again = runs.of(changed).under(runs.servo)
    after = again.error(again.point(convex_start(again, CUTOFFS[0]).theta))
    remedy = f"{finding.remedy}; tried: {1e3 * before:.3g} -> {1e3 * after:.3g} mrad"
    return replace(finding, remedy=remedy, wrong=before**2 - after**2 > after**2)
