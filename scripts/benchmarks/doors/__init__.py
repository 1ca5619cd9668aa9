"""One function, every door: what a call costs from Python, CasADi, JAX and C, beside Pinocchio in the same run."""

from __future__ import annotations

import ctypes
import functools
import re
import sys
import time
import timeit
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import casadi as ca
import numpy as np

import casid
from benchmarks.compiled import humanoid, race, ratio
from benchmarks.doors import problems
from benchmarks.doors.peak import LANES, LENGTH, LOOPS, arithmetic, fastest
from benchmarks.doors.tools import KNOTS, TOOLS, motion_problem, same_optimum
from benchmarks.measure import Result, Rows, need, need_compiler, process
from benchmarks.pinocchio import build
from casid.codegen import WIDTH, CFunction, Function, batch_source, compile_shared
from casid.dynamics import Model, inverse_dynamics_derivatives

MEASURES = row = Rows()

SAMPLES = 4096
CASID = Path(casid.__file__).parent


def seconds(call: Callable[[], object], number: int, repeats: int = 25) -> float:
    """Least time of a call [s]: of several loops of so many calls."""
    return min(timeit.repeat(call, number=number, repeat=repeats)) / number


@functools.cache
def panda() -> tuple[Model, np.ndarray]:
    """The model, and motions (3, samples, 7)."""
    need_compiler()
    return Model("panda"), np.random.default_rng(0).normal(size=(3, SAMPLES, 7))


@functools.cache
def functions() -> dict[str, tuple[Function, int]]:
    """Functions by their names in Pinocchio, and how many of (q, dq, ddq) they take."""
    model, _ = panda()
    return {
        "rnea": (model.inverse_dynamics, 3),
        "computeJointTorqueRegressor": (model.regressor, 3),
        "crba": (model.mass_matrix, 1),
        "computeRNEADerivatives": (inverse_dynamics_derivatives(model), 3),
    }


def beside(pairs: Mapping[str, Sequence[Callable[[], object]]], number: int, samples: int, bar: float) -> Result:
    """Least times of calls over those of the calls beside them, in turn: both see the same machine."""
    ratios = {}
    for name, calls in pairs.items():
        ours, other = np.min([[seconds(call, number, 1) for call in calls] for _ in range(25)], axis=0)
        ratios[name] = ours / other, 1e9 * ours / samples
    text = ", ".join(f"{name} {least:.2f} ({ns:.0f} ns)" for name, (least, ns) in ratios.items())
    return text, bool(max(least for least, _ in ratios.values()) <= bar)


@row("one state from Python, Panda", "<= 0.25 x Pinocchio's Python each", "35-58 x")
def one_state() -> Result:
    pin = need("pinocchio")
    model, motion = panda()
    peer, data = build(model.robot, model.robot.standard_parameters())
    pairs = {}
    for name, (function, count) in functions().items():
        state = [part[0].copy() for part in motion[:count]]
        function(*state, compiled=True)
        theirs = functools.partial(getattr(pin, name), peer, data, *state)
        pairs[name] = functools.partial(function, *state), theirs
    return beside(pairs, 2000, 1, 0.25)


@row("batch of 4,096 by the same call, repeated", "<= 45 ns a state from the second second on", "4-6 us")
def repeated_batch() -> Result:
    """A fresh function whose compiled code is not in this process: the public call again and again."""
    model, motion = panda()
    function = Model(model.robot).inverse_dynamics
    start, spent = time.perf_counter(), []
    while (now := time.perf_counter()) - start < 2.5:
        function(*motion)
        spent.append((now - start, time.perf_counter() - now))
    later = [took / SAMPLES for at, took in spent if at > 1.0]
    if not later:
        return f"the first call took {spent[0][1]:.1f} s", False
    return f"{1e9 * min(later):.0f} ns a state after the first second", min(later) <= 45e-9


def block_library(function: Function) -> Path:
    """Its C for eight states at once over all states: inputs lie entry after entry, the results of eight in one place.

    It leaves out what a batch does beside it: transposing inputs and results, and writing the results of all states.
    """
    built = CFunction(function, "f")
    given = ", ".join(f"in[{i}] + b * step[{i}]" for i in range(len(built.inputs)))
    made = ", ".join(f"out[{o}]" for o in range(len(built.outputs)))
    source = batch_source([built], "f") + (
        "int blocks(long count, const double *const *in, const long *step, double *const *out)\n"
        f"{{ for (long b = 0; b < count; ++b) f_block({given}, {made}); return 0; }}\n"
    )
    return compile_shared(source, "block")


def c_block(function: Function, motion: np.ndarray) -> Callable[[], object]:
    """The call of `block_library` for a motion."""
    library, count = ctypes.CDLL(str(block_library(function))), SAMPLES // WIDTH
    inputs = [np.ascontiguousarray(part.reshape(count, WIDTH, -1).transpose(0, 2, 1)) for part in motion]
    inputs += [np.repeat(value[:, None], WIDTH, axis=1) for value in function.defaults.values()]
    outputs = [np.zeros(WIDTH * a.size) for a in CFunction(function, "f").outputs]
    steps = (ctypes.c_long * len(inputs))(*(value[0].size if value.ndim == 3 else 0 for value in inputs))
    places = [(ctypes.c_void_p * len(a))(*(value.ctypes.data for value in a)) for a in (inputs, outputs)]
    held = inputs, outputs  # as long as the addresses are
    return lambda: (library.blocks(ctypes.c_long(count), places[0], steps, places[1]), held)


@row("batches beside the C block", "<= 1.3 x")
def batch_beside_block() -> Result:
    """Public calls of all functions, which write the results of all states, beside their C blocks."""
    pairs, (_, motion) = {}, panda()
    for name, (function, count) in functions().items():
        whole = function(*motion[:count], compiled=True)
        ours = functools.partial(function, *motion[:count], out=whole)
        pairs[name] = ours, c_block(function, motion[:count])
    return beside(pairs, 3, SAMPLES, 1.3)


@row("arithmetic of the batched functions' C blocks", ">= 0.7 x what the vector units do at most", "0.57-0.74")
def vector_share() -> Result:
    shares, (_, motion) = {}, panda()
    for name, (function, count) in functions().items():
        mix, register = arithmetic(block_library(function))
        calls = c_block(function, motion[:count]), fastest(mix, register)
        ours, most = np.min([[seconds(call, 3, 1) for call in calls] for _ in range(25)], axis=0)
        needed = sum(mix.values()) * SAMPLES / LANES[register]
        shares[name] = needed / (LENGTH * LOOPS) * most / ours
    return ", ".join(f"{name} {share:.2f}" for name, share in shares.items()), min(shares.values()) >= 0.7


@row("batches of float32 beside float64", "time <= 1/1.7, error stated")
def single_precision() -> Result:
    """Times of float32 over those of float64 at the same states; the largest error over the largest value."""
    pairs, error, (_, motion) = {}, 0.0, panda()
    for name, (function, count) in functions().items():
        states = motion[:count].astype(np.float32)
        narrow, wide = (function(*given, compiled=True) for given in (states, states.astype(float)))
        results = [value if isinstance(value, tuple) else (value,) for value in (narrow, wide)]
        for value, exact in zip(*results, strict=True):
            error = max(error, float(np.abs(value - exact).max() / np.abs(exact).max()))
        calls = (
            functools.partial(function, *states, out=narrow),
            functools.partial(function, *states.astype(float), out=wide),
        )
        pairs[name] = calls
    text, met = beside(pairs, 3, SAMPLES, 1 / 1.7)
    return f"{text}; largest error {error:.0e} of the largest value", met


_FIRST = """
import time, casid, numpy as np
f = casid.Model("panda").inverse_dynamics
x = np.ones((3, 4096, 7))
start = time.perf_counter(); f(*x, compiled=True); print(time.perf_counter() - start)
"""


@row("a call's overhead; first call with a warm cache", "<= 0.3 us; <= 30 ms", "700-1,000 us")
def overheads() -> Result:
    """A batch of one state less the C of one state; the first call of a new process, code in the cache."""
    _, motion = panda()
    function, _ = functions()["rnea"]
    few, out = motion[:, :8].copy(), np.empty((8, 7))
    function(*few, compiled=True)
    whole = seconds(functools.partial(function, *few, out=out), 2000)
    block = seconds(functools.partial(function, *motion), 3) / SAMPLES * 8
    first = min(float(process(sys.executable, "-c", _FIRST).stdout) for _ in range(4))
    text = f"{1e9 * (whole - block):.0f} ns; first call {1e3 * first:.0f} ms"
    return text, whole - block <= 0.3e-6 and first <= 0.030


@functools.cache
def in_a_program() -> tuple[float, float, float]:
    """30 knots of inverse dynamics with Jacobians [s]: graph, external; largest difference."""
    model, motion = panda()
    given = model.with_parameters(model.robot.standard_parameters()).inverse_dynamics
    x = ca.MX.sym("x", 21, KNOTS)
    values, times = [], []
    for function in (given, model.inverse_dynamics.external):
        g = ca.vertcat(*(function(*ca.vertsplit(x[:, k], 7)) for k in range(KNOTS)))
        jacobians = ca.Function("knots", [x], [g, ca.jacobian(g, ca.vec(x))])
        point = np.concatenate(motion[:, :KNOTS].transpose(0, 2, 1))
        buffer, run = jacobians.buffer()
        held = [np.ascontiguousarray(point.T), *(np.zeros(jacobians.nnz_out(o)) for o in range(jacobians.n_out()))]
        buffer.set_arg(0, memoryview(held[0]))  # type: ignore[call-arg, arg-type]
        for o, place in enumerate(held[1:]):
            buffer.set_res(o, memoryview(place))  # type: ignore[call-arg, arg-type]
        run()
        times.append(seconds(run, 20))
        values.append(np.concatenate(held[1:]))
    return times[0], times[1], float(np.abs(values[0] - values[1]).max())


@row("30 knots and their Jacobians in a program", "<= 35 us", "881 us")
def knots() -> Result:
    graph, external, error = in_a_program()
    return f"{1e6 * external:.1f} us; graph {1e6 * graph:.0f} us; {error:.0e}", external <= 35e-6 and error < 1e-9


@row("motion by Opti", "function time / 3, same optimum", "29.8 ms")
def opti_motion() -> Result:
    model, _ = panda()
    given, found = model.with_parameters(model.robot.standard_parameters()).inverse_dynamics, []
    for function in (given, model.inverse_dynamics.external):
        solved = motion_problem(function)[0].solve()
        stats = solved.stats()
        spent = sum(value for name, value in stats.items() if name.startswith("t_wall_nlp_"))
        found.append((float(solved.value(solved.opti.f)), stats["iter_count"], spent))
    (best, steps, slow), (same, own, fast) = found
    text = f"functions {1e3 * slow:.0f} ms -> {1e3 * fast:.0f} ms ({slow / fast:.1f} x), {own} iterations ({steps})"
    return text, slow >= 3 * fast and abs(best - same) <= 1e-8 * abs(best)


for tool in TOOLS:
    row(f"the same by {tool}", "same optimum", "-", tool)(same_optimum)


@row("JAX: jit of 4,096; derivatives in q, dq, ddq, pi", "<= 60 ns a state; 1e-12", "none")
def jax_face() -> Result:
    jax = need("jax")
    model, motion = panda()
    jax.config.update("jax_enable_x64", True)
    function, pi = model.inverse_dynamics, model.robot.standard_parameters()
    compiled = jax.jit(function.jax)
    error = float(np.abs(np.asarray(compiled(*motion)) - function(*motion, compiled=True)).max())
    took = seconds(lambda: compiled(*motion).block_until_ready(), 3)
    state = [*motion[:, 0], pi]
    slopes = model.derivatives("inverse_dynamics")(*state)
    for i, exact in enumerate(slopes):
        own = np.asarray(jax.jacrev(function.jax, argnums=i)(*state))
        error = max(error, float(np.abs(own - exact).max() / max(1.0, np.abs(exact).max())))
    return f"{1e9 * took / SAMPLES:.0f} ns a state; values and derivatives {error:.0e}", (
        took / SAMPLES <= 60e-9 and error <= 1e-12
    )


@row("humanoid of 30 joints in C: inverse dynamics, regressor, batched; derivatives beside",
     "<= 0.13, 0.20, 0.03 x Pinocchio C++", "0.20, 0.26, 0.045")  # fmt: skip
def thirty_joints() -> Result:
    """A humanoid: more code than the instruction cache holds."""
    timed, ratios = race(humanoid()), {}
    for ours, theirs, bar in (
        ("inverse_dynamics_numeric", "rnea", 0.13), ("regressor", "computeJointTorqueRegressor", 0.20),
        ("regressor_block", "computeJointTorqueRegressor", 0.03),
        ("inverse_dynamics_derivatives", "computeRNEADerivatives", np.inf),
    ):  # fmt: skip
        ratios[ours] = timed.ratio(ours, theirs), bar
    text = ", ".join(f"{name} {found:.3f}" for name, (found, _) in ratios.items())
    return text, all(found <= bar for found, bar in ratios.values())


@row("ways to call a function", "1", "6")
def ways_to_call() -> Result:
    """Names in the package that call a function beside the object, and calls of compiled code elsewhere."""
    old = re.compile(r"\b(evaluate_batch|evaluate_blocks|bound_batch|compiled_call)\b")
    users = [path.name for path in CASID.rglob("*.py") if old.search(path.read_text(encoding="utf-8"))]
    users += [path.name for path in (CASID / "export").glob("*.py") if "def __call__" in path.read_text("utf-8")]
    return f"{1 + len(users)} (the function object{''.join(f', {name}' for name in users)})", not users


row("derivatives of inverse dynamics in C", "<= 0.12 x Pinocchio C++", "0.15-0.17", "inverse_dynamics_derivatives",
    "computeRNEADerivatives", 0.12)(ratio)  # fmt: skip
row += problems.row
