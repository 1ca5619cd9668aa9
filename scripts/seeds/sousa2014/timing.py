"""Table 7.1: generated code for inverse dynamics."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count as counter

import numpy as np
from measures import published

import casid
from casid.codegen import CFunction, evaluate_batch
from casid.codegen.languages import LANGUAGES, script_source
from casid.dynamics import Model
from seeds.item import Comparison, Item, Outcome, Setting, Status

ROBOTS = {"Stanford": "stanford", "Puma_560": "puma560", "WAM_7DOF": "wam7"}


@dataclass(frozen=True)
class Generated:
    """What the writer made of a robot's inverse dynamics.

    Attributes
    ----------
    generation : float
        Model, graph and operations [s].
    additions, multiplications : int
    python, compiled, interpreted : float
        One evaluation: generated Python, C (one of many samples in a batch), CasADi's interpreter [us].
    julia : int
        Length of the generated Julia source [bytes].
    difference : float
        Largest difference of generated Python from C over the largest torque.
    """

    generation: float
    additions: int
    multiplications: int
    python: float
    compiled: float
    interpreted: float
    julia: int
    difference: float


def measured(name: str, calls: int) -> Generated:
    """One robot, with viscous and Coulomb friction."""
    began = time.process_time()
    model = Model(casid.load_robot(name), ("viscous", "coulomb"))
    function = CFunction(model.inverse_dynamics)
    operations = function.operations
    generation = time.process_time() - began
    rng, n = np.random.default_rng(0), model.n
    q, dq, ddq = rng.uniform(-1, 1, (3, calls, n))
    pi = rng.uniform(0, 1, len(model.parameter_names))
    module: dict[str, Callable[..., list[float]]] = {}
    exec(compile(script_source([function], name, LANGUAGES["python"]), f"{name}.py", "exec"), module)
    script = module[function.name]
    one = (q[0].tolist(), dq[0].tolist(), ddq[0].tolist(), pi.tolist())
    torques = np.asarray(evaluate_batch(model.inverse_dynamics, q, dq, ddq, pi)).reshape(calls, n)
    written = np.array([script(*(part[k].tolist() for part in (q, dq, ddq)), pi.tolist()) for k in range(100)])
    return Generated(
        generation,
        operations.additions,
        operations.multiplications,
        1e6 * _per_call(lambda: script(*one), 200),
        1e6 * _per_call(lambda: evaluate_batch(model.inverse_dynamics, q, dq, ddq, pi), 3) / calls,
        1e6 * _per_call(lambda: model.inverse_dynamics(q[0], dq[0], ddq[0], pi), 200),
        len(script_source([function], name, LANGUAGES["julia"])),
        float(np.abs(written - torques[:100]).max() / np.abs(torques).max()),
    )


def _per_call(function: object, repeats: int) -> float:
    assert callable(function)
    best = float("inf")
    for number in counter():
        began = time.process_time()
        function()
        best = min(best, time.process_time() - began)
        if number + 1 >= repeats:
            return best
    return best


def run(setting: Setting) -> Outcome:
    """All three robots."""
    printed = published.table("table_7_1_codegen")
    found = {key: measured(name, 1000 if setting.quick else 20_000) for key, name in ROBOTS.items()}
    lines = (
        ("code generation [s]", "generation"), ("additions", "additions"), ("multiplications", "multiplications"),
        ("generated Python [us]", "python"), ("C [us]", "compiled"),
    )  # fmt: skip
    rows: list[list[object]] = [
        [label, *(text for key in ROBOTS for text in (row[key], getattr(found[key], field)))]
        for (label, field), row in zip(lines, printed, strict=True)
    ]
    more = (
        ("CasADi's interpreter [us]", "interpreted"), ("generated Julia, source [bytes]", "julia"),
        ("generated Python against C, largest difference", "difference"),
    )  # fmt: skip
    rows += [[label, *(text for key in ROBOTS for text in (None, getattr(found[key], field)))] for label, field in more]
    columns = ("", *(text for key in ROBOTS for text in (key, f"{key}, here")))
    return Outcome(
        (Comparison.of("Inverse dynamics with viscous and Coulomb friction", columns, rows),),
        words=(
            "The thesis measured on an i3 of 2010. C: one of many samples in a batch. The thesis gives no times of "
            "Julia; the Julia source comes from the same program, but was not run here: no Julia can be installed from "
            "the package registries of Python or Debian. A test parses it and evaluates its statements.",
        ),
    )


ITEM = Item(
    "Table 7.1",
    "generated code: generation, operations, run times",
    Status.REPRODUCED,
    "the same robots and friction through this library's writer, on this machine",
    run,
)
