"""Is the model right? Other readings of the recording are tried, and what its signals tell is looked at.

Every finding names its evidence and the option that mends it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from casid.description import Robot
from casid.description.robot import STANDARD_G
from casid.dynamics import Model
from casid.errors import CasidError
from casid.identification.alternatives import FEWER, Readings
from casid.identification.bounds import reach
from casid.identification.delay import filtered, worthwhile
from casid.identification.feasible_fit import FeasibleFit
from casid.identification.finding import Finding, Verdict
from casid.identification.held_out import HeldOut
from casid.identification.plausible import nominal_bodies
from casid.identification.signals import signal_findings
from casid.measurement import Dataset
from casid.regression import Fit, compress, estimate_delay, wls
from casid.regression._observation import torques

Array = NDArray[np.float64]

#: Share to which the residual must fall for another reading to be the better one.
BETTER = {"gravity": 0.9, "sign": 0.85, "joint order": 0.94, "clock": 0.93}
#: Residual above which a reading is in doubt even if no other is better.
DOUBT = 0.2
#: Ratio of the residual norms, consistent over unconstrained, from which bodies contradict the torques.
CONTRADICTION = 1.5
#: Power of friction, in standard deviations, from which it drives (or brakes) for sure.
DRIVING = 5.0
#: Ratio of the residuals, opposite gravity over the one assumed, up to which torques alone do not tell its sign, and
#: the share of the consistent fit's residual below which the opposite one is the better reading.
UNTOLD, LIGHTER_FIT = 1.25, 0.99
#: Torque over nominal torque, and largest torque over g reach^4 [kg/m^3], that real arms have.
GAIN, STRENGTH = (0.4, 2.5), (0.35, 60.0)
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
    dead = [f for f in signals if f.kind == "channel" and "never changes" in f.text]
    if any(f.kind in ("gravity", "sign", "joint order") for f in found):
        signals = [f for f in signals if f.kind != "channel"]  # the fit was of no use
    signals = [f for f in signals if f not in dead]
    found = [*dead, *found, *signals] if any(f.wrong for f in found) else [*dead, *signals, *found]
    progress(4, 4)
    if not any(f.kind in ("clock", "gravity", "sign", "joint order") for f in found):
        found += _delay(raw[longest], datasets[longest], feasible)
    held = float("nan") if held_out is None else held_out.tested["consistent"].total
    return Verdict(tuple(found), feasible.relative_error, held, tried)


def _readings(
    readings: Readings, dataset: Dataset, feasible: FeasibleFit, progress: Callable[[int, int], None]
) -> tuple[list[Finding], int]:
    """Other directions of gravity, signs, orders and clocks; and how many were tried."""
    here = readings.residual(readings.regressor())
    joints = [joint.name for joint in readings.model.robot.coordinates]
    candidates: list[tuple[float, Finding]] = []
    axes = list(readings.axes())
    name, g, value = min(axes, key=lambda axis: axis[2])
    if here > DOUBT or value < 0.97 * here:
        turned, best = readings.direction(g)
        if best < 0.93 * value:
            g, value, name = turned, best, ",".join(f"{v:.3g}" for v in turned)
    if value < BETTER["gravity"] * here and float(g @ readings.gravity) < 0.99 * float(g @ g):
        candidates.append((value, _gravity(name, here, value)))
    progress(2, 4)
    flips = [(value, k, "torque") for k, value in readings.reversed_torques()]
    flips += [(value, k, "joint") for k, value in readings.reversed_joints()]
    value, k, what = min(flips)
    if value < BETTER["sign"] * here:
        text = (
            f"with the {what} of '{joints[k]}' reversed the model leaves {100 * value:.0f} % of the torques "
            f"unexplained, as recorded {100 * here:.0f} %"
        )
        remedy = f"gains with a negative entry for '{joints[k]}' in the recording's TOML"
        candidates.append((value, Finding("sign", text, remedy)))
    fewer = readings.fewer(dataset, FEWER)
    few = fewer.residual(fewer.regressor())
    pairs = sorted((value, pair) for pair, value in fewer.exchanged())
    if pairs and pairs[0][0] < BETTER["joint order"] * few:
        value, (i, j) = pairs[0]
        text = (
            f"with '{joints[i]}' and '{joints[j]}' exchanged the model leaves {100 * value:.0f} % of the torques "
            f"unexplained, as recorded {100 * few:.0f} %"
        )
        candidates.append(
            (value, Finding("joint order", text, "columns in the recording's TOML, in the robot's order"))
        )
    progress(3, 4)
    clocks = sorted((value, factor) for factor, value in fewer.clocks(CLOCKS))
    value, factor = clocks[0]
    if value < BETTER["clock"] * few:
        text = (
            f"with velocities {factor:g} times as large the model leaves {100 * value:.1f} % of the torques "
            f"unexplained, as recorded {100 * few:.1f} %: the sampling rate or the time stamps are wrong"
        )
        candidates.append((value, Finding("clock", text, f"time_scale = {1 / factor:.3g} in the recording's TOML")))
    tried = len(axes) + len(flips) + len(pairs) + len(clocks)
    found = [min(candidates, key=lambda c: c[0])[1]] if candidates else []
    return found, tried


def _gravity(name: str, here: float, value: float) -> Finding:
    text = (
        f"with gravity along {name} the model leaves {100 * value:.0f} % of the torques unexplained, with the one "
        f"assumed {100 * here:.0f} %"
    )
    return Finding("gravity", text, f"--gravity={name}")


def _friction(feasible: FeasibleFit, datasets: tuple[Dataset, ...]) -> list[Finding]:
    """Signs that leave the residual alone: friction that drives, told by the power it takes from the motion."""
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
    text = f"friction drives instead of braking at {', '.join(backwards)}: {what}"
    return [Finding("sign", text, "gains = -1 for these joints in the recording's TOML")]


def _upside_down(
    readings: Readings, datasets: tuple[Dataset, ...], feasible: FeasibleFit, again: Callable[[Fit], FeasibleFit] | None
) -> list[Finding]:
    """Bodies that fall upwards: where torques alone do not tell gravity's sign, real bodies may."""
    here, opposite = (readings.residual(readings.regressor(s * readings.gravity)) for s in (1.0, -1.0))
    if again is None or opposite > UNTOLD * here or not readings.gravity.any():
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
    axis = int(np.argmax(np.abs(readings.gravity)))
    name = ("-" if readings.gravity[axis] > 0 else "+") + "xyz"[axis]
    text = (
        f"with gravity the other way real bodies of {weights[0]:.3g} kg leave {100 * ratio:.1f} % of the residual that "
        f"bodies of {weights[1]:.3g} kg leave with the one assumed"
    )
    return [Finding("gravity", text, f"--gravity={name}")]


def _strength(robot: Robot, datasets: tuple[Dataset, ...], feasible: FeasibleFit) -> list[Finding]:
    """Torques in another unit: against nominal bodies, against the size of the arm, against a known total mass."""
    largest = max(float(np.percentile(np.abs(data.tau), 99.0, axis=0).max()) for data in datasets)
    revolute = all(joint.type == "revolute" for joint in robot.joints)
    weighed = nominal_bodies(robot)
    if weighed is not None and np.linalg.norm(robot.gravity) > 0:
        model = feasible.model
        nominal = np.zeros(len(model.parameter_names))
        nominal[np.ravel(model.link_columns)] = weighed
        data = max(datasets, key=len)
        expected, measured = torques(model, nominal, data), data.tau
        share = float((expected * measured).sum() / max((expected**2).sum(), 1e-300))
        if share < -GAIN[0]:
            axis = int(np.argmax(np.abs(robot.gravity)))
            name = ("-" if robot.gravity[axis] > 0 else "+") + "xyz"[axis]
            text = f"torques are {share:.2g} times those of the nominal bodies while friction brakes as it should"
            return [Finding("gravity", text, f"--gravity={name}")]
        if abs(share) > 0 and not GAIN[0] <= abs(share) <= GAIN[1]:
            text = f"torques are {share:.2g} times those of the nominal bodies: another unit, or currents without gains"
            return [Finding("torque scale", text, f"gains = {1 / share:.2g} in the recording's TOML")]
        return []
    low, high = robot.total_mass
    strength = largest / (STANDARD_G * reach(robot) ** 4)
    if revolute and np.linalg.norm(robot.gravity) > 0 and not STRENGTH[0] <= strength <= STRENGTH[1]:
        text = (
            f"the largest torques, {largest:.3g} N.m, are {'weak' if strength < STRENGTH[0] else 'strong'} for an arm "
            f"of {reach(robot):.2g} m: another unit, or currents without gains"
        )
        return [Finding("torque scale", text, "gains in the recording's TOML")]
    if (
        low > 0
        and any("total mass" in bound.text for bound in feasible.active)
        and feasible.residual_ratio > CONTRADICTION
    ):
        text = (
            f"a total mass of {low:g} to {high:g} kg contradicts the torques: another unit, or currents without gains"
        )
        return [Finding("torque scale", text, "gains in the recording's TOML, or --total-mass")]
    return []


def _delay(raw: Dataset, dataset: Dataset, feasible: FeasibleFit) -> list[Finding]:
    """Lag of the torques behind the positions."""
    try:
        lag = estimate_delay(feasible.model, filtered(raw, dataset), feasible.fit.weights)
    except CasidError:
        return []
    if not worthwhile(lag):
        return []
    beyond = "at least " if lag.at_limit else ""
    text = (
        f"{raw.name}: torques lag {beyond}{1e3 * lag.seconds:.2f} ms ({lag.samples:.1f} samples) behind the positions; "
        f"taking it out lowers the residual by {100 * lag.gain:.1f} %"
    )
    return [Finding("delay", text, f"--delay {lag.seconds:.6f}, or --delay auto", wrong=False)]
