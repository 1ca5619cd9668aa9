"""Secs. 2.4.3, 2.4.4: impedance and force control against a wall, with infeasible and feasible parameters."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from matplotlib.figure import Figure

from casid.arrays import Array
from casid.control import Controller, ForceControl, Impedance
from casid.motion import Hold
from casid.report import new_figure, set_title, tidy
from casid.simulation import Plant, SmoothCoulomb, Stops, Wall, simulate_many
from papers import wam_cases as thesis
from papers.item import Check, Comparison, Item, Outcome, Setting, Status

FRAME, MISFIT = "link7", "beta_WLS"
#: A point of the wall [m], its outward normal, stiffness [N/m], damping [N.s/m].
SURFACE, NORMAL, STIFFNESS, DAMPING = np.array([0.6, 0.0, 0.0]), np.array([-1.0, 0.0, 0.0]), 1e4, 50.0
#: How far the reference lies behind the surface, and the start before it [m].
INSIDE, BEFORE = 0.02, 0.005
#: Impedance along and about the axes, critically damped: stiffness, apparent inertia.
K, A = np.array([1000.0] * 3 + [20.0] * 3), np.array([5.0] * 3 + [0.1] * 3)
#: Force [N], first estimate of the wall's stiffness [N/m], gains of the rest of the frame's motion.
FORCE, FIRST, KP, KD = 15.0, 2e4, 400.0, 40.0
#: Seconds; postures: middle and half width of the random angles [rad], least singular value of the Jacobian.
DURATION, POSTURES = 2.0, 32
MIDDLE, SPREAD, CLEAR = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]), 1.5, 0.1
STAND_IN = (
    "stand-in: the thesis describes the control and measures nothing; the arm is simulated with beta*e, its friction "
    "and rotors, against a wall of 10 N/mm in random postures; the controller has the links of each set of Table 4.9"
)


def law(kind: str, name: str) -> Controller:
    """A controller with the links of a set, friction left out as in Sec. 5.2."""
    links, pi = Plant(thesis.model(), thesis.parameters(name)).links
    if kind == "impedance":
        return Impedance(links, pi, K, 2 * np.sqrt(K * A), FRAME, inertia=A)
    gains = np.full(6, KP), np.full(6, KD)
    return ForceControl(links, pi, *gains, FRAME, direction=-NORMAL, force=FORCE, stiffness=FIRST)


def expected(kind: str) -> float:
    """Force at rest with an exact model: impedance and wall in series; what is asked for [N]."""
    return float(K[0] * STIFFNESS / (K[0] + STIFFNESS) * INSIDE) if kind == "impedance" else FORCE


@cache
def postures(count: int) -> tuple[Array, Array]:
    """References behind the surface and starts before it, shapes (count, 7), away from singular postures."""
    place, jacobian = thesis.model().frame_placement(FRAME), thesis.model().frame_jacobian(FRAME)

    def along(q: Array, x: float, rows: int) -> Array:
        """The nearest posture with the frame at x; with six rows its other coordinates and axes stay."""
        first = np.array(place(q))
        for _ in range(30):
            here = np.array(place(q))
            turn = sum(np.cross(here[:3, i], first[:3, i]) for i in range(3)) / 2
            error = np.concatenate([first[:3, 3] - here[:3, 3], turn])
            error[0] = x - here[0, 3]
            q = q + np.linalg.pinv(np.array(jacobian(q))[:rows]) @ error[:rows]
        return q

    rng = np.random.default_rng(0)
    found: list[tuple[Array, Array]] = []
    while len(found) < count:
        q = along(rng.uniform(-SPREAD, SPREAD, 7) + MIDDLE, SURFACE[0] + INSIDE, 1)
        if np.linalg.svd(np.array(jacobian(q)))[1][-1] > CLEAR:
            found.append((q, along(q, SURFACE[0] - BEFORE, 6)))
    references, starts = (np.array(part) for part in zip(*found, strict=True))
    return references, starts


@dataclass(frozen=True, eq=False)
class Contact:
    """One law with one set in all postures: instants (N,), forces on the wall (postures, N) [N], NaN after an end."""

    t: Array
    force: Array

    @property
    def broken(self) -> int:
        """In how many postures the arm broke loose."""
        return int(np.isnan(self.force[:, -1]).sum())

    @property
    def final(self) -> Array:
        """Forces at the end where there was no other."""
        return np.asarray(self.force[~np.isnan(self.force[:, -1]), -1])


@cache
def contact(kind: str, name: str, count: int) -> Contact:
    """From rest before the wall to rest in it."""
    references, starts = postures(count)
    wall = Wall(FRAME, SURFACE, NORMAL, STIFFNESS, DAMPING)
    plant = Plant(thesis.model(), thesis.parameters(thesis.MACHINE), SmoothCoulomb(0.02), forces=(wall,))
    done = simulate_many(
        plant, law(kind, name), [Hold(q) for q in references], DURATION, q0=starts, every=10, stops=Stops(speed=50.0)
    )
    model = thesis.model()
    place, jacobian = (f.map(len(done.t)) for f in (model.frame_placement(FRAME), model.frame_jacobian(FRAME)))
    force = []
    for q, dq in zip(done.q, done.dq, strict=True):
        x = np.array(place(q.T))[0, 3::4]
        v = np.einsum("nj,nj->n", np.array(jacobian(q.T))[0].reshape(len(q), 7), dq)
        depth = x - SURFACE[0]
        force.append(np.where(depth > 0, np.maximum(STIFFNESS * depth + DAMPING * v, 0.0), 0.0 * depth))
    return Contact(done.t, np.array(force))


def figure(kind: str, done: dict[str, Contact]) -> Figure:
    """Force over time in every posture, a panel a set."""
    made = new_figure(10.0, 5.0)
    set_title(made, f"{kind} control: force on the wall in {len(next(iter(done.values())).force)} postures")
    panels = np.atleast_1d(made.subplots(1, len(done), sharey=True))
    for axes, (name, one) in zip(panels, done.items(), strict=True):
        axes.plot(one.t, one.force.T, linewidth=0.7)
        axes.axhline(expected(kind), color="0.4", linestyle=":", linewidth=1.0)
        axes.set(xlabel="time [s]", title=f"{name}: {one.broken} broke loose", ylim=(-1.0, 4 * expected(kind)))
        tidy(axes)
    panels[0].set_ylabel("force [N]")
    return made


def item(number: str, kind: str, title: str, words: str) -> Item:
    """One law with the sets of Table 4.9."""

    def run(setting: Setting) -> Outcome:
        count = 8 if setting.quick else POSTURES
        done = {n: contact(kind, n, count) for n in ((MISFIT, "beta*") if setting.quick else thesis.SETS)}
        indefinite = {n: sum(_least(n, q) <= 0 for q in postures(count)[1]) for n in done}
        rows: list[list[object]] = [
            [n, indefinite[n], one.broken, *np.percentile(one.final, (0, 50, 100)).tolist()] for n, one in done.items()
        ]
        columns = ("controller's model", "M not positive definite", "broke loose", "force at last: least", "median",
                   "largest")  # fmt: skip
        table = f"Contact in {count} postures; force at rest with an exact model {expected(kind):.4g} N"
        spread = {n: float(np.abs(one.final - expected(kind)).max()) for n, one in done.items()}
        best = max(spread[n] for n in done if n != MISFIT)
        checks = [
            Check("with the feasible sets the arm holds contact in every posture",
                  not any(one.broken for n, one in done.items() if n != MISFIT)),
            Check("with beta_WLS it breaks loose in some", done[MISFIT].broken > 0),
        ]  # fmt: skip
        if kind == "force":
            checks.append(
                Check(f"feasible sets: the force is exact within 1 % (here {best:.2f} N)", best <= 0.01 * FORCE)
            )
        return Outcome(
            (Comparison.of(table, columns, rows),), {f"sec_{number.replace('.', '_')}": figure(kind, done)}, (words,),
            tuple(checks),
        )  # fmt: skip

    return Item(f"Sec. {number}", title, Status.IN_KIND, STAND_IN, run)


def _least(name: str, q: Array) -> float:
    """Smallest eigenvalue of the mass matrix of a set."""
    M = Plant(thesis.model(), thesis.parameters(name)).given.mass_matrix(q)
    return float(np.linalg.eigvalsh(np.array(M))[0])


ITEMS = (
    item(
        "2.4.3",
        "impedance",
        "impedance control in contact with a compliant wall",
        "`casid.control.Impedance`: apparent inertia 5 kg, 1 N/mm, critically damped. Friction of the joints, which "
        "the controller does not know, takes part of the force or adds to it. Where the model's mass matrix is "
        "not positive definite the infeasible set may still hold contact; what is infeasible is small and friction "
        "of the light joints hides it.",
    ),
    item(
        "2.4.4",
        "force",
        "force control with an active observer in contact with a compliant wall",
        "`casid.control.ForceControl`: bandwidth 20 rad/s, the wall's stiffness thought twice too high at first and "
        "estimated from the touch on. The active state takes up friction and errors of feasible parameters; it cannot "
        "take up a mass matrix of the wrong sign.",
    ),
)
