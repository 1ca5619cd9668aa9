"""The verdict on an identification: other readings of the recording, its signals, its friction, its torques' size.

Every finding has its evidence and the option that corrects it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from casid.description import Robot
from casid.description.robot import STANDARD_G
from casid.dynamics import Model
from casid.errors import CasidError
from casid.identification._bounds import reach
from casid.identification._feasible_fit import REACHED, FeasibleFit
from casid.identification._prediction import HeldOut
from casid.identification.diagnosis._delay import delay_finding
from casid.identification.diagnosis._findings import Finding, Verdict
from casid.identification.diagnosis._readings import FEWER, Readings
from casid.identification.diagnosis._signals import signal_findings
from casid.measurement import Dataset
from casid.regression import Fit, compress, wls
from casid.regression._observation import torques
from casid.retrieval.plausible._bodies import nominal_bodies

Array = NDArray[np.float64]

#: Share to which the residual must fall for another reading to be the better one.
BETTER = {"gravity": 0.9, "sign": 0.85, "joint order": 0.94, "clock": 0.93}
#: Residual above which a reading is in doubt even if no other is better.
DOUBT = 0.2
#: Ratio of the residual norms, consistent over unconstrained, from which bodies contradict the torques.
CONTRADICTION = 1.5
#: Power of friction, in standard deviations, from which its sign is certain.
DRIVING = 5.0
#: Ratio of the residuals, opposite gravity over the one assumed, up to which torques alone do not determine its sign,
#: and the share of the consistent fit's residual below which the opposite one is the better reading.
UNDECIDED, LIGHTER_FIT = 1.25, 0.99
#: Ranges of real arms: torque over nominal torque, and largest torque over g reach^4 [kg/m^3].
GAIN, STRENGTH = (0.4, 2.5), (0.35, 60.0)
#: Kinds of findings after which the fit's errors mean nothing.
MISREAD = ("gravity", "sign", "joint order")
#: Factors of all velocities that are tried.
CLOCKS = (0.1, 0.5, 0.7, 1.4, 2.0, 10.0)


def judge(
    robot: Robot,
    raw: tuple[Dataset, ...],
    datasets: tuple[Dataset, ...],
    feasible: FeasibleFit,
    held_out: HeldOut | None,
    progress: Callable[[int, int], None] = lambda done, total: None,
    again: Callable[[Fit], FeasibleFit] | None = None,
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
    progress
        Called with the number of steps done and their total.
    again
        How to fit consistently, for a reading that needs it.
    """
    fit = feasible.fit
    signals: list[Finding] = []
    for one, processed in zip(raw, datasets, strict=True):
        signals += signal_findings(one, processed, robot, fit)
    progress(1, 4)
    tried = 0
    found: list[Finding] = []
    longest = max(range(len(datasets)), key=lambda k: len(datasets[k]))
    readings = Readings(fit.data.model, datasets[longest])
    if readings.possible:
        others, tried = _readings(readings, datasets[longest], feasible, progress)
        found += others
        found = found or _friction(feasible, datasets) or _upside_down(readings, datasets, feasible, again)
    found = found or _strength(robot, datasets, feasible)
    dead = [f for f in signals if f.cause == "dead channel"]
    if any(f.kind in MISREAD for f in found):
        signals = [f for f in signals if f.kind != "channel"]  # errors of a fit to misread torques
    signals = [f for f in signals if f not in dead]
    found = [*dead, *found, *signals] if any(f.wrong for f in found) else [*dead, *signals, *found]
    progress(4, 4)
    if not any(f.kind in (*MISREAD, "clock") for f in found):
        found += delay_finding(raw[longest], datasets[longest], feasible.model, feasible.fit.weights)
    held = float("nan") if held_out is None else held_out.tested["consistent"].total
    return Verdict(tuple(found), feasible.relative_error, held, tried)


def _readings(
    readings: Readings, dataset: Dataset, feasible: FeasibleFit, progress: Callable[[int, int], None]
) -> tuple[list[Finding], int]:
    """The best of other directions of gravity, signs, orders and clocks, if one is better; and how many were tried."""
    here = readings.residual(readings.regressor())
    fewer = readings.fewer(dataset, FEWER)
    few = fewer.residual(fewer.regressor())
    candidates: list[tuple[float, Finding]] = []
    tried = 0
    kinds = (
        (1, _gravity, readings, here),
        (2, _signs, readings, here),
        (2, _orders, fewer, few),
        (3, _clocks, fewer, few),
    )
    for done, better, samples, residual in kinds:
        progress(done, 4)
        found, count = better(samples, residual)
        candidates += found
        tried += count
    return ([min(candidates, key=lambda c: c[0])[1]] if candidates else []), tried


#: Better readings of one kind, each with its residual; and how many were tried.
_Better = tuple[list[tuple[float, Finding]], int]


def _compared(reading: float, recorded: float) -> dict[str, float | str]:
    """Relative residuals of another reading and of the recording as it is, in percent."""
    return {"reading": 100 * reading, "recorded": 100 * recorded}


def _gravity(readings: Readings, here: float) -> _Better:
    """Gravity along another axis, or in the best direction near it."""
    axes = list(readings.axes())
    name, g, value = min(axes, key=lambda axis: axis[2])
    if here > DOUBT or value < 0.97 * here:
        turned, best = readings.direction(g)
        if best < 0.93 * value:
            g, value, name = turned, best, ",".join(f"{v:.3g}" for v in turned)
    if value < BETTER["gravity"] * here and float(g @ readings.gravity) < 0.99 * float(g @ g):
        found = Finding("gravity direction", values={"direction": name, **_compared(value, here)})
        return [(value, found)], len(axes)
    return [], len(axes)


def _signs(readings: Readings, here: float) -> _Better:
    """One torque, or one joint, with the other sign."""
    flips = [(value, k, "torque") for k, value in readings.reversed_torques()]
    flips += [(value, k, "joint") for k, value in readings.reversed_joints()]
    value, k, what = min(flips)
    if value < BETTER["sign"] * here:
        joint = readings.model.robot.coordinates[k].name
        found = Finding("reversed joint", joint=joint, values={"what": what, **_compared(value, here)})
        return [(value, found)], len(flips)
    return [], len(flips)


def _orders(readings: Readings, here: float) -> _Better:
    """Two joints exchanged."""
    pairs = sorted((value, pair) for pair, value in readings.exchanged())
    if pairs and pairs[0][0] < BETTER["joint order"] * here:
        value, pair = pairs[0]
        one, other = (readings.model.robot.coordinates[k].name for k in pair)
        found = Finding("exchanged joints", joint=one, values={"other": other, **_compared(value, here)})
        return [(value, found)], len(pairs)
    return [], len(pairs)


def _clocks(readings: Readings, here: float) -> _Better:
    """All velocities times a factor."""
    clocks = sorted((value, factor) for factor, value in readings.clocks(CLOCKS))
    value, factor = clocks[0]
    if value < BETTER["clock"] * here:
        values = {"factor": factor, "scale": 1 / factor, **_compared(value, here)}
        return [(value, Finding("velocity scale", values=values))], len(clocks)
    return [], len(clocks)


def _friction(feasible: FeasibleFit, datasets: tuple[Dataset, ...]) -> list[Finding]:
    """Reversed signs that do not change the residual: friction that drives, by the power it takes from the motion."""
    fit, model = feasible.fit, feasible.model
    base = [fit.data.base.names[i] for i in fit.excited.independent]
    drains = np.zeros((model.n, len(base)))  # power of friction as a linear form of the excited base parameters
    for column, (term, joint) in model.term_columns.items():
        name = model.parameter_names[column]
        if term.nonnegative and term.dissipative and name in base:
            speeds = np.concatenate([np.abs(d.dq[:, joint]) for d in datasets if d.dq is not None])
            drains[joint, base.index(name)] = float((speeds**2).mean() if term.viscous else speeds.mean())
    power = drains @ fit.beta[list(fit.excited.independent)]
    sd = np.sqrt(np.maximum(np.einsum("ki,ij,kj->k", drains, fit.covariance, drains), 1e-300))
    joints = [joint.name for joint in model.robot.coordinates]
    backwards = [joints[k] for k in range(model.n) if power[k] < -DRIVING * sd[k]]
    braking = sum(power[k] > DRIVING * sd[k] for k in range(model.n))
    if not backwards:
        return []
    what = "torques are reversed" if len(backwards) > braking else "its torque is reversed"
    return [Finding("driving friction", joint=", ".join(backwards), values={"what": what})]


def _upside_down(
    readings: Readings, datasets: tuple[Dataset, ...], feasible: FeasibleFit, again: Callable[[Fit], FeasibleFit] | None
) -> list[Finding]:
    """Gravity the other way, where its sign follows from consistent bodies only, not from the torques alone."""
    here, opposite = (readings.residual(readings.regressor(s * readings.gravity)) for s in (1.0, -1.0))
    if again is None or opposite > UNDECIDED * here or not readings.gravity.any():
        return []
    model = feasible.model
    turned = Model(model.robot, model.terms, -readings.gravity, model.velocity_deadband)
    try:
        other = again(wls(compress(turned, datasets), feasible.fit.weights))
    except CasidError:
        return []
    ratio = float(np.sqrt(other.solution.total / feasible.solution.total))
    weights = [float(f.standard_parameters[9::10].sum()) for f in (other, feasible)]
    if ratio > LIGHTER_FIT or weights[0] > weights[1]:
        return []
    values: dict[str, float | str] = {
        "turned_mass": weights[0],
        "mass": weights[1],
        "reading": 100 * ratio,
        "direction": _opposite(readings.gravity),
    }
    return [Finding("opposite gravity", values=values)]


def _opposite(gravity: Array) -> str:
    """The axis against gravity, as ``--gravity`` takes it."""
    axis = int(np.argmax(np.abs(gravity)))
    return ("-" if gravity[axis] > 0 else "+") + "xyz"[axis]


def _strength(robot: Robot, datasets: tuple[Dataset, ...], feasible: FeasibleFit) -> list[Finding]:
    """Torques in another unit: against nominal bodies, against the size of the arm, against a known total mass."""
    if not np.linalg.norm(robot.gravity) > 0:
        return _total_mass(robot, feasible)
    nominal = nominal_bodies(robot)
    if nominal is not None:
        return _nominal(robot, nominal, max(datasets, key=len), feasible)
    largest = max(float(np.percentile(np.abs(data.tau), 99.0, axis=0).max()) for data in datasets)
    strength = largest / (STANDARD_G * reach(robot) ** 4)
    if all(joint.type == "revolute" for joint in robot.joints) and not STRENGTH[0] <= strength <= STRENGTH[1]:
        what = "weak" if strength < STRENGTH[0] else "strong"
        return [Finding("torques for the size", values={"torque": largest, "what": what, "reach": reach(robot)})]
    return _total_mass(robot, feasible)


def _nominal(robot: Robot, nominal: Array, data: Dataset, feasible: FeasibleFit) -> list[Finding]:
    """Torques compared with those of the nominal bodies."""
    model = feasible.model
    parameters = np.zeros(len(model.parameter_names))
    parameters[np.ravel(model.link_columns)] = nominal
    expected, measured = torques(model, parameters, data), data.tau
    ratio = float((expected * measured).sum() / max((expected**2).sum(), 1e-300))
    if ratio < -GAIN[0]:
        return [Finding("opposite torques", values={"ratio": ratio, "direction": _opposite(robot.gravity)})]
    if abs(ratio) > 0 and not GAIN[0] <= abs(ratio) <= GAIN[1]:
        return [Finding("torques of nominal bodies", values={"ratio": ratio, "gain": 1 / ratio})]
    return []


def _total_mass(robot: Robot, feasible: FeasibleFit) -> list[Finding]:
    """A known total mass whose bound is reached although the torques contradict it."""
    low, high = robot.total_mass
    if not low > 0 or feasible.residual_ratio <= CONTRADICTION:
        return []
    masses = feasible.standard_parameters[9::10]
    away = min(abs(float(masses.sum()) - low), abs(float(masses.sum()) - high))
    if away > REACHED * float(np.abs(masses).max()):
        return []
    return [Finding("total mass", values={"low": low, "high": high})]
