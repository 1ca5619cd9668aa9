"""One motion of the Panda through compiled inverse dynamics in Opti and in other tools: the same optimum.

Run as a script it prints the accelerations that acados finds, for an environment with acados alone (`docs/mpc.md`).
"""

from __future__ import annotations

import contextlib
import functools
import io
import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

sys.path[:0] = [str(Path(__file__).resolve().parents[2])]  # as a script

import casid
from benchmarks.measure import NotMeasured, by_acados, need, need_compiler
from casid.arrays import Array
from casid.codegen import Function

KNOTS, STEP = 30, 0.05
START = np.array([0.0, -0.3, 0.0, -1.8, 0.0, 1.5, 0.5])
GOAL = START + 0.4
_QUIET: dict[str, Any] = {"print_time": False, "ipopt": {"print_level": 0, "sb": "yes"}}


@functools.cache
def inverse_dynamics() -> Function:
    need_compiler()
    return casid.Model("panda").inverse_dynamics


def running(function: Any, q: Any, dq: Any, ddq: Any) -> Any:
    """Cost of a knot."""
    return ca.sumsqr(function(q, dq, ddq)) / 1e3 + ca.sumsqr(ddq) / 1e2


def moved(q: Any, dq: Any, ddq: Any) -> tuple[Any, Any]:
    """The state a step later."""
    return q + STEP * dq + STEP**2 / 2 * ddq, dq + STEP * ddq


def motion_problem(function: Any) -> tuple[ca.Opti, ca.MX]:
    """A reach within 30 steps with least torque squares; its accelerations."""
    opti = ca.Opti()
    q, dq, ddq = (opti.variable(7, KNOTS + more) for more in (1, 1, 0))
    knots = [(q[:, k], dq[:, k], ddq[:, k]) for k in range(KNOTS)]
    opti.minimize(sum((running(function, *knot) for knot in knots), ca.MX(0)))
    for k, knot in enumerate(knots):
        opti.subject_to(ca.vertcat(q[:, k + 1], dq[:, k + 1]) == ca.vertcat(*moved(*knot)))
    for at, place in ((0, START), (-1, GOAL)):
        opti.subject_to(q[:, at] == place)
        opti.subject_to(dq[:, at] == 0)
    opti.set_initial(q, np.tile(START[:, None], KNOTS + 1))
    opti.solver("ipopt", _QUIET)
    return opti, ddq


def by_opti() -> Array:
    opti, ddq = motion_problem(inverse_dynamics().external)
    return np.array(opti.solve().value(ddq))


def by_fatrop() -> Array:
    if not ca.has_nlpsol("fatrop"):
        raise NotMeasured("needs CasADi with fatrop")
    opti, ddq = motion_problem(inverse_dynamics().external)
    opti.solver("fatrop", {"print_time": False, "structure_detection": "none", "fatrop": {"print_level": 0}})
    return np.array(opti.solve().value(ddq))


def by_rockit() -> Array:
    rockit = need("rockit", "mpc")
    ocp, external = rockit.Ocp(T=KNOTS * STEP), inverse_dynamics().external
    state = q, dq = ocp.state(7), ocp.state(7)
    ddq = ocp.control(7)
    for part, after in zip(state, moved(q, dq, ddq), strict=True):
        ocp.set_next(part, after)
    ocp.add_objective(ocp.sum(running(external, q, dq, ddq)))
    for at, place in ((ocp.at_t0, START), (ocp.at_tf, GOAL)):
        ocp.subject_to(at(q) == place)
        ocp.subject_to(at(dq) == 0)
    ocp.set_initial(q, START)
    ocp.solver("ipopt", _QUIET)
    ocp.method(rockit.MultipleShooting(N=KNOTS))
    return np.array(ocp.solve().sample(ddq, grid="control")[1][:-1].T)


def by_do_mpc() -> Array:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # do-mpc names optional packages that are absent
        do_mpc = need("do_mpc", "mpc")
        plant = do_mpc.model.Model("discrete", "MX")
        q, dq = (plant.set_variable("_x", name, (7, 1)) for name in ("q", "dq"))
        ddq = plant.set_variable("_u", "ddq", (7, 1))
        for name, after in zip(("q", "dq"), moved(q, dq, ddq), strict=True):
            plant.set_rhs(name, after)
        plant.set_expression("running", running(inverse_dynamics().external, q, dq, ddq))
        plant.setup()
        mpc = do_mpc.controller.MPC(plant)
        mpc.set_param(n_horizon=KNOTS, t_step=STEP, store_full_solution=False, nlpsol_opts=_QUIET)
        mpc.set_objective(mterm=ca.MX(0), lterm=plant.aux["running"])
        mpc.set_rterm(ddq=0.0)
        for side in ("lower", "upper"):
            mpc.terminal_bounds[side, "q"], mpc.terminal_bounds[side, "dq"] = GOAL, 0.0
        with contextlib.redirect_stdout(io.StringIO()):
            mpc.setup()
            mpc.x0 = np.concatenate([START, np.zeros(7)])
            mpc.set_initial_guess()
            mpc.make_step(mpc.x0.cat.full())
    return np.hstack([mpc.opt_x_num["_u", k, 0].full() for k in range(KNOTS)])


def _acados() -> Array:
    from examples.mpc_acados import acados, discrete, quiet_folder

    with quiet_folder() as folder:
        template, function = acados(folder), inverse_dynamics()
        ocp, plant = template.AcadosOcp(), template.AcadosModel()
        q, dq, ddq = (ca.MX.sym(name, 7) for name in ("q", "dq", "ddq"))
        plant.name, plant.x, plant.u = "reach", ca.vertcat(q, dq), ddq
        plant.disc_dyn_expr = ca.vertcat(*moved(q, dq, ddq))
        plant.cost_y_expr, ocp.model = ca.vertcat(function.external(q, dq, ddq), ddq), plant
        ocp.cost.cost_type, ocp.cost.yref = "NONLINEAR_LS", np.zeros(14)
        ocp.cost.W = np.diag(np.repeat([1e-3, 1e-2], 7)) * 2 / STEP  # half the sum of squares, times the step
        rest, goal = (np.concatenate([place, np.zeros(7)]) for place in (START, GOAL))
        ocp.constraints.x0, ocp.constraints.idxbx_e = rest, np.arange(14)
        ocp.constraints.lbx_e = ocp.constraints.ubx_e = goal
        options, library = discrete(ocp, folder, KNOTS, STEP), function.external_library
        (folder / "libcasid_external.so").symlink_to(library)
        options.model_external_shared_lib_dir = f"{folder} -Wl,-rpath,{folder}"
        options.model_external_shared_lib_name = "casid_external"
        solver = template.AcadosOcpSolver(ocp, json_file=str(folder / "ocp.json"))
        for k in range(KNOTS + 1):
            solver.set(k, "x", rest)
        if status := solver.solve():
            raise RuntimeError(f"acados ends with status {status}")
        return np.column_stack([solver.get(k, "u") for k in range(KNOTS)])


#: Accelerations (7, KNOTS) by each tool.
TOOLS: dict[str, Callable[[], Array]] = {
    "fatrop": by_fatrop, "rockit": by_rockit, "do-mpc": by_do_mpc,
    "acados": lambda: np.array(by_acados(Path(__file__))),
}  # fmt: skip


def cost(ddq: Array) -> float:
    """Cost of accelerations from the start, which end at rest at the goal."""
    function, total, state = inverse_dynamics(), 0.0, (START, np.zeros(7))
    for now in ddq.T:
        total += float(running(function, *state, now))
        state = moved(*state, now)
    np.testing.assert_allclose(np.concatenate(state), np.concatenate([GOAL, np.zeros(7)]), atol=1e-6)
    return total


def same_optimum(tool: str) -> tuple[str, bool]:
    """Relative difference of a tool's optimum from IPOPT's through Opti."""
    found = TOOLS[tool]()
    error = abs(cost(found) / cost(by_opti()) - 1)
    return f"{error:.0e}", error <= 1e-6


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_acados().tolist()))
