"""Table 7.1: generated code for inverse dynamics."""

from __future__ import annotations

import time
from itertools import count as counter

import numpy as np
from measures import published

import casid
from casid.codegen import CFunction, evaluate_batch
from casid.dynamics import Model
from seeds.item import Comparison, Item, Outcome, Setting, Status

ROBOTS = {"Stanford": "stanford", "Puma_560": "puma560", "WAM_7DOF": "wam7"}


def measured(name: str, calls: int) -> list[float]:
    """Generation [s], additions, multiplications, Python and C run times [us]."""
    began = time.process_time()
    model = Model(casid.load_robot(name), ("viscous", "coulomb"))
    function = CFunction(model.inverse_dynamics)
    operations = function.operations
    generation = time.process_time() - began
    rng, n = np.random.default_rng(0), model.n
    q, dq, ddq = rng.uniform(-1, 1, (3, calls, n))
    pi = rng.uniform(0, 1, len(model.parameter_names))
    python = _per_call(lambda: model.inverse_dynamics(q[0], dq[0], ddq[0], pi), 200) * 1e6
    evaluate_batch(model.inverse_dynamics, q, dq, ddq, pi)
    compiled = _per_call(lambda: evaluate_batch(model.inverse_dynamics, q, dq, ddq, pi), 3) / calls * 1e6
    return [generation, operations.additions, operations.multiplications, python, compiled]


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
    labels = ("code generation [s]", "additions", "multiplications", "Python [us]", "C [us]")
    rows = []
    for i, (label, row) in enumerate(zip(labels, printed, strict=True)):
        rows.append([label, *(text for key in ROBOTS for text in (row[key], found[key][i]))])
    columns = ("", *(text for key in ROBOTS for text in (key, f"{key}, here")))
    return Outcome(
        (Comparison.of("Inverse dynamics with viscous and Coulomb friction", columns, rows),),
        words=(
            "The thesis measured on an i3 of 2010. Python: CasADi's interpreter; C: one of many samples in a batch.",
        ),
    )


ITEM = Item(
    "Table 7.1",
    "generated code: generation, operations, run times",
    Status.REPRODUCED,
    "the same robots and friction through this library's writer, on this machine",
    run,
)
