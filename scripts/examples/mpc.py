"""Optimal control of the Panda with CasADi's Opti: inverse dynamics as a constraint beside forward dynamics.

    python scripts/examples/mpc.py --form implicit --steps 20

Both forms have the same states, cost and integrator; only what ties motion to torques differs. The implicit form takes
accelerations as decisions and bounds their torques, tau = ID(q, dq, ddq); the explicit form takes torques as decisions
and integrates ddq = FD(q, dq, tau). The inverse dynamics is the smaller graph, above all in its second derivatives.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import casadi as ca
import numpy as np

import casid

#: Step [s], weights of position, velocity and acceleration, and how far the goal lies from the start [rad].
DT, WEIGHTS, AWAY = 0.02, (10.0, 0.1, 1e-4), 0.6


@dataclass(frozen=True)
class Result:
    """What a solve gave: does it converge, are limits kept, what does an iteration cost.

    Attributes
    ----------
    form : str
    converged : bool
    iterations : int
    per_iteration : float
        CPU time of the solver and all it evaluates, an iteration [s].
    objective : float
    largest_torque, largest_speed : float
        As shares of the limits; the torques evaluated anew by `casid.Model` in numbers.
    """

    form: str
    converged: bool
    iterations: int
    per_iteration: float
    objective: float
    largest_torque: float
    largest_speed: float


def panda(parameters: str | None = None) -> tuple[casid.Model, np.ndarray]:
    """The Panda with published parameters, or with those of a file that `casid identify` or `solve` wrote."""
    model = casid.Model(casid.load_robot("panda"))
    if parameters is None:
        return model, np.asarray(model.robot.standard_parameters(), dtype=float)
    from casid.inertia import read_parameters

    return model, np.asarray(read_parameters(parameters, model).standard, dtype=float)


def solve(model: casid.Model, parameters: np.ndarray, form: str, steps: int = 20) -> Result:
    """Move all joints by `AWAY` within torque and velocity limits; ``form``: implicit or explicit."""
    n, limits = model.n, model.robot.limits
    given = model.with_parameters(parameters)
    opti = ca.Opti()
    q, dq = opti.variable(n, steps + 1), opti.variable(n, steps + 1)
    start = (limits.lower + limits.upper) / 2
    goal = start + AWAY * np.minimum(1.0, (limits.upper - limits.lower) / 8)
    opti.subject_to(q[:, 0] == start)
    opti.subject_to(dq[:, 0] == 0)
    control = opti.variable(n, steps)
    if form == "implicit":
        ddq = control
        tau = given.inverse_dynamics.map(steps)(q[:, :-1], dq[:, :-1], ddq)
    else:
        tau = control * limits.effort  # decisions of the size of one
        ddq = given.forward_dynamics.map(steps)(q[:, :-1], dq[:, :-1], tau)
    opti.subject_to(q[:, 1:] == q[:, :-1] + DT * dq[:, :-1] + DT**2 / 2 * ddq)
    opti.subject_to(dq[:, 1:] == dq[:, :-1] + DT * ddq)
    for k in range(n):
        opti.subject_to(opti.bounded(-limits.effort[k], tau[k, :], limits.effort[k]))
        opti.subject_to(opti.bounded(-limits.velocity[k], dq[k, :], limits.velocity[k]))
        opti.subject_to(opti.bounded(limits.lower[k], q[k, :], limits.upper[k]))
    position, velocity, change = WEIGHTS
    opti.minimize(position * ca.sumsqr(q - goal[:, None]) + velocity * ca.sumsqr(dq) + change * ca.sumsqr(ddq))
    opti.set_initial(q, np.tile(start[:, None], steps + 1))
    if form == "explicit":
        hold = np.array(given.gravity(start), dtype=float).ravel() / limits.effort
        opti.set_initial(control, np.tile(hold[:, None], steps))
    quiet: Any = {"print_time": False, "record_time": True, "expand": True, "ipopt.print_level": 0, "ipopt.sb": "yes"}
    opti.solver("ipopt", quiet)
    found: Any
    try:
        found = opti.solve()
    except RuntimeError:
        found = opti.debug
    stats = opti.stats()
    seconds = float(stats.get("t_proc_total", np.nan))
    values = [np.asarray(found.value(x), dtype=float) for x in (q, dq, ddq)]
    torques = model.inverse_dynamics.map(steps)(
        values[0][:, :-1], values[1][:, :-1], values[2], np.tile(parameters[:, None], steps)
    )
    iterations = int(stats["iter_count"])
    return Result(
        form, bool(stats["success"]), iterations, seconds / max(iterations, 1), float(found.value(opti.f)),
        float((np.abs(torques.full()) / limits.effort[:, None]).max()),
        float((np.abs(values[1]) / limits.velocity[:, None]).max()),
    )  # fmt: skip


def tell(description: str, solved: Callable[[casid.Model, np.ndarray, str, int], Result]) -> None:
    """A command line that solves for one form of the dynamics and prints the result as JSON."""
    parser = argparse.ArgumentParser(description=description.split("\n")[0])
    parser.add_argument("--form", choices=("implicit", "explicit"), default="implicit")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--parameters", help="parameters.csv, solution.json or identification.json")
    options = parser.parse_args()
    model, parameters = panda(options.parameters)
    sys.stdout.write(json.dumps(asdict(solved(model, parameters, options.form, options.steps)), indent=1) + "\n")


if __name__ == "__main__":
    tell(str(__doc__), solve)
