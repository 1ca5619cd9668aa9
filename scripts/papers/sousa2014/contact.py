"""Secs. 2.4.3, 2.4.4: impedance and force control against a wall, with infeasible and feasible parameters."""

from __future__ import annotations

from functools import cache

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from casid.control import Controller, ForceControl, Impedance
from casid.motion import Hold
from casid.report._style import new_figure, set_title, tidy
from casid.simulation import Plant, Simulation, SmoothCoulomb, Stops, Wall, simulate
from papers import wam_cases as thesis
from papers.item import Check, Comparison, Item, Outcome, Setting, Status, differs

Array = NDArray[np.float64]
FRAME = "link7"
#: Reference posture [rad], elbow bent; outward normal of the wall, stiffness [N/m], damping [N.s/m].
POSTURE = np.array([0.0, 0.6, 0.0, 1.9, 0.0, -0.9, 0.0])
NORMAL, STIFFNESS, DAMPING = np.array([-1.0, 0.0, 0.0]), 1e4, 50.0
#: Surface before the reference, and first place before the surface [m].
INSIDE, BEFORE = 0.02, 0.005
#: Impedance along and about the axes, critically damped: stiffness, apparent inertia.
K, A = np.array([1000.0] * 3 + [20.0] * 3), np.array([5.0] * 3 + [0.1] * 3)
#: Force [N], bandwidth [rad/s], first estimate of the wall's stiffness [N/m], gains of the rest of the frame's motion.
FORCE, BANDWIDTH, FIRST, KP, KD = 15.0, 20.0, 2e4, 400.0, 40.0
DURATION = 3.0
LAWS = ("impedance", "force")
STAND_IN = (
    "the thesis describes the control without an experiment; here the arm is simulated with beta*e, its friction and "
    "rotors, against a spring-damper wall; the controller's links are those of each set of Table 4.9"
)


def law(kind: str, name: str) -> Controller:
    """A controller with the links of a set, friction left out as in Sec. 5.2."""
    links, pi = Plant(thesis.model(), thesis.parameters(name)).links
    if kind == "impedance":
        return Impedance(links, pi, K, 2 * np.sqrt(K * A), FRAME, inertia=A)
    gains = np.full(6, KP), np.full(6, KD)
    return ForceControl(
        links, pi, *gains, FRAME, direction=-NORMAL, force=FORCE, bandwidth=BANDWIDTH, stiffness=FIRST
    )


def start() -> tuple[Array, Array]:
    """A place of the surface, and a posture with the frame before it."""
    place, jacobian = thesis.model().frame_placement(FRAME), thesis.model().frame_jacobian(FRAME)
    reference = np.array(place(POSTURE))
    surface, q = reference[:3, 3] + INSIDE * NORMAL, POSTURE.copy()
    for _ in range(20):
        here = np.array(place(q))
        turn = sum(np.cross(here[:3, i], reference[:3, i]) for i in range(3)) / 2
        error = np.concatenate([surface + BEFORE * NORMAL - here[:3, 3], turn])
        q = q + np.linalg.pinv(np.array(jacobian(q))) @ error
    return surface, q


@cache
def run(kind: str, name: str, machine: str = thesis.MACHINE) -> Simulation:
    """From rest before the wall to the contact with it."""
    surface, q0 = start()
    wall = Wall(FRAME, surface, NORMAL, STIFFNESS, DAMPING)
    plant = Plant(thesis.model(), thesis.parameters(machine), SmoothCoulomb(0.02), forces=(wall,))
    return simulate(plant, law(kind, name), Hold(POSTURE), DURATION, q0=q0, stops=Stops(speed=50.0))


def pressing(done: Simulation) -> Array:
    """Force on the wall [N]."""
    return np.asarray(-done.wrench(FRAME)[:, :3] @ -NORMAL)


def expected(kind: str) -> float:
    """Force at rest of the exact model: impedance and wall in series; what was asked for."""
    return float(K[0] * STIFFNESS / (K[0] + STIFFNESS) * INSIDE) if kind == "impedance" else FORCE


def figure(kind: str, done: dict[str, Simulation]) -> Figure:
    """Force over time."""
    made = new_figure(9.0, 4.5)
    set_title(made, f"Force on the wall, {kind} control, by the model of the controller")
    axes = made.subplots()
    for name, one in done.items():
        axes.plot(one.t, pressing(one), label=name if one.end.finished else f"{name}: ends at {one.end.time:.2f} s")
    axes.axhline(expected(kind), color="0.5", linestyle=":", linewidth=1.0, label="at rest, exact model")
    axes.set(xlabel="time [s]", ylabel="force [N]", ylim=(-1.0, 3 * expected(kind)))
    axes.legend(frameon=False, fontsize=8)
    tidy(axes)
    return made


def item(number: str, kind: str, title: str, words: str) -> Item:
    """One law with all sets."""

    def compute(setting: Setting) -> Outcome:
        names = (thesis.MISFIT, "beta*") if setting.quick else tuple(thesis.SETS)
        done = {name: run(kind, name) for name in names}
        rows: list[list[object]] = []
        for name, one in done.items():
            f = pressing(one)
            late = f[one.t > DURATION - 0.2]
            rows.append(
                [name, str(one.end), float(f.max()), *([float(late.mean()), float(np.ptp(late))] if len(late) else [])]
            )
        aim = expected(kind)
        columns = ("model of the controller", "end", "largest force [N]", "last 0.2 s: mean [N]", "range [N]")
        return Outcome(
            (Comparison.of(f"Force on the wall; {aim:.4g} N at rest with the exact model", columns, rows),),
            {f"sec_{number.replace('.', '_')}": figure(kind, done)},
            (words,),
            tuple(checks(kind, done)),
        )

    return Item(f"Sec. {number}", title, Status.IN_KIND, STAND_IN, compute)
