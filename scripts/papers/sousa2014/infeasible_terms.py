"""Sec. 8.1, future work: which terms of the dynamic model infeasible parameters spoil, beside the mass matrix."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from matplotlib.figure import Figure

from casid.arrays import Array
from casid.report import BLUE, INK, ORANGE, new_figure, set_title, tidy
from casid.report._style import GREEN, RED
from papers import wam_cases as thesis
from papers.item import Check, Comparison, Item, Outcome, Setting, Status, below, differs
from papers.methods.feasibility_test import FeasibleSet, closest_feasible, feasibility_test
from papers.methods.positive_definite_ratio import random_poses

#: Random states; random rows of each term's regressor; distances below this are those of four printed decimals.
STATES, ROWS, ROUNDING = 4000, 60, 0.5e-4 * np.sqrt(76)
#: States of each point of the curves, and a change of acceleration [%] beyond which its digits mean nothing.
CURVE, ENORMOUS = 1000, 1e4
#: Shares of states at which a term is not that of a machine.
SHARES = (
    "mass matrix indefinite", "kinetic energy negative", "a joint moved against its own torque",
    "end effector moved against a wrench", "friction that drives",
)  # fmt: skip
#: Terms whose identifiable parameters are tested by themselves.
TERMS = ("gravity", "Coriolis", "mass matrix", "friction", "all")


@dataclass(frozen=True, eq=False)
class States:
    """Positions, velocities and joint torques, shape (7, N) each: uniform poses, normal velocities [rad/s]."""

    q: Array
    dq: Array
    tau: Array

    @classmethod
    @cache
    def drawn(cls, count: int) -> States:
        """Seeded; torques of the size of the arm's own."""
        rng = np.random.default_rng(81)
        return cls(random_poses(7, count), rng.normal(size=(7, count)), 5.0 * rng.normal(size=(7, count)))


@cache
def jacobians(count: int) -> Array:
    """Of the last link, shape (N, 6, 7)."""
    stacked = np.array(thesis.model().jacobian.map(count)(States.drawn(count).q)[-1])
    return np.asarray(stacked.reshape(6, count, 7).transpose(1, 0, 2))


@dataclass(frozen=True, eq=False)
class TermValues:
    """The model's terms at all states.

    M (N, 7, 7); Coriolis and gravity torques, and friction without its constant part, (7, N); accelerations under the
    drawn torques (N, 7).
    """

    M: Array
    coriolis: Array
    gravity: Array
    friction: Array
    ddq: Array

    @classmethod
    def of(cls, pi: Array, count: int) -> TermValues:
        """Of standard parameters."""
        model, states = thesis.model(), States.drawn(count)
        M = np.array(model.mass_matrix.map(count)(states.q, pi)).reshape(7, count, 7).transpose(1, 0, 2)
        c = np.array(model.coriolis.map(count)(states.q, states.dq, pi))
        g = np.array(model.gravity.map(count)(states.q, pi))
        lossy = pi.copy()
        lossy[[k for k, (term, _) in model.term_columns.items() if not term.nonnegative]] = 0.0
        friction = np.array(model.friction.map(count)(states.dq, lossy))
        ddq = np.linalg.solve(M, (states.tau - c - g - friction).T[..., None])[..., 0]
        return cls(M, c, g, friction, ddq)

    def shares(self) -> list[float]:
        """Percent of the states, in the order of `SHARES`."""
        count = len(self.M)
        dq, J = States.drawn(count).dq, jacobians(count)
        inverse = np.linalg.inv(self.M)
        mobility = J @ inverse @ J.transpose(0, 2, 1)
        wrong = (
            np.linalg.eigvalsh(self.M)[:, 0] <= 0,
            np.einsum("in,nij,jn->n", dq, self.M, dq) < 0,
            inverse[:, range(7), range(7)].min(axis=1) < 0,
            np.linalg.eigvalsh(mobility)[:, 0] < 0,
            np.einsum("in,in->n", dq, self.friction) < 0,
        )
        return [100.0 * float(np.mean(one)) for one in wrong]

    def apart(self, other: TermValues) -> list[float]:
        """Percent by which terms differ from another set's.

        Gravity, Coriolis torques and the mass matrix (root of squares); accelerations: median and largest.
        """
        parts = [(self.gravity, other.gravity), (self.coriolis, other.coriolis), (self.M, other.M)]
        errors = [100.0 * float(np.linalg.norm(a - b) / np.linalg.norm(b)) for a, b in parts]
        ratio = np.linalg.norm(self.ddq - other.ddq, axis=1) / np.linalg.norm(other.ddq, axis=1)
        return [*errors, 100.0 * float(np.median(ratio)), 100.0 * float(ratio.max())]


def feasible_set() -> FeasibleSet:
    """``m > 0, I > 0`` of all links, and friction and rotors that are not negative."""
    model = thesis.model()
    positive = sorted(column for column, (term, _) in model.term_columns.items() if term.nonnegative)
    return FeasibleSet(
        len(model.parameter_names), tuple(int(row[0]) for row in model.link_columns), "semi", tuple(positive)
    )


@cache
def identifiable(term: str) -> Array:
    """Orthonormal basis of what one term of the model shows of the parameters, shape (rank, N)."""
    model, rng, zero, rows = thesis.model(), np.random.default_rng(8), np.zeros(7), list[Array]()
    inertial = [*np.ravel(model.link_columns), *(k for k, (t, _) in model.term_columns.items() if t.inertial)]
    lossy = [k for k, (t, _) in model.term_columns.items() if not t.inertial]
    for _ in range(ROWS):
        q, dq, ddq = rng.uniform(-np.pi, np.pi, 7), rng.normal(size=7), rng.normal(size=7)
        still, moving, pushed = (
            np.array(model.regressor(q, *state)) for state in ((zero, zero), (dq, zero), (zero, ddq))
        )
        Y = {"gravity": still, "Coriolis": moving - still, "mass matrix": pushed - still, "friction": moving}.get(term)
        if Y is None:
            Y = np.array(model.regressor(q, dq, ddq))
        elif term == "friction":
            Y[:, inertial] = 0.0
        else:
            Y[:, lossy] = 0.0
        rows.append(Y)
    _, sizes, basis = np.linalg.svd(np.concatenate(rows), full_matrices=False)
    return np.asarray(basis[sizes > 1e-9 * sizes[0]])


def alone(term: str, name: str) -> tuple[int, float, float]:
    """What a term shows of a set: how many parameters, their distance from feasible ones, and the proof's radius."""
    forms, pi, allowed = identifiable(term), thesis.parameters(name), feasible_set()
    distance = closest_feasible(forms, forms @ pi, allowed)[1]
    return len(forms), distance, feasibility_test(forms, forms @ pi, allowed).excluded_radius


def along(weights: Array, count: int) -> Array:
    """Shares over the line of eq. 6.1 from beta_WLS to beta*, shape (weights, 5)."""
    ends = thesis.parameters("beta_WLS"), thesis.parameters("beta*")
    return np.array([TermValues.of((1 - w) * ends[0] + w * ends[1], count).shares() for w in weights])


def picture(weights: Array, shares: Array) -> Figure:
    """One curve a kind of defect."""
    figure = new_figure(9.0, 4.8)
    set_title(figure, "What infeasible parameters spoil, from beta_WLS (0) to beta* (1)")
    axes = figure.subplots()
    for values, name, colour in zip(shares.T, SHARES, (BLUE, ORANGE, GREEN, RED, INK), strict=True):
        axes.plot(weights, values, "o-", markersize=3, linewidth=1.2, color=colour, label=name)
    axes.set(xlabel="λ of eq. 6.1", ylabel="random states [%]")
    axes.legend(frameon=False)
    tidy(axes)
    return figure


def power_balance(name: str) -> float:
    """Largest ``|dq'(dM/dt - 2 C) dq|`` relative to ``|dq'C dq|`` at fifty states."""
    model, states, pi, worst = thesis.model(), States.drawn(STATES), thesis.parameters(name), 0.0
    for q, dq in zip(states.q.T[:50], states.dq.T[:50], strict=True):
        step = 1e-6 * dq
        rate = (np.array(model.mass_matrix(q + step, pi)) - np.array(model.mass_matrix(q - step, pi))) / 2e-6
        power = float(dq @ np.array(model.coriolis(q, dq, pi)).ravel())
        worst = max(worst, abs(float(dq @ rate @ dq) - 2 * power) / max(abs(power), 1e-3))
    return worst


def run(setting: Setting) -> Outcome:
    """Every term, along the line of Fig. 6.1 and by itself."""
    count = 300 if setting.quick else STATES
    found = {name: TermValues.of(thesis.parameters(name), count) for name in thesis.SETS}
    best = found["beta*"]
    shares = {name: one.shares() for name, one in found.items()}
    rows = [[f"{name} [% of the states]", *(one[k] for one in shares.values())] for k, name in enumerate(SHARES)]
    apart = {name: one.apart(best) for name, one in found.items()}
    parts = {term: [alone(term, name) for name in ("beta_WLS", "beta*")] for term in TERMS}
    proofs = [
        [term, a[0], below(a[1], ROUNDING), "infeasible (proven)" if a[1] > ROUNDING and a[2] > 1e4 else "feasible",
         below(b[1], ROUNDING)]
        for term, (a, b) in parts.items()
    ]  # fmt: skip
    weights = np.linspace(0.0, 1.2, 7 if setting.quick else 13)
    curves = along(weights, min(count, CURVE))
    infeasible = {term for term, (a, _) in parts.items() if a[1] > ROUNDING and a[2] > 1e4}
    balance = power_balance("beta_WLS")
    return Outcome(
        (
            Comparison.of("Terms that are not those of a machine", ("", *found), [*rows, *_differing(apart)]),
            Comparison.of(
                "What each term shows of the parameters: could it be that of bodies?",
                ("term", "parameters", "distance of beta_WLS", "verdict", "distance of beta*"),
                proofs,
            ),
        ),
        {"infeasible_terms": picture(weights, curves)},
        (
            "Gravity is never spoilt: it shows first moments alone, and any first moments are those of bodies heavy "
            "and large enough. Coriolis torques are: they show moments and products of inertia, and those of beta_WLS "
            "are those of no bodies, though their values differ little. Friction is spoilt where a coefficient is "
            "negative; here the friction of the motor outweighs that of its joint, and no state was drawn in which "
            "friction drives. Inverse dynamics adds the terms, so that its error is that of the "
            "fit; forward dynamics divides by the mass matrix, so that its error has no bound. Joint and Cartesian "
            "mobilities (M^-1, J M^-1 J') that are not positive turn a feedback around: computed torque and impedance "
            "control then push away from the reference. What infeasibility leaves intact is dM/dt - 2C, antisymmetric "
            "for any parameters, and with it the balance of power; the energy that is balanced has no lower bound.",
            f"The second table asks, for each term by itself, whether any bodies have its {len(TERMS)} sets of "
            "identifiable parameters (orthonormal combinations of the standard ones). Printed values have four "
            f"decimals: distances up to {ROUNDING:.1e} are rounding. {count} random states.",
        ),
        (
            Check("the effects are not limited to the mass matrix: Coriolis and friction alone are infeasible",
                  {"Coriolis", "friction", "mass matrix"} <= infeasible),
            Check("gravity alone is feasible", "gravity" not in infeasible),
            Check("beta_WLS has velocities of negative kinetic energy, and joints that move against their own torque",
                  min(shares["beta_WLS"][0], shares["beta_WLS"][2]) > 0),
            differs("its friction, infeasible, drives at some state", shares["beta_WLS"][4] > 0),
            Check("the feasible sets have none of these, at any state",
                  all(max(shares[name]) == 0 for name in thesis.FEASIBLE)),
            Check("dM/dt - 2C takes no power, for infeasible parameters too", balance <= 1e-5),
            Check("mass matrix and Coriolis torques of beta_WLS differ by a few percent, accelerations without bound "
                  "(more than ten times at some state)",
                  max(apart["beta_WLS"][:3]) <= 10 and apart["beta_WLS"][4] > 1000),
        ),
    )  # fmt: skip


def _differing(apart: dict[str, list[float]]) -> list[list[object]]:
    """Rows of what `TermValues.apart` gives for each set."""
    labels = ("gravity", "Coriolis torques", "mass matrix", "acceleration, median", "acceleration, largest")
    rows = list[list[object]]()
    for k, label in enumerate(labels):
        cells = (f"above {ENORMOUS:.0e}" if one[k] > ENORMOUS else one[k] for one in apart.values())
        rows.append([f"{label} apart from beta* [%]", *cells])
    return rows


ITEM = Item(
    "Sec. 8.1 (terms)",
    "future work: which terms of the model infeasible parameters spoil",
    Status.REPRODUCED,
    "the four printed sets of Table 4.9 at random states, and each term's identifiable parameters tested by themselves",
    run,
    repeatable=True,
)
