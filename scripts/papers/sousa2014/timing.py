"""Table 7.1: generated code for inverse dynamics."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from benchmarks import published

import casid
from casid.arrays import Array
from casid.codegen import LANGUAGES, CFunction, compile_shared, scalar_source, script_source
from casid.dynamics import Model
from papers.item import Check, Comparison, Item, Outcome, Setting, Status

#: Different states that the generated C is timed on.
STATES = 64
ROBOTS = {"Stanford": "stanford", "Puma_560": "puma560", "WAM_7DOF": "wam7"}


@dataclass(frozen=True)
class Generated:
    """What the writer made of a robot's inverse dynamics.

    Attributes
    ----------
    generation : float
        Model, graph and operations [s].
    additions, multiplications : int
    python, compiled, batched, interpreted : float
        One evaluation [us]: generated Python, generated C, generated C with one sample in every lane of the processor's
        vectors, CasADi's interpreter.
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
    batched: float
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
    torques = model.inverse_dynamics(q, dq, ddq, pi, compiled=True).reshape(calls, n)
    written = np.array([script(*(part[k].tolist() for part in (q, dq, ddq)), pi.tolist()) for k in range(100)])
    return Generated(
        generation,
        operations.additions,
        operations.multiplications,
        1e6 * _per_call(lambda: script(*one), 200),
        1e6 * _c_seconds(function, [part[:STATES] for part in (q, dq, ddq)], pi, 10 * calls),
        1e6 * _per_call(lambda: model.inverse_dynamics(q, dq, ddq, pi, compiled=True), 3) / calls,
        1e6 * _per_call(lambda: model.inverse_dynamics(q[0], dq[0], ddq[0], pi), 200),
        len(script_source([function], name, LANGUAGES["julia"])),
        float(np.abs(written - torques[:100]).max() / np.abs(torques).max()),
    )


def _c_seconds(function: CFunction, states: Sequence[Array], pi: Array, calls: int) -> float:
    """One call of the generated C function, from a loop in C over a few states; the best of three loops.

    The loop goes through a pointer that the compiler does not know, so every call is made and none is inlined.
    """
    n = states[0].shape[1]
    loop = (
        "typedef int call(const double *, const double *, const double *, const double *, double *);\n"
        "void repeat(long calls, call *f, const double *q, const double *dq, const double *ddq, const double *pi, "
        "double *tau)\n"
        f"{{ for (long k = 0; k < calls; ++k) {{ long i = {n} * (k % {STATES}); "
        "f(q + i, dq + i, ddq + i, pi, tau); } }\n"
    )
    library = ctypes.CDLL(str(compile_shared(scalar_source([function], "casid") + loop, "table_7_1")))
    arrays = [*(np.ascontiguousarray(part) for part in states), pi, np.zeros(n)]
    pointers = [ctypes.c_void_p(a.ctypes.data) for a in arrays]
    called = ctypes.cast(getattr(library, function.name), ctypes.c_void_p)
    return _per_call(lambda: library.repeat(ctypes.c_long(calls), called, *pointers), 3) / calls


def _per_call(function: Callable[[], object], repeats: int) -> float:
    """Shortest processor time of a few calls [s]."""
    best = float("inf")
    for _ in range(repeats):
        began = time.process_time()
        function()
        best = min(best, time.process_time() - began)
    return best


def run(setting: Setting) -> Outcome:
    """All three robots."""
    printed = published.table("table_7_1_codegen")
    found = {key: measured(name, 1000 if setting.quick else 20_000) for key, name in ROBOTS.items()}
    lines = (
        ("code generation [s]", "generation"), ("additions", "additions"), ("multiplications", "multiplications"),
        ("generated Python [us]", "python"), ("generated C [us]", "compiled"),
    )  # fmt: skip
    rows: list[list[object]] = [
        [label, *(text for key in ROBOTS for text in (row[key], getattr(found[key], field)))]
        for (label, field), row in zip(lines, printed, strict=True)
    ]
    more = (
        ("generated C in a batch, one of many samples [us]", "batched"), ("CasADi's interpreter [us]", "interpreted"),
        ("generated Julia, source [bytes]", "julia"),
        ("generated Python against C, largest difference", "difference"),
    )  # fmt: skip
    rows += [[label, *(text for key in ROBOTS for text in (None, getattr(found[key], field)))] for label, field in more]
    fewer = all(
        found[key].additions <= int(printed[1][key]) and found[key].multiplications <= int(printed[2][key])
        for key in ROBOTS
    )
    columns = ("", *(text for key in ROBOTS for text in (key, f"{key}, here")))
    return Outcome(
        (Comparison.of("Inverse dynamics with viscous and Coulomb friction", columns, rows),),
        words=(
            "The thesis measured on an i3 of 2010, with one call after the other. It gives no times of Julia; "
            "the Julia source comes from the same program, but was not run here: no Julia can be installed from the "
            "package registries of Python or Debian. A test parses it and evaluates its statements.",
        ),
        checks=(
            Check("fewer additions and multiplications than printed, for every robot", fewer),
            Check("generated Python and C agree (to 1e-12)", all(one.difference <= 1e-12 for one in found.values())),
            Check("C runs in less than a microsecond", all(one.compiled < 1 for one in found.values())),
        ),
    )


ITEM = Item(
    "Table 7.1",
    "generated code: generation, operations, run times",
    Status.REPRODUCED,
    "the same robots and friction through this library's writer, on this machine",
    run,
)
