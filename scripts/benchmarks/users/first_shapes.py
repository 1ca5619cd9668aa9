"""Functions that users write, answering with the wrong number of entries; in processes of their own.

python -m benchmarks.users.first_shapes SUBJECT COMPILED SIZE ...     (one process of the row, from scripts)
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import casadi as ca
import numpy as np

import casid
from benchmarks.measure import ROOT, Rows, process, scratch
from casid.control import Controller, Passive, nominal
from casid.dynamics.terms import JOINT_TERMS, friction_terms
from casid.dynamics.terms._terms import Linear
from casid.errors import CasidError
from casid.excitation import Criterion, Designer, MotionLimits, Observation
from casid.export import export_controller
from casid.learning import Adam, Chart, GaussNewton, parametrisation, train
from casid.learning._loss import Loss
from casid.motion import Fourier, Hold, Motion, Reference, Trajectory
from casid.retrieval import Constraint, Problem, link_variables
from casid.simulation import ExternalForce, Plant, simulate, simulate_many

row = Rows()

#: Entries that a function answers with; 7 joints, 10 parameters of a link and so on are right for some of them.
_SIZES = (0, 1, 2, 3, 6, 7, 8, 10, 14, 70, 700, 7000)
_QUICK = (0, 1, 7, 14, 7000)
_N = 7


def _column(size: int, scale: float = 0.0) -> ca.SX:
    return ca.SX(ca.DM(np.full((size, 1), scale)))


def _controller(size: int, compiled: bool, what: str, use: str) -> int:
    """Entries that would be right; a controller whose torques, memory, references or start have ``size`` entries."""
    panda = casid.load_robot("panda")

    class Law(Controller):
        n = _N
        states = int(what in ("memory", "initial"))

        def step(self, t: Any, signals: Any, q: Any, dq: Any, memory: Any) -> Any:
            return _column(size if what == "torques" else _N), _column(size) if what == "memory" else memory

        def initial(self, q: Any) -> Any:
            return _column(size) if what == "initial" else q

        def rows(self, motion: Any) -> Any:
            return np.zeros((len(motion), size)) if what == "rows" else super().rows(motion)

    plant, reference = Plant(*nominal(panda)), Hold(np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.5, 0.5]))
    if use == "export":
        with scratch() as folder:
            export_controller(Law(), folder / "law", "panda")
    elif use == "many":
        simulate_many(plant, Law(), reference, 0.02, count=3)
    else:
        simulate(plant, Law(), reference, 0.02, compiled=compiled)
    return 3 * _N if what == "rows" else _N


def _reference(size: int, compiled: bool) -> int:
    class Own(Reference):
        n, span = _N, (0.0, 1.0)

        def moving(self, t: Any) -> Motion:
            return Motion.at_rest(np.zeros((len(t), size)))

    simulate(Plant(*nominal(casid.load_robot("panda"))), Passive(_N), Own(), 0.02, compiled=compiled)
    return _N


def _force(size: int, compiled: bool) -> int:
    class Own(ExternalForce):
        frame = "link7"

        def wrench(self, T: Any, twist: Any) -> Any:
            return _column(size)

    plant = Plant(*nominal(casid.load_robot("panda")), forces=(Own(),))
    simulate(plant, Passive(_N), Hold(np.zeros(_N)), 0.02, compiled=compiled)
    return 6


def _criterion(size: int, compiled: bool, exact: bool) -> int:
    class Own(Criterion):
        name = "own"

        def _exact(self, eigenvalues: Any, vectors: Any) -> Any:
            return np.ones(size) if exact else 1.0

        def _smooth(self, eigenvalues: Any, vectors: Any, sharpness: float) -> Any:
            return 0.0, np.zeros((len(vectors), len(vectors))) if exact else np.zeros((size, 1))

    robot = casid.load_robot("ur10e")
    observation, limits = Observation.of_model(casid.Model(robot)), MotionLimits.of_robot(robot)
    Designer(observation, Fourier(0.6, 5), limits, Own(), samples=60).run(iterations=3)
    return -1


def _basis(size: int, compiled: bool) -> int:
    class Own(Fourier):
        def matrix(self, t: Any, order: int = 0) -> Any:
            return np.zeros((len(np.atleast_1d(t)), size))

    basis = Own(1.0, 3)
    Trajectory(basis, np.zeros((_N, basis.size))).motion([0.0, 0.1])
    return basis.size


def _term(size: int, compiled: bool) -> int:
    term = replace(JOINT_TERMS["viscous"], name="own", column=lambda s: _column(size, 1.0) * s.dq)
    casid.Model(casid.load_robot("panda"), [term]).inverse_dynamics(*np.zeros((3, _N)), 0.1)
    return 1


def _law(size: int, compiled: bool, columns: bool) -> int:
    class Own(Linear):
        def columns(self, signals: Any, theta: Any) -> Any:
            return [signals.dq] * size if columns else [signals.dq, _column(size, 1.0), ca.SX(1)]

    model = casid.Model(casid.load_robot("panda"), friction_terms(Own(), np.zeros((_N, 0))))
    model.inverse_dynamics(*np.zeros((3, _N)), 0.1)
    return 3 if columns else 1


def _constraint(size: int, compiled: bool, bound: bool) -> int:
    robot = casid.load_robot("spatial_2r")
    links = link_variables(robot)
    objective: Any = ca.sumsqr(links.x)
    if bound:
        Problem("p", links, objective, [Constraint("own", _column(size, 1.0) * links.links[0].mass, np.zeros(3), 1.0)])
        return 3
    objective = ca.repmat(objective, size, 1)
    Problem("p", links, objective)
    return 1


def _loss(size: int, compiled: bool, what: str) -> int:
    chart = Chart(casid.Model(casid.load_robot("spatial_2r")), "tri")

    class Own(Loss):
        samples = 4

        def value(self, pi: Any) -> Any:
            return np.ones(size) if what == "value" else 1.0

        def gradient(self, pi: Any, rows: Any) -> Any:
            return 1.0, np.ones(size if what == "gradient" else chart.count)

        def residual(self, pi: Any) -> Any:
            return np.ones(3), np.ones((3, size if what == "residual" else chart.count))

        def nmse(self, pi: Any) -> Any:
            return np.ones(2)

    train(Own(), chart, GaussNewton() if what == "residual" else Adam(batch=2), epochs=2)
    return -1 if what == "value" else chart.count


def _parametrisation(size: int, compiled: bool) -> int:
    known = type(parametrisation("symm"))

    class Own(known):  # type: ignore[misc, valid-type]
        def expression(self, theta: Any) -> Any:
            return _column(size, 1.0)

    chart = Chart(casid.Model(casid.load_robot("spatial_2r")), Own())
    chart.parameters(np.zeros(chart.size))
    return 10


#: Each answers with a number of entries, runs what takes it, and returns the number that is right (-1: never).
SUBJECTS: dict[str, tuple[Callable[..., int], bool]] = {
    **{f"controller's {what}, {use}": (partial(_controller, what=what, use=use), use == "one")
       for use in ("one", "many", "export") for what in ("torques", "memory", "initial", "rows")
       if (use, what) not in (("export", "rows"), ("export", "initial"))},
    "reference": (_reference, True),
    "external force": (_force, True),
    "criterion's value": (partial(_criterion, exact=True), False),
    "criterion's gradient": (partial(_criterion, exact=False), False),
    "basis of motions": (_basis, False),
    "joint term": (_term, False),
    "friction law's columns": (partial(_law, columns=True), False),
    "friction law's column": (partial(_law, columns=False), False),
    "constraint": (partial(_constraint, bound=True), False),
    "objective": (partial(_constraint, bound=False), False),
    **{f"loss's {what}": (partial(_loss, what=what), False) for what in ("value", "gradient", "residual")},
    "parametrisation": (_parametrisation, False),
}  # fmt: skip


def _child(subject: str, compiled: bool, sizes: list[int]) -> None:
    """Print a line a size: taken, sentence, or what else became of it."""
    warnings.simplefilter("ignore")
    function = SUBJECTS[subject][0]
    for size in sizes:
        try:
            right = function(size, compiled)
            line = "right" if right == size else "taken though wrong"
        except CasidError as error:
            named = (size == 0 and "empty" in str(error)) or (
                re.search(rf"\b{size}\b", str(error)) and "\n" not in str(error)
            )
            line = "sentence" if named else f"a sentence without the shape: {error}"
        except Exception as error:  # what a user would see as a traceback
            line = f"{type(error).__name__}: {str(error)[:80]}"
        print(f"{size} {' '.join(line.split())}", flush=True)


def _outcomes(subject: str, compiled: bool, sizes: tuple[int, ...]) -> dict[int, str]:
    """What became of each size; a process that ends early is a crash of the size it was at."""
    found: dict[int, str] = {}
    here, quiet = ROOT / "scripts", {"OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    command = (sys.executable, "-m", "benchmarks.users.first_shapes", subject, int(compiled))
    while len(found) < len(sizes):
        left = [size for size in sizes if size not in found]
        done = process(*command, *left, folder=here, may_fail=True, **quiet)
        for line in done.stdout.splitlines():
            size, _, what = line.partition(" ")
            found[int(size)] = what
        if done.returncode:
            missing = next((size for size in sizes if size not in found), None)
            if missing is None:
                break
            found[missing] = f"crash {done.returncode}: {done.stderr.strip().splitlines()[-1:]}"
    return found


@row("first hour: user functions of wrong shape, 0 to 7,000 entries, compiled and not", "one sentence each, no crash",
     "segmentation fault (0.3)", _SIZES, quick=(_QUICK,), left_out="some sizes")  # fmt: skip
def _shapes(sizes: tuple[int, ...]) -> tuple[str, bool]:
    wrong, sentences, right = [], 0, 0
    for subject, (_, both) in SUBJECTS.items():
        for compiled in (False, True) if both else (False,):
            for size, what in _outcomes(subject, compiled, sizes).items():
                sentences += what == "sentence"
                right += what == "right"
                if what not in ("sentence", "right"):
                    wrong.append(f"{subject}{' compiled' if compiled else ''} with {size}: {what}")
    crashes = sum(": crash " in line for line in wrong)
    value = (
        f"{sentences} refused in one sentence with the shape, {right} right ones taken, {len(wrong)} otherwise, "
        f"{crashes} of them crashes"
    )
    return value + (f": {'; '.join(wrong[:6])}" if wrong else ""), not wrong and right > 0


if __name__ == "__main__":
    _child(sys.argv[1], sys.argv[2] == "1", [int(size) for size in sys.argv[3:]])
