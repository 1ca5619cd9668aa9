"""The verdict on an identification: other readings of the recording, its signals, its friction, its torques' size.

Every finding has its evidence and the option that corrects it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from casid.arrays import Array
from casid.description import STANDARD_G, Robot
from casid.identification._bounds import reach
from casid.identification._consistent_fits import ConsistentFits
from casid.identification._feasible_fit import REACHED, FeasibleFit
from casid.identification._prediction import HeldOut
from casid.identification.diagnosis._better_readings import Trials, better_readings
from casid.identification.diagnosis._consistent_readings import (
    consistently_better,
    most_consistent,
    other_gravity,
    refitted,
    simplest,
    tried,
)
from casid.identification.diagnosis._delay import MOST, delay_finding
from casid.identification.diagnosis._findings import Finding, Trial
from casid.identification.diagnosis._readings import Readings, moving, opposite_axis
from casid.identification.diagnosis._signals import link_findings, one_way, signal_findings
from casid.identification.diagnosis._trial import signed
from casid.measurement import Dataset
from casid.regression import Fit, torques
from casid.retrieval.plausible import nominal_bodies

#: Ratio of the residual norms, consistent over unconstrained, from which bodies contradict the torques.
CONTRADICTION = 1.5
#: Power of friction, in standard deviations, from which its sign is certain.
DRIVING = 5.0
#: Share of a joint's torque that a fit leaves unexplained from which it is named, and over that of the other joints.
UNEXPLAINED, OUTSTANDING = 25.0, 3.0
#: Ranges of real arms: torque over nominal torque, and largest torque over g reach^4 [kg/m^3].
GAIN, STRENGTH = (0.4, 2.5), (0.35, 60.0)
#: Least share of the torques of nominal bodies that bodies of links without one cannot add, and the relative size of
#: singular values that count.
OWN, DISTINCT = 0.3, 1e-8
#: Kinds of findings after which the fit's errors mean nothing.
MISREAD = ("gravity", "sign", "joint order", "zero position")
#: Share of the samples from which a defect is more than a trifle [%].
TOUCHED = 1.0


@dataclass(frozen=True)
class Verdict:
    """Whether the model is right.

    Attributes
    ----------
    findings : tuple of Finding
    error, held_out : float
        Relative error of the consistent fit on the training and on held-out data [%]; NaN where nothing was held out.
    tried : int
        Readings of the recording that were tried and do not explain it better.
    """

    findings: tuple[Finding, ...]
    error: float
    held_out: float
    tried: int

    @property
    def right(self) -> bool:
        """No finding makes the torques or the links wrong."""
        return not any(finding.wrong for finding in self.findings)

    @property
    def torques(self) -> str:
        """Headline about the torques."""
        apart = "" if self.held_out != self.held_out else f", {self.held_out:.2f} % on data that were held out"
        clean = (
            f"no finding against the model: error {self.error:.2f} %{apart}; {self.tried} other readings of the "
            "recording explain it no better"
        )
        return self._headline("torques", clean)

    @property
    def links(self) -> str:
        """Headline about the links; of masses that the data leave open it says so first."""
        open_masses = next((f.text for f in self.findings if f.kind == "masses"), "")
        return self._headline("links", open_masses or "no finding against the links")

    @property
    def line(self) -> str:
        """Both headlines in one line."""
        return f"{self.torques}; links: {self.links}"

    def about(self, what: Literal["torques", "links"]) -> tuple[Finding, ...]:
        """Findings of a headline, that which it opens with first.

        Those that make the result wrong; those with a remedy that was tried and is better; a delay taken out that was a
        large part of the residual; others, of defects those that touch the most samples; then what touches few
        samples or was taken out.
        """
        return tuple(sorted((f for f in self.findings if f.about == what and f.kind != "masses"), key=_place))

    def _headline(self, about: Literal["torques", "links"], clean: str) -> str:
        own = self.about(about)
        if not own:
            return clean
        first, rest = own[0], list(dict.fromkeys(finding.kind for finding in own[1:]))
        more = f" (and {len(own) - 1} more: {', '.join(rest)})" if rest else ""
        advice = f"; try {first.advice}" if first.advice else ""
        if first.wrong:
            return f"WRONG: {first.text}{advice}{more}"
        return f"{clean}; to be checked: {first.text}{advice}{more}"

    @property
    def further(self) -> tuple[Finding, ...]:
        """Findings that no headline gives in full."""
        return tuple(f for f in self.findings if f.text not in self.line)

    def record(self) -> dict[str, object]:
        """Plain values."""
        return {
            "line": self.line,
            "right": self.right,
            "torques": self.torques,
            "links": self.links,
            "findings": [finding.record() for finding in self.findings],
        }


def _place(finding: Finding) -> tuple[int, float]:
    """Place of a finding in its headline."""
    if finding.wrong or finding.advice:
        return int(not finding.wrong), 0.0
    if finding.cause == "delay taken out":
        return (1 if float(finding.values["gain"]) >= 100.0 * MOST else 4), 0.0
    share = float(finding.values.get("gain" if finding.kind == "delay" else "share", 100.0))
    return (2 if share >= TOUCHED else 3), -share if "share" in finding.values else 0.0


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
    signals += one_way(datasets, robot)
    compared = 0
    found: list[Finding] = []
    longest = max(range(len(datasets)), key=lambda k: len(datasets[k]))
    trials = Trials(fit.data.model, datasets)
    dead = [trials.without(f) for f in signals if f.cause == "dead channel"]
    readings = Readings(fit.data.model, datasets[longest])
    if readings.possible and not dead:
        found, compared = better_readings(readings, datasets[longest], trials)
        if found:
            found = most_consistent(found, trials, datasets, feasible, fits)
        turned, proven = other_gravity(readings, datasets, feasible, fits)
        driven = [] if found or proven else _friction(feasible, datasets, fits)
        if not (found or proven or driven):
            found = consistently_better(trials.readings, datasets, feasible, fits)
        if found and turned:
            found = simplest(found, turned, trials, datasets, feasible, fits)
        else:
            found = turned if proven else found or driven or turned
    found = found or _strength(robot, datasets, feasible)
    if any(f.kind in MISREAD for f in found):
        signals = [f for f in signals if f.kind != "channel"]  # errors of a fit to misread torques
    signals = [trials.without(f) if f.kind == "channel" else f for f in signals if f.cause != "dead channel"]
    found = [*dead, *found, *signals] if any(f.wrong for f in found) else [*dead, *signals, *found]
    if not any(f.kind in (*MISREAD, "clock") for f in found):
        found += delay_finding(raw[longest], datasets[longest], feasible.model, fit.weights, trials)
    if not any(f.wrong for f in found):
        found += _unexplained(fit)
    found += link_findings(robot, datasets, feasible, held_out, fits.choosing)
    held = float("nan") if held_out is None else held_out.tested["consistent"].total
    return Verdict(tuple(found), feasible.relative_error, held, compared)


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


def _friction(feasible: FeasibleFit, datasets: tuple[Dataset, ...], fits: ConsistentFits) -> list[Finding]:
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
    power = np.where(np.any([moving(d, model.robot) for d in datasets], axis=0), power, 0.0)  # rest has no friction law
    joints = [joint.name for joint in model.robot.coordinates]
    backwards = [joints[k] for k in range(model.n) if power[k] < -DRIVING * sd[k]]
    braking = sum(power[k] > DRIVING * sd[k] for k in range(model.n))
    if not backwards:
        return []
    everything = len(backwards) > braking
    what = "torques are reversed" if everything else "its torque is reversed"
    found = Finding("driving friction", joint=", ".join(backwards), values={"what": what})
    signs = np.full(model.n, -1.0) if everything else np.where(power < -DRIVING * sd, -1.0, 1.0)
    turned = [signed(data, signs, torques_only=True) for data in datasets]
    other = refitted(fits, fit.data.model, turned, fit)
    if other is None or not other.relative_error < feasible.relative_error:
        return [found]
    return [replace(found, trial=tried(fits, fit, datasets, fit.data.model, turned))]


def _strength(robot: Robot, datasets: tuple[Dataset, ...], feasible: FeasibleFit) -> list[Finding]:
    """Torques in another unit: against nominal bodies, against the size of the arm, against a known total mass."""
    if not np.linalg.norm(robot.gravity) > 0:
        return _total_mass(robot, feasible)
    nominal = nominal_bodies(robot)
    if nominal is not None:
        return _nominal(robot, nominal, max(datasets, key=len), feasible)
    largest = max(float(np.percentile(np.abs(data.tau), 99.0, axis=0).max()) for data in datasets)
    # whether the place of the first joint is a part of the arm or a pedestal is open: weak and strong in either case
    lengths = {"weak": reach(robot, mounted=False), "strong": reach(robot)}
    strength = {what: largest / (STANDARD_G * length**4) for what, length in lengths.items()}
    what = "weak" if strength["weak"] < STRENGTH[0] else "strong" if strength["strong"] > STRENGTH[1] else ""
    if what and all(joint.type == "revolute" for joint in robot.joints):
        return [Finding("torques for the size", values={"torque": largest, "what": what, "reach": lengths[what]})]
    return _total_mass(robot, feasible)


def _nominal(robot: Robot, nominal: Array, data: Dataset, feasible: FeasibleFit) -> list[Finding]:
    """Torques compared with those of the nominal bodies; what bodies of links without one can add is left out."""
    model = feasible.model
    columns = np.ravel(model.link_columns)
    described = np.repeat(nominal[9::10] > 0, 10)
    parameters = np.zeros((1 + int((~described).sum()), len(model.parameter_names)))
    parameters[0, columns] = nominal
    parameters[1 + np.arange(len(parameters) - 1), columns[~described]] = 1.0
    made = np.stack([torques(model, row, data).ravel() for row in parameters])
    expected = made[0]
    if len(made) > 1:
        left, sizes, _ = np.linalg.svd(made[1:].T, full_matrices=False)
        left = left[:, sizes > DISTINCT * sizes[0]]
        expected = expected - left @ (left.T @ expected)
    if np.linalg.norm(expected) <= OWN * np.linalg.norm(made[0]):
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
