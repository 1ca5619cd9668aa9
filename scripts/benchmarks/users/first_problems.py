"""Planted problems and numbers of noisy controllers: what is claimed of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Any

import casadi as ca
import numpy as np

import casid
from benchmarks.measure import Rows, need
from benchmarks.pinocchio import build, installed_urdf, parameter_map, symmetric
from benchmarks.real.robots import FILES, OTHERS
from benchmarks.users.planted_problems import COM, MARGIN, MASS, Case, Claim, Operations, cases, falsehood
from casid.arrays import Array
from casid.description import Robot
from casid.errors import CasidError
from casid.identification import ReverseEngineering, reverse_engineered
from casid.inertia import from_pseudo_inertia, pseudo_inertia
from casid.retrieval import Constraint, LinkVariables, Problem, com_box, least_squares, link_variables, mass_bounds
from casid.testing import arm

row = Rows()

_SYMBOLS = Operations(ca.if_else, ca.fmin, ca.fmax)
_COUNT, _QUICK = 500, 60


def _objective(case: Case, links: LinkVariables) -> Any:
    """The case's objective, as a user writes it."""
    x, light = links.x, ca.dot(ca.sparsify(ca.DM(case.light)), links.x)
    if case.form == "linear":
        return light
    if case.form == "expanded":
        H, b, c = case.expanded
        return ca.dot(x, ca.DM(H) @ x) + ca.dot(ca.DM(b), x) + c
    if case.form == "data":
        fit = least_squares(links, case.W / case.sd, case.tau / case.sd)
        return fit + light if case.light.any() else fit
    return ca.sumsqr((ca.DM(case.W) @ x - ca.DM(case.tau)) / case.sd) + light


def _claim(case: Case) -> Claim:
    links = link_variables(arm(case.links))
    rows: list[Any] = [row for k in links for row in (mass_bounds(k, *MASS), com_box(k, [COM[0]] * 3, [COM[1]] * 3))]
    if case.expression is not None:
        first = links[0]
        value = case.expression(_SYMBOLS, first.mass, [first.com[i] for i in range(3)])
        rows.append(Constraint("own", value, case.lower, case.upper))
    try:
        problem = Problem("planted", links, _objective(case, links), rows, margin=MARGIN)
        found = casid.solve(problem, throw=False, method=case.method)
    except CasidError:
        return Claim("refused", np.nan, -np.inf, None)
    return Claim(found.status, found.total, found.lower_bound, found.x)


@row(
     "first hour: certificates of 500 planted problems (light parts over 12 decades, signal 1e0 to 1e9 of the "
        "noise, constants one rounding off), judged in rational numbers without casid",
     "0 false", "41 of 70 lines false", _COUNT, quick=(_QUICK,), left_out="most of the problems")  # fmt: skip
def _certificates(count: int) -> tuple[str, bool]:
    said = [(case, _claim(case)) for case in cases(count)]
    false = [f"{case.name}: {words}" for case, claim in said if (words := falsehood(case, claim))]
    statuses = [claim.status for _, claim in said]
    counts = ", ".join(f"{statuses.count(s)} {s}" for s in dict.fromkeys(sorted(statuses, reverse=True)))
    worst = f"; {'; '.join(false[:3])}" if false else ""
    return f"{len(false)} of {count} false ({counts}){worst}", not false


#: Noise of the mass matrices, relative, and of the gravity torques [N.m]; poses, states, draws of the noise.
_NOISE, _POSES, _STATES, _DRAWS = (0.005, 0.02), 60, 200, 3
#: Bar: torques of the retrieved links over those of least squares of all coefficients, each joint.
_WORST = 2.0
_SHIPPED, _PUBLIC = ("panda", "kuka_iiwa", "ur10e", "wam7"), ("xArm7", "UR5")


@dataclass(frozen=True, eq=False)
class _Controller:
    """A robot with other links than its description has, by Pinocchio; standard parameters in Pinocchio's order."""

    robot: Robot
    truth: Array
    q: Array
    M: Array
    g: Array

    def torques(self, parameters: Array) -> Array:
        """Torques at random states, shape (states, n), of any parameters, links that cannot be included."""
        return np.array([Y @ parameters for Y in self._regressors()])

    @cache  # noqa: B019
    def _regressors(self) -> list[Array]:
        pin, (model, data) = need("pinocchio"), build(self.robot, self.robot.standard_parameters())
        n, rng = self.robot.n, np.random.default_rng(1)
        states = rng.uniform(-2, 2, (_STATES, 3, n))
        return [np.array(pin.computeJointTorqueRegressor(model, data, *state)) for state in states]

    def static(self) -> Array:
        """Regressor of [M, g] at every pose, shape (poses, n^2 + n, 10 n)."""
        pin, (model, data) = need("pinocchio"), build(self.robot, self.robot.standard_parameters())
        rows, zero, still = [], pin.Motion.Zero(), np.zeros(self.robot.n)
        gravity = model.gravity.copy()
        for q in self.q:
            g = np.array(pin.computeJointTorqueRegressor(model, data, q, still, still))
            model.gravity = zero
            M = [np.array(pin.computeJointTorqueRegressor(model, data, q, still, a)) for a in np.eye(self.robot.n)]
            model.gravity = gravity
            rows.append(np.vstack([*M, g]))
        return np.array(rows)


@cache
def _controller(name: str) -> _Controller:
    robot = casid.load_robot(name if name in _SHIPPED else installed_urdf((FILES | OTHERS)[name][0]))
    rng, n = np.random.default_rng(len(name)), robot.n
    stretch = 1.0 + rng.uniform(-0.1, 0.1, (n, 4))  # of the pseudo-inertia's axes: masses, centres, inertias by 20 %
    given = pseudo_inertia(robot.standard_parameters().reshape(n, 10))
    links = np.concatenate([from_pseudo_inertia(J) for J in stretch[:, :, None] * given * stretch[:, None, :]])
    pin, (model, data) = need("pinocchio"), build(robot, links)
    q = rng.uniform(np.maximum(robot.limits.lower, -3.0), np.minimum(robot.limits.upper, 3.0), (_POSES, n))
    M = np.array([symmetric(pin.crba(model, data, row)) for row in q])
    g = np.array([pin.computeGeneralizedGravity(model, data, row).copy() for row in q])
    return _Controller(robot, parameter_map(robot) @ links, q, M, g)


def _noisy(made: _Controller, seed: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    relative = np.array([symmetric(one) for one in rng.standard_normal(made.M.shape)])
    return made.M * (1.0 + _NOISE[0] * relative), made.g + _NOISE[1] * rng.standard_normal(made.g.shape)


def _rms(made: _Controller, parameters: Array) -> Array:
    error: Array = np.sqrt(((made.torques(parameters) - made.torques(made.truth)) ** 2).mean(axis=0))
    return error


def _ratios(name: str, seed: int) -> tuple[float, ReverseEngineering]:
    """The worst joint's torque error over that of least squares of all coefficients, in plain numpy."""
    made = _controller(name)
    M, g = _noisy(made, seed)
    W = made.static().reshape(-1, 10 * made.robot.n)
    y = np.concatenate([M.reshape(_POSES, -1), g], axis=1).ravel()
    squares = np.linalg.lstsq(W, y, rcond=1e-10)[0]
    found = reverse_engineered(made.robot, made.q, M, g)
    ours = _rms(made, parameter_map(made.robot) @ found.standard_parameters)
    return float((ours / _rms(made, squares)).max()), found


def _misread(made: _Controller, seed: int) -> dict[str, tuple[dict[str, Any], tuple[str, ...]]]:
    """Numbers read wrongly, and the words that name each."""
    M, g = _noisy(made, seed)
    pairs = list(combinations(range(made.robot.n), 2))
    i, j = pairs[np.random.default_rng(seed).integers(len(pairs))]
    order = np.arange(made.robot.n)
    order[[i, j]] = order[[j, i]]
    names = tuple(f"'{made.robot.joints[k].name}'" for k in (i, j))
    return {
        "g reversed": ({"q": made.q, "M": M, "g": -g}, ("reversed",)),
        "joints exchanged": ({"q": made.q[:, order], "M": M, "g": g}, (*names, "exchanged")),
        "g exchanged": ({"q": made.q, "M": M, "g": g[:, order]}, (*names, "exchanged")),
        "degrees": ({"q": np.degrees(made.q), "M": M, "g": g}, ("degrees",)),
    }


def _named(name: str, seed: int) -> list[str]:
    """Misreadings that are not named, or called certified."""
    made, missed = _controller(name), []
    for what, (numbers, words) in _misread(made, seed).items():
        try:
            found = reverse_engineered(made.robot, numbers["q"], numbers["M"], numbers["g"])
            text, certified = "; ".join(finding.text for finding in found.findings), found.certified
        except CasidError as error:
            text, certified = str(error), False
        if certified or not all(word in text for word in words):
            missed.append(f"{name}, {what}: {text or 'no word'}")
    return missed


@row(
     "first hour: reverse engineering of 6 robots from noisy M, g (0.5 %, 0.02 N.m) and with signs, degrees "
        "exchanged",
     "torques at random states <= 2 x the least-squares error of all coefficients; named",
     "8,600 %; certified, no word", (*_SHIPPED, *_PUBLIC), _DRAWS, quick=(("ur10e", "panda"), 1),
     left_out="4 robots, 2 draws of the noise")  # fmt: skip
def _measured(names: tuple[str, ...], draws: int) -> tuple[str, bool]:
    worst, false, missed = {}, 0, []
    for name in names:
        pairs = [_ratios(name, seed) for seed in range(draws)]
        worst[name] = max(ratio for ratio, _ in pairs)
        false += sum(bool(found.findings) or not found.certified for _, found in pairs)
        missed += [miss for seed in range(draws) for miss in _named(name, seed)]
    wrong = 4 * draws * len(names)
    text = "torques x least squares: " + ", ".join(f"{name} {ratio:.2f}" for name, ratio in worst.items())
    text += f"; {wrong - len(missed)} of {wrong} misreadings named; {false} of {draws * len(names)} clean ones doubted"
    return "; ".join([text, *missed[:3]]), max(worst.values()) <= _WORST and not missed and not false
