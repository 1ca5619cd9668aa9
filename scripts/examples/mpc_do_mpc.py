"""Model predictive control of the Panda with do-mpc: accelerations as inputs, torques of the inverse dynamics bounded.

python scripts/examples/mpc_do_mpc.py --steps 5
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from examples.mpc import DT, WEIGHTS, panda


def control(steps: int = 5, horizon: int = 6) -> dict[str, Any]:
    """Run the controller in closed loop on the double integrator that the inverse dynamics leaves, torques checked.

    Returns
    -------
    dict
        ``converged`` (every solve), ``largest_torque`` (share of the limit), ``error`` (before, after) [rad].
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # do-mpc names optional packages that are absent
        import do_mpc

    model, parameters = panda()
    given, limits, n = model.with_parameters(parameters), model.robot.limits, model.n
    plant = do_mpc.model.Model("discrete", "SX")
    q, dq = (plant.set_variable("_x", name, (n, 1)) for name in ("q", "dq"))
    ddq = plant.set_variable("_u", "ddq", (n, 1))
    plant.set_rhs("q", q + DT * dq + DT**2 / 2 * ddq)
    plant.set_rhs("dq", dq + DT * ddq)
    tau = given.inverse_dynamics(q, dq, ddq)
    plant.set_expression("share", tau / limits.effort)
    start = (limits.lower + limits.upper) / 2
    goal = start + 0.2
    position, velocity, change = WEIGHTS
    cost = position * (q - goal).T @ (q - goal) + velocity * dq.T @ dq
    plant.set_expression("cost", cost)
    plant.setup()
    mpc = do_mpc.controller.MPC(plant)
    quiet = {"ipopt.print_level": 0, "ipopt.sb": "yes", "print_time": 0}
    mpc.set_param(n_horizon=horizon, t_step=DT, store_full_solution=False, nlpsol_opts=quiet)
    mpc.set_objective(mterm=plant.aux["cost"], lterm=plant.aux["cost"])
    mpc.set_rterm(ddq=change)
    for sign in (-1, 1):
        for k in range(n):
            mpc.set_nl_cons(f"tau{k}{sign}", sign * plant.aux["share"][k], ub=1.0)
    mpc.bounds["lower", "_x", "dq"], mpc.bounds["upper", "_x", "dq"] = -limits.velocity, limits.velocity
    with contextlib.redirect_stdout(io.StringIO()):
        mpc.setup()
        state = np.concatenate([start, np.zeros(n)])
        mpc.x0 = state
        mpc.set_initial_guess()
        converged, largest = True, 0.0
        for _ in range(steps):
            u = np.asarray(mpc.make_step(state.reshape(-1, 1)), dtype=float).ravel()
            converged = converged and bool(mpc.solver_stats["success"])
            torque = np.array(model.inverse_dynamics(state[:n], state[n:], u, parameters), dtype=float).ravel()
            largest = max(largest, float(np.abs(torque / limits.effort).max()))
            moved = state[:n] + DT * state[n:] + DT**2 / 2 * u
            state = np.concatenate([moved, state[n:] + DT * u])
    error = [float(np.abs(p - goal).max()) for p in (start, state[:n])]
    return {"converged": converged, "largest_torque": largest, "error": error}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=5)
    sys.stdout.write(json.dumps(control(parser.parse_args().steps), indent=1) + "\n")


if __name__ == "__main__":
    main()
