"""Sec. VI: the torques by the Lagrangian and by Newton-Euler: the same numbers, at what cost?"""

from __future__ import annotations

import time
from typing import Any

import casadi as ca
import numpy as np

from casid.dynamics import Model
from papers import panda
from papers.item import Check, Comparison, Item, Outcome, Setting, Status
from papers.pictures import bars_figure


def lagrangian(model: Model) -> ca.Function:
    """``tau = d/dt dT/ddq - dT/dq + dU/dq`` from the energies, with CasADi's derivatives."""
    n, size = model.robot.n, len(model.parameter_names)
    q, dq, ddq, pi = ca.SX.sym("q", n), ca.SX.sym("dq", n), ca.SX.sym("ddq", n), ca.SX.sym("pi", size)
    kinetic, potential = model.kinetic_energy(q, dq, pi), model.potential_energy(q, pi)
    momentum = ca.gradient(kinetic, dq)
    rate = ca.jtimes(momentum, q, dq) + ca.jtimes(momentum, dq, ddq)
    tau = rate - ca.gradient(kinetic, q) + ca.gradient(potential, q)
    return ca.Function("lagrangian", [q, dq, ddq, pi], [tau])


def timed(function: ca.Function, states: list[tuple[np.ndarray, ...]]) -> float:
    """Microseconds a call, in CasADi's interpreter; the quickest of five passes."""
    passes = []
    for _ in range(5):
        began = time.perf_counter()
        for state in states:
            function(*state)
        passes.append((time.perf_counter() - began) / len(states))
    return 1e6 * min(passes)


def run(setting: Setting) -> Outcome:
    """Operations, building time and time of a call."""
    model, pi = panda.model(), panda.printed_parameters("p_hat")
    began = time.perf_counter()
    energy = lagrangian(model)
    built = time.perf_counter() - began
    began = time.perf_counter()
    recursive = Model(model.robot, (), panda.GRAVITY).inverse_dynamics
    direct = time.perf_counter() - began
    rng = np.random.default_rng(14)
    states = [(*rng.uniform(-2, 2, (3, 7)), pi) for _ in range(20 if setting.quick else 500)]
    gap = max(float(np.abs(np.array(energy(*s) - recursive(*s))).max()) for s in states)
    rows: list[list[Any]] = [
        ["Lagrangian", energy.n_instructions(), 1e3 * built, timed(energy, states)],
        ["Newton-Euler", recursive.n_instructions(), 1e3 * direct, timed(recursive, states)],
    ]
    times = rows[0][1] / rows[1][1]
    shares = {str(row[0]): np.array([row[1] / rows[1][1], row[3] / rows[1][3]]) for row in rows}
    return Outcome(
        (Comparison.of("Inverse dynamics of the Panda", ("", "operations", "built in [ms]", "a call [us]"), rows),),
        {"sec_vi": bars_figure(("operations", "time of a call"), shares, "Over Newton-Euler", "ratio")},
        (
            "The Lagrangian is differentiated by CasADi, which shares common expressions. "
            "Both are functions of the 70 link parameters. Times are of this machine.",
        ),
        (
            Check("both give the same torques (to 1e-10 N m)", gap <= 1e-10),
            Check(f"the Lagrangian is more expensive than Newton-Euler (operations: {times:.1f} times)", times > 1),
        ),
    )


ITEM = Item(
    "Sec. VI",
    "cost of the Lagrangian and of the Newton-Euler construction",
    Status.REPRODUCED,
    "both constructions of the Panda's inverse dynamics as CasADi graphs, compared operation by operation",
    run,
)
