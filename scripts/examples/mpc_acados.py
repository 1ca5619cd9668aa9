"""Optimal control of the Panda with acados: the problem of `mpc.py` by SQP with HPIPM, in compiled C.

    python scripts/examples/mpc_acados.py --form implicit --steps 20

acados has its own environment: an installation with ``acados_template`` (docs.acados.org), or the wheel
``comma-deps-acados`` of PyPI, which holds the library and its templates:

    python3 -m venv acados && acados/bin/pip install comma-deps-acados && acados/bin/pip install -e .

Both forms have the same states, cost and integrator. The implicit one takes accelerations as controls and bounds the
torques of the inverse dynamics; the explicit one takes torques and integrates the forward dynamics.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import casadi as ca
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from examples.mpc import AWAY, DT, WEIGHTS, Result, tell

import casid


def acados(folder: Path) -> ModuleType:
    """The Python interface of acados.

    Parameters
    ----------
    folder
        Where the wheel's parts are laid out as in an installation, if it is the wheel that is there.

    Raises
    ------
    ImportError
        If it is not installed.
    """
    with contextlib.suppress(ImportError):
        return importlib.import_module("acados_template")
    wheel = importlib.import_module("acados")
    root, interface = folder / "acados", folder / "acados/interfaces/acados_template/acados_template"
    interface.parent.mkdir(parents=True)
    interface.symlink_to(wheel.TEMPLATE_DIR)
    for part in ("include", "lib", "bin"):
        (root / part).symlink_to(Path(wheel.DIR) / part)
    for library in sorted((root / "lib").glob("*.so*")):  # they find each other once they are loaded
        if not library.name.startswith("libacados"):
            ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
    os.environ["ACADOS_SOURCE_DIR"], os.environ["TERA_PATH"] = str(root), wheel.TERA_PATH
    return importlib.import_module("acados.acados_template")


def solve(model: casid.Model, parameters: np.ndarray, form: str, steps: int = 20) -> Result:
    """Move all joints by `AWAY` within torque and velocity limits; ``form``: implicit or explicit."""
    with quiet_folder() as folder:
        return _solved(acados(folder), folder, model, parameters, form, steps)


def _solved(
    template: ModuleType, folder: Path, model: casid.Model, parameters: np.ndarray, form: str, steps: int
) -> Result:
    n, limits = model.n, model.robot.limits
    given = model.with_parameters(parameters)
    start = (limits.lower + limits.upper) / 2
    goal = start + AWAY * np.minimum(1.0, (limits.upper - limits.lower) / 8)
    q, dq, control = (ca.SX.sym(name, n) for name in ("q", "dq", "control"))
    ocp, plant = template.AcadosOcp(), template.AcadosModel()
    plant.name, plant.x, plant.u = f"panda_{form}", ca.vertcat(q, dq), control
    ddq = control if form == "implicit" else given.forward_dynamics(q, dq, control * limits.effort)
    plant.disc_dyn_expr = ca.vertcat(q + DT * dq + DT**2 / 2 * ddq, dq + DT * ddq)
    ocp.model, constraints, cost = plant, ocp.constraints, ocp.cost
    if form == "implicit":
        share = given.inverse_dynamics(q, dq, control) / limits.effort
        for suffix in ("", "_0") if hasattr(plant, "con_h_expr_0") else ("",):  # newer versions: the first by itself
            setattr(plant, f"con_h_expr{suffix}", share)
            setattr(constraints, f"lh{suffix}", -np.ones(n))
            setattr(constraints, f"uh{suffix}", np.ones(n))
    else:
        constraints.idxbu, constraints.lbu, constraints.ubu = np.arange(n), -np.ones(n), np.ones(n)
    rest = np.concatenate([start, np.zeros(n)])
    constraints.x0 = rest
    low, high = np.concatenate([limits.lower, -limits.velocity]), np.concatenate([limits.upper, limits.velocity])
    for suffix in ("", "_e"):
        setattr(constraints, f"idxbx{suffix}", np.arange(2 * n))
        setattr(constraints, f"lbx{suffix}", low)
        setattr(constraints, f"ubx{suffix}", high)
    position, velocity, change = WEIGHTS
    state = np.concatenate([np.full(n, position), np.full(n, velocity)])
    ends = np.concatenate([goal, np.zeros(n)])
    cost.cost_type = cost.cost_type_e = "NONLINEAR_LS"  # half the sum of squares, times the step but at the end
    plant.cost_y_expr, plant.cost_y_expr_e = ca.vertcat(plant.x, ddq), plant.x
    cost.W, cost.W_e = np.diag(np.append(state, np.full(n, change))) * 2 / DT, np.diag(state) * 2
    cost.yref, cost.yref_e = np.append(ends, np.zeros(n)), ends
    discrete(ocp, folder, steps, DT)
    solver = template.AcadosOcpSolver(ocp, json_file=str(folder / "ocp.json"))
    hold = np.array(given.gravity(start), dtype=float).ravel() / limits.effort
    for k in range(steps + 1):
        solver.set(k, "x", rest)
        if k < steps:
            solver.set(k, "u", hold if form == "explicit" else np.zeros(n))
    began = time.process_time()
    status = solver.solve()
    seconds = time.process_time() - began
    x = np.array([solver.get(k, "x") for k in range(steps + 1)]).T
    iterations = int(np.ravel(solver.get_stats("sqp_iter"))[0])
    accelerations = (x[n:, 1:] - x[n:, :-1]) / DT
    repeated = np.tile(parameters[:, None], steps)
    torques = model.inverse_dynamics.map(steps)(x[:n, :-1], x[n:, :-1], accelerations, repeated)
    objective = float((state[:, None] * (x - ends[:, None]) ** 2).sum() + change * (accelerations**2).sum())
    return Result(
        f"acados, {form}", status == 0, iterations, seconds / max(iterations, 1), objective,
        float((np.abs(torques.full()) / limits.effort[:, None]).max()),
        float((np.abs(x[n:]) / limits.velocity[:, None]).max()),
    )  # fmt: skip


def discrete(ocp: Any, folder: Path, steps: int, step: float) -> Any:
    """Options of a problem in steps of a discrete model: SQP with HPIPM, code into the folder."""
    options = ocp.solver_options
    if hasattr(options, "N_horizon"):
        options.N_horizon = steps
    else:
        ocp.dims.N = steps
    options.tf, options.integrator_type = steps * step, "DISCRETE"
    options.nlp_solver_type, options.qp_solver = "SQP", "PARTIAL_CONDENSING_HPIPM"
    options.hessian_approx, options.nlp_solver_max_iter = "GAUSS_NEWTON", 100
    ocp.code_export_directory = str(folder / "code")
    return options


@contextlib.contextmanager
def quiet_folder() -> Iterator[Path]:
    """A folder for generated code, and no output of compilers and solvers, which write past Python."""
    with tempfile.TemporaryDirectory() as folder, open(os.devnull, "w") as nothing:  # noqa: PTH123
        sys.stdout.flush()
        kept = os.dup(1)
        os.dup2(nothing.fileno(), 1)
        try:
            yield Path(folder)
        finally:
            sys.stdout.flush()
            os.dup2(kept, 1)
            os.close(kept)


if __name__ == "__main__":
    tell(str(__doc__), solve)
