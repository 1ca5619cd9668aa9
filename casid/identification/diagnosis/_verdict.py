"""The verdict on an identification: other readings of the recording, its signals, its torques' size, its links.

Every finding has its evidence and the option that corrects it. What is wrong with samples is the list of defects
(`casid.measurement.Defect`), in words; what another reading explains better is compared in `_hypotheses`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from casid.arrays import ALIKE, Array, Flags
from casid.description import Robot
from casid.errors import ProblemError, SolveError
from casid.evidence import NOTICEABLE, compared
from casid.identification._accuracy import (
    OPEN,
    HeldOut,
    assumed_reached,
    certified_intervals,
    mass_intervals,
    parts_of,
    without_intervals,
)
from casid.identification._bounds import NOTHING, explained, largest_torques, reach
from casid.identification._consistent_fits import ConsistentFits
from casid.identification._regression import REACHED, FeasibleFit
from casid.identification.diagnosis._findings import Finding, Trial, Verdict
from casid.identification.diagnosis._hypotheses import Hypotheses
from casid.identification.diagnosis._readings import FEWER, Readings, moving, opposite_axis
from casid.measurement import Dataset, Defect
from casid.regression import CompressedData, Fit, observation_blocks
from casid.retrieval.plausible import DESCRIBED_ARMS, PlausibleBodies, heaviest, robot_bodies

#: Share of a joint's torque that a fit leaves unexplained from which it is named, and over that of the other joints.
UNEXPLAINED, OUTSTANDING = 25.0, 3.0
#: Range of torque over nominal torque of real arms; and how far beyond the published arms' masses over the square of
#: the reach, which span as much themselves, no arm lies (of servos: a fifth of the least).
GAIN, TENFOLD = (0.4, 2.5), 10.0
#: Least share of the torques of nominal bodies that bodies of links without one cannot add, and the relative size of
#: singular values that count.
OWN, DISTINCT = 0.3, 1e-8
#: Kinds of findings after which the fit's errors mean nothing.
MISREAD = ("gravity", "sign", "joint order", "zero position")
#: Findings that name no cause, for any of which they stand.
OF_THE_SIZE = ("torques of no links", "torques for the size")
#: A motion in which no joint is faster [rad/s] belongs to another clock.
SLOWEST = 0.02
#: Speed over its limit that filters and controllers make; and that of another clock or unit, of which 2 is the least.
SLIGHTLY, BEYOND = 1.1, 2.0
#: Share of samples in one direction from which a joint counts as moving one way.
ONE_WAY = 0.995
#: Relative error of a joint from which its torque counts as noise [%].
NOISE = 80.0

#: Kind of a defect -> cause of the finding that words it.
_CAUSES: Mapping[str, str] = {
    "velocity": "measured velocities", "standstill": "standstill", "gap": "gaps", "repeats": "repeats",
    "saturation": "saturation", "dead": "dead channel", "spike": "spikes",
}  # fmt: skip
_DONE = {
    "left out": "left out with the filter's reach on both sides", "bridged": "bridged by interpolation",
    "kept": "kept as they are",
}  # fmt: skip


def verdict_on(
    robot: Robot,
    raw: tuple[Dataset, ...],
    datasets: tuple[Dataset, ...],
    feasible: FeasibleFit,
    held_out: HeldOut | None,
    fits: ConsistentFits,
) -> Verdict:
    """Verdict on an identification.

    Parameters
    ----------
    robot
    raw, datasets
        The recordings as read, and as fitted.
    feasible
        Consistent fit, with the unconstrained one.
    held_out
    fits
        How a fit is made consistent, for a reading that needs it.
    """
    fit = feasible.fit
    signals: list[Finding] = []
    for one, processed in zip(raw, datasets, strict=True):
        signals += signal_findings(one, processed, robot, fit)
    signals += limited_motion(datasets, robot)
    found, tried = list[Finding](), 0
    longest = max(range(len(datasets)), key=lambda k: len(datasets[k]))
    hypotheses = Hypotheses(datasets, feasible, fits)
    dead = [hypotheses.without(one) for one in signals if one.cause == "dead channel"]
    readings = Readings(fit.data.model, datasets[longest])
    if readings.possible and not dead:
        found, tried = hypotheses.explained(readings, readings.fewer(datasets[longest], FEWER))
    found = found or _strength(robot, datasets, feasible, fits)
    for specific, data in hypotheses.specific() if tried and any(f.cause in OF_THE_SIZE for f in found) else ():
        if not _size(robot, fits.template, data):  # explains that too
            found = [specific]
            break
    if any(f.kind in MISREAD for f in found):
        signals = [f for f in signals if f.kind != "channel"]  # errors of a fit to misread torques
    signals = [hypotheses.without(f) if f.kind == "channel" else f for f in signals if f.cause != "dead channel"]
    # what times and positions alone contradict goes first: no model of another clock explains anything
    clocks = [f for f in signals if f.kind == "clock"]
    signals = [f for f in signals if f.kind != "clock"]
    found = [*dead, *clocks, *found, *signals] if any(f.wrong for f in found) else [*dead, *clocks, *signals, *found]
    if not any(f.kind in (*MISREAD, "clock") for f in found):
        found += hypotheses.delay(raw[longest], datasets[longest])
    if not any(f.wrong for f in found):
        found += _unexplained(fit)
    found += link_findings(robot, datasets, feasible, held_out, fits.choosing)
    found += _open_masses(robot, feasible, not any(f.wrong for f in found))
    held = float("nan") if held_out is None else held_out.tested["consistent"].total
    errors = feasible.relative_errors if held_out is None else held_out.tested["consistent"].joints
    joints = {joint.name: float(error) for joint, error in zip(robot.coordinates, errors, strict=True)}
    return Verdict(tuple(found), feasible.relative_error, held, tried, joints)


def _unexplained(fit: Fit) -> list[Finding]:
    """Joints whose torque the model explains far worse than that of the others, or of a robot's only joint."""
    errors, names = fit.relative_errors, [joint.name for joint in fit.data.model.robot.coordinates]
    if len(errors) == 1:
        return [Finding("unexplained torque", joint=names[0], values={"error": e}) for e in errors if e > UNEXPLAINED]
    usual = [float(np.median(np.delete(errors, k))) for k in range(len(errors))]
    return [
        Finding("unexplained joint", joint=name, values={"error": float(error), "usual": other})
        for name, error, other in zip(names, errors, usual, strict=True)
        if error > max(UNEXPLAINED, OUTSTANDING * other)
    ]


def _strength(
    robot: Robot, datasets: tuple[Dataset, ...], feasible: FeasibleFit, fits: ConsistentFits
) -> list[Finding]:
    """Torques in another unit: against nominal bodies, or against the size of the arm."""
    if not np.linalg.norm(robot.gravity) > 0:
        return []
    described = robot_bodies(robot)
    if described is not None:
        return _nominal(robot, described.parameters, max(datasets, key=len), feasible)
    return _size(robot, fits.template, feasible.fit.data)


def _size(robot: Robot, bodies: PlausibleBodies, data: CompressedData) -> list[Finding]:
    """A mass that no arm of the size has, where it surely predicts better than the nearest that one may have.

    With both, bodies of one common factor are weighed by least squares on parts of the motion, and by the sum of those
    squares they are compared on the others.
    """
    if not all(joint.type == "revolute" for joint in robot.joints):
        return []
    mass, areal = explained(bodies, data).mass, [a.mass / a.reach**2 for a in DESCRIBED_ARMS]
    # whether the place of the first joint is a part of the arm or a pedestal is open: light and heavy in either case
    low, high = min(areal) * reach(robot, mounted=False) ** 2, max(areal) * reach(robot) ** 2
    within = low / TENFOLD, high * TENFOLD
    if within[0] <= mass <= within[1]:
        return []
    near, best = (
        [
            data.only([i]).plain.squared_errors(explained(bodies, part.training, masses=masses).beta).sum()
            for part in parts_of(data) for i in part.apart
        ]
        for masses in (within, (0.0, np.inf))
    )  # fmt: skip
    if not compared(near, best).better:
        return []
    cause = "torques of no links" if mass <= ALIKE * low else "torques for the size"
    return [Finding(cause, values={"mass": mass, "low": low, "high": high})]


def _nominal(robot: Robot, nominal: Array, data: Dataset, feasible: FeasibleFit) -> list[Finding]:
    """Torques compared with those of the nominal bodies; what bodies of links without one can add is left out."""
    model = feasible.model
    columns = np.ravel(model.link_columns)
    described = np.repeat(nominal[9::10] > 0, 10)
    parameters = np.zeros((1 + int((~described).sum()), len(model.parameter_names)))
    parameters[0, columns] = nominal
    parameters[1 + np.arange(len(parameters) - 1), columns[~described]] = 1.0
    coefficients = model.base.K @ parameters.T
    made = np.concatenate([block @ coefficients for _, block in observation_blocks(model, data)])
    made = made.reshape(-1, len(parameters))
    expected = made[:, 0]
    if made.shape[1] > 1:
        left, sizes, _ = np.linalg.svd(made[:, 1:], full_matrices=False)
        left = left[:, sizes > DISTINCT * sizes[0]]
        expected = expected - left @ (left.T @ expected)
    if np.linalg.norm(expected) <= OWN * np.linalg.norm(made[:, 0]):
        return []
    ratio = float((expected @ data.tau.ravel()) / (expected @ expected))
    if ratio < -GAIN[0]:
        return [Finding("opposite torques", values={"ratio": ratio, "direction": opposite_axis(robot.gravity)})]
    if abs(ratio) > 0 and not GAIN[0] <= abs(ratio) <= GAIN[1]:
        masses = [float(p[9::10].sum()) for p in (feasible.standard_parameters, nominal)]
        trial = Trial("total mass", masses[0], masses[0] / ratio)
        closer = abs(np.log(trial.after / masses[1])) < abs(np.log(trial.before / masses[1])) if ratio > 0 else False
        values = {"ratio": ratio, "gain": 1 / ratio}
        return [Finding("torques of nominal bodies", values=values, trial=trial if closer else None)]
    return []


def signal_findings(raw: Dataset, processed: Dataset, robot: Robot, fit: Fit) -> list[Finding]:
    """Findings about one recording: its defects in words, its speeds, torques that do not follow the motion.

    Parameters
    ----------
    raw, processed
        The recording as read, and as fitted.
    robot
    fit
        Unconstrained, of all recordings.
    """
    # standstill counts of all joints at once, a dead channel where it was not left out
    untold = {"standstill": range(robot.n), "dead": np.flatnonzero(~processed.counted.any(axis=0))}
    found = [
        _worded(defect, raw.name, robot)
        for kind in _CAUSES for defect in processed.defects
        if defect.kind == kind and defect.joint not in untold.get(kind, ())
    ]  # fmt: skip
    velocities = [one for one in found if one.cause == "measured velocities"]
    dead = [one.joint for one in found if one.cause == "dead channel"]
    return [*found, *([] if velocities else _speeds(raw, processed, robot)), *_noise(processed, robot, fit, dead)]


def _worded(defect: Defect, recording: str, robot: Robot) -> Finding:
    """A defect as a finding."""
    names = [joint.name for joint in robot.coordinates]
    joint = "" if defect.joint is None else names[defect.joint]
    values: dict[str, float | str] = {
        "share": 100 * defect.share, "count": float(defect.samples), "longest": defect.longest, **defect.values,
        "done": _DONE[defect.treatment], "treatment": defect.treatment, "of": f" of joint '{joint}'" if joint else "",
    }  # fmt: skip
    if defect.kind == "dead":
        values |= {"others": ",".join(name for name in names if name != joint), "index": float(names.index(joint))}
    return Finding(_CAUSES[defect.kind], recording, joint, values)


def _speeds(raw: Dataset, processed: Dataset, robot: Robot) -> list[Finding]:
    """Speeds of no motion, or beyond the joint limits."""
    assert processed.dq is not None
    revolute = np.array([joint.type == "revolute" for joint in robot.coordinates])
    fastest = np.abs(processed.dq).max(axis=0)
    found: list[Finding] = []
    if revolute.any() and float(fastest[revolute].max()) < SLOWEST:
        values = {"speed": float(fastest.max()), "period": float(raw.period)}
        found.append(Finding("slow motion", raw.name, values=values))
    limits = robot.limits.velocity
    beyond = np.isfinite(limits) & (limits > 0) & (fastest > BEYOND * limits)
    if beyond.any():
        k = int(np.argmax(np.where(beyond, fastest / limits, 0.0)))
        name = robot.coordinates[k].name
        for i in range(robot.n):
            order = np.arange(robot.n)
            order[[i, k]] = order[[k, i]]
            if i != k and (fastest[order] <= SLIGHTLY * limits).all():
                exchanged = {"other": robot.coordinates[i].name}
                return [Finding("faster than its limit, another joint is not", raw.name, name, exchanged)]
        speeds = {"speed": float(fastest[k]), "limit": float(limits[k])}
        found.append(Finding("faster than its limit", raw.name, name, speeds))
    return found


def _noise(data: Dataset, robot: Robot, fit: Fit, dead: Sequence[str]) -> list[Finding]:
    """Torques that the fit does not explain at all."""
    counted = data.counted.any(axis=0)
    sizes = np.sqrt((data.tau**2).mean(axis=0))
    names = [joint.name for joint in robot.coordinates]
    loud = counted & (fit.relative_errors > NOISE) & (sizes > NOTHING * sizes.max())
    return [
        Finding("noisy channel", data.name, name, {
            "others": ",".join(other for other in names if other != name), "error": float(fit.relative_errors[k]),
            "index": float(k),
        })
        for k, name in enumerate(names) if loud[k] and name not in dead
    ]  # fmt: skip


def _one_way(datasets: Sequence[Dataset]) -> Flags:
    """Joints that move in one direction only in all processed recordings together, shape (n,)."""
    speeds = np.concatenate([data.dq for data in datasets if data.dq is not None])
    fast = np.abs(speeds) > NOTHING * np.abs(speeds).max(axis=0)
    ahead = (fast & (speeds > 0)).sum(axis=0) / np.maximum(fast.sum(axis=0), 1)
    return np.asarray(fast.any(axis=0) & (np.maximum(ahead, 1.0 - ahead) >= ONE_WAY))


def limited_motion(datasets: Sequence[Dataset], robot: Robot) -> list[Finding]:
    """Joints that do not move, or in one direction only, in all recordings together, as they are fitted together."""
    moves = np.any([moving(data, robot) for data in datasets], axis=0)
    # processing leaves no velocity to a joint that stands
    still = ~np.any([data.dq.any(axis=0) for data in datasets if data.dq is not None], axis=0)
    found = {"motionless": still, "one way": moves & _one_way(datasets)}
    names = np.array([joint.name for joint in robot.coordinates])
    return [Finding(cause, joint=", ".join(names[which])) for cause, which in found.items() if which.any()]


def link_findings(
    robot: Robot, datasets: Sequence[Dataset], feasible: FeasibleFit, held_out: HeldOut | None, choosing: bool
) -> list[Finding]:
    """Findings about the links of a consistent fit.

    Parameters
    ----------
    robot
    datasets
        Processed.
    feasible
    held_out
        Where bodies predict what was held out as well as the unconstrained fit, that fit explained noise.
    choosing
        Whether the most plausible links were asked for.
    """
    masses = feasible.standard_parameters[9::10]
    found = []
    revolute = np.array([joint.type == "revolute" for joint in robot.coordinates])
    strongest = float((largest_torques(datasets)[0] * revolute).max())
    found += [*_held(robot, feasible), *_given_bounds(robot, feasible)]
    if strongest > 0 and robot.reach and revolute.all() and np.linalg.norm(robot.gravity) > 0:
        rated = robot.limits.effort[np.isfinite(robot.limits.effort)].max(initial=0.0)
        limit = heaviest(robot.reach, max(strongest, float(rated) / 3.0))
        total = float(masses.sum())
        if total > limit:
            values = {"mass": total, "reach": robot.reach, "torque": strongest, "most": limit}
            found.append(Finding("more than any arm", values=values))
    found += _contradiction(robot, feasible, held_out)
    chosen = feasible.believable
    if choosing and feasible.believable is None:
        found.append(Finding("not the most plausible"))
    if not feasible.certified:
        gap = feasible.gap if chosen is None or not feasible.solution.certified else chosen.gap
        found.append(Finding("not certified", values={"gap": gap}))
    return found


def _open_masses(robot: Robot, feasible: FeasibleFit, right: bool) -> list[Finding]:
    """The interval of the total mass where bodies followed no known masses, or why there is none."""
    whole, choice = mass_intervals(robot, feasible, right=right)[0], feasible.believable
    if choice is None or not choice.bodies.boxes.any() or not whole.open:
        return []
    values: dict[str, float | str] = {"mass": whole.value, "low": whole.low, "high": whole.high}
    why = without_intervals(robot, feasible, right)
    return [
        Finding("masses without interval", values={"mass": whole.value, "why": why})
        if why
        else Finding("open masses", values=values)
    ]


def _held(robot: Robot, feasible: FeasibleFit) -> list[Finding]:
    """Masses that lie on a default bound, with their proven ranges where that bound does not count."""
    found = []
    for k in assumed_reached(robot, feasible):
        link = robot.links[k]
        labels = [f"{link.name} mass", f"{link.name} extent"]
        mass = float(feasible.link_parameters[k].mass)
        try:
            entry = certified_intervals(feasible, without=labels).entries[0]
            low, high = entry.low, entry.high if entry.high < OPEN * mass else float("inf")
        except (ProblemError, SolveError):  # too few samples, or no bound
            low, high = 0.0, float("inf")
        end = f"{high:.3g} kg" if np.isfinite(high) else "any"
        values: dict[str, float | str] = {"most": mass, "low": max(low, 0.0), "high": high, "end": end}
        found.append(Finding("mass at a bound", joint=link.name, values=values))
    return found


def _given_bounds(robot: Robot, feasible: FeasibleFit) -> list[Finding]:
    """Bounds of the description or the caller that the links lie on."""
    assumed = {f"{link.name} extent" for link in robot.links}
    assumed |= {f"{link.name} mass" for link in robot.links if not np.isfinite(link.bounds.mass[1])}
    reached = [b.text for b in feasible.active if b.kind == "constraint" and b.quantity not in assumed]
    return [Finding("given bounds", values={"what": "; ".join(reached)})] if reached else []


def _contradiction(robot: Robot, feasible: FeasibleFit, held_out: HeldOut | None) -> list[Finding]:
    """Consistent bodies that surely predict worse, by more than what plausibility may cost; of a known mass or any."""
    if not feasible.fit.objective > 0:
        return []
    ratio = float(np.sqrt(feasible.solution.total / feasible.fit.objective))
    if ratio <= NOTICEABLE:
        return []
    if held_out is None:
        return [Finding("bodies cost residual", values={"ratio": ratio})]
    squares = held_out.squares
    if not compared(squares["consistent"] / NOTICEABLE**2, squares["unconstrained"]).better:
        return []
    low, high = robot.total_mass
    masses = feasible.standard_parameters[9::10]
    if low > 0 and np.abs(masses.sum() - robot.total_mass).min() <= REACHED * masses.max():
        return [Finding("total mass", values={"low": low, "high": high})]
    held, free = (held_out.tested[kind].total for kind in ("consistent", "unconstrained"))
    return [Finding("torques against bodies", values={"ratio": ratio, "held": held, "free": free})]
