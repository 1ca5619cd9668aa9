"""Expression graphs: every operation of CasADi, and walks instruction by instruction with any arithmetic.

A reader that has no rule for an operation refuses it, or treats it as unknown; none takes it for another one.
Functions that a graph calls are inlined where they are scalar graphs themselves (SX functions, maps of these); any
other (an interpolant, a function of matrices that must not be inlined, an external one) is an opaque node: CasADi
evaluates it, and each arithmetic states what it knows of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

import casadi as ca
import numpy as np

from casid.arrays import Array
from casid.errors import CasidError, ProblemError

#: Name of every operation, ``{code: "OP_ADD"}``, as the installed CasADi numbers them.
NAMES: dict[int, str] = {int(getattr(ca, name)): name for name in sorted(dir(ca)) if name.startswith("OP_")}
#: What the instructions of a function hold beside operations.
STRUCTURE = frozenset({ca.OP_CONST, ca.OP_INPUT, ca.OP_OUTPUT})
#: Operations of one scalar.
UNARY = frozenset(
    {
        ca.OP_ASSIGN, ca.OP_NEG, ca.OP_EXP, ca.OP_LOG, ca.OP_SQRT, ca.OP_SQ, ca.OP_TWICE, ca.OP_SIN, ca.OP_COS,
        ca.OP_TAN, ca.OP_ASIN, ca.OP_ACOS, ca.OP_ATAN, ca.OP_NOT, ca.OP_FLOOR, ca.OP_CEIL, ca.OP_FABS, ca.OP_SIGN,
        ca.OP_ERF, ca.OP_ERFINV, ca.OP_INV, ca.OP_SINH, ca.OP_COSH, ca.OP_TANH, ca.OP_ASINH, ca.OP_ACOSH,
        ca.OP_ATANH, ca.OP_LOG1P, ca.OP_EXPM1,
    }
)  # fmt: skip
#: Operations of two scalars.
BINARY = frozenset(
    {
        ca.OP_ADD, ca.OP_SUB, ca.OP_MUL, ca.OP_DIV, ca.OP_POW, ca.OP_CONSTPOW, ca.OP_LT, ca.OP_LE, ca.OP_EQ, ca.OP_NE,
        ca.OP_AND, ca.OP_OR, ca.OP_FMOD, ca.OP_COPYSIGN, ca.OP_IF_ELSE_ZERO, ca.OP_FMIN, ca.OP_FMAX, ca.OP_ATAN2,
        ca.OP_HYPOT, ca.OP_REMAINDER, ca.OP_PRINTME, ca.OP_LIFT,
    }
)  # fmt: skip
#: A function that is called: inlined where it is a scalar graph itself, else evaluated by CasADi.
CALL = int(ca.OP_CALL)
#: Operations that only graphs of matrices hold; no reader takes them.
MATRIX = frozenset(NAMES) - UNARY - BINARY - STRUCTURE - {CALL}


class OperationError(ProblemError):
    """An operation that a reader of expressions does not know."""


def refused(code: int, reader: str, operands: int | None = None) -> OperationError:
    """The error of a reader that does not know an operation, which it names."""
    count = "" if operands is None else f" of {operands} operand{'' if operands == 1 else 's'}"
    name = NAMES.get(code, f"number {code}")
    return OperationError(
        f"{reader}: the operation {name}{count} of CasADi is not known here; write the expression with scalar "
        "operations (casadi.SX), or put it into a casadi.Function and call that"
    )


#: Comparisons: what decides an if-else.
COMPARISONS = frozenset({ca.OP_LT, ca.OP_LE, ca.OP_EQ, ca.OP_NE})


def as_function(expression: ca.SX, x: ca.SX) -> ca.Function:
    """The entries of an expression, column by column, as a function of one dense vector that `Walk` can read."""
    return ca.Function("expression", [x], [ca.densify(ca.vec(expression))])


def operations(function: ca.Function) -> frozenset[int]:
    """Codes of the operations that a function uses, within the functions that it calls too."""
    found: set[int] = set()
    for step in Walk(function):
        if step.kind == "call":
            found.add(CALL)
            step.value = unknown(*step.given)
        elif step.kind == "operation":
            found.add(step.given[0])
    return frozenset(found)


def constants(expression: ca.SX) -> list[float]:
    """Constants of an expression, within the functions that it calls too."""
    found: list[float] = []
    for step in Walk(as_function(expression, ca.vertcat(*ca.symvar(expression)))):
        if step.kind == "constant":
            found.append(step.given[0])
        elif step.kind == "call":
            step.value = unknown(*step.given)
    return found


def unknown(callee: ca.Function, operands: Sequence[Any]) -> list[None]:
    """Of a call of which nothing is known: None for every entry of its outputs."""
    return [None] * sum(callee.nnz_out(k) for k in range(callee.n_out()))


#: What an arithmetic makes of the steps of each kind, from what they are given.
Rules = dict[str, Callable[..., Any]]


@dataclass(eq=False, slots=True)
class Step:
    """One step of a graph, whose value its reader fills in.

    Attributes
    ----------
    kind : {"constant", "entry", "operation", "call"}
    given : tuple
        The number; the place in the input vector; an operation (`casadi.OP_ADD`, ...) and the values of its operands,
        one or two; an opaque function and the values of its operands.
    value : object
        Of a call one value an output entry, one output after another.
    """

    kind: str
    given: tuple[Any, ...]
    value: Any = None


class Walk:
    """The steps of an SX function of one dense vector, in order, for any arithmetic; then the values of its outputs.

    ``steps = Walk(function)``, ``for step in steps: step.value = rules[step.kind](*step.given)``, ``steps.values``.

    Parameters
    ----------
    function
        One input, one dense output vector (`as_function`).
    calls
        Whether the reader has a rule for opaque functions; without, such a call is refused by its name.

    Raises
    ------
    OperationError
        Naming an operation of no scalar graph, or a called function where the reader takes none.
    """

    def __init__(self, function: ca.Function, calls: bool = True) -> None:
        self._function, self._calls = function, calls
        #: One value an output entry, once all steps are done.
        self.values: list[Any] = []

    def __iter__(self) -> Iterator[Step]:
        entries = [Step("entry", (k,)) for k in range(self._function.nnz_in(0))]
        yield from entries
        self.values = (yield from self._run(self._function, [[step.value for step in entries]]))[0]

    def _run(self, function: ca.Function, inputs: list[Sequence[Any]]) -> Generator[Step, None, list[list[Any]]]:
        for k in range(function.n_instructions()):
            if function.instruction_id(k) in MATRIX:
                raise refused(function.instruction_id(k), "expression")
        work: dict[int, Any] = {}
        outputs: list[list[Any]] = [[None] * function.nnz_out(k) for k in range(function.n_out())]
        nodes: Any = None
        for k in range(function.n_instructions()):
            code = function.instruction_id(k)
            operands, results = function.instruction_input(k), function.instruction_output(k)
            if code == ca.OP_INPUT:
                work[results[0]] = inputs[operands[0]][operands[1]]
            elif code == ca.OP_OUTPUT:
                outputs[results[0]][results[1]] = work[operands[0]]
            elif code == CALL:
                nodes = function.instructions_sx() if nodes is None else nodes
                values = yield from self._called(nodes[k].which_function(), [work[i] for i in operands])
                work.update((place, value) for place, value in zip(results, values, strict=True) if place >= 0)
            else:
                step = Step("operation", (code, [work[i] for i in (operands if code in BINARY else operands[:1])]))
                if code == ca.OP_CONST:
                    step = Step("constant", (float(function.instruction_constant(k)),))
                yield step
                work[results[0]] = step.value
        return outputs

    def _called(self, callee: ca.Function, operands: list[Any]) -> Generator[Step, None, Sequence[Any]]:
        inner = scalar_graph(callee)
        if inner is not None:
            outputs = yield from self._run(inner, _by_input(inner, operands))
            return [value for output in outputs for value in output]
        if not self._calls:
            raise refused(CALL, f"expression that calls the function '{callee.name()}'")
        step = Step("call", (callee, operands))
        yield step
        return cast(Sequence[Any], step.value)


def scalar_graph(callee: ca.Function) -> ca.Function | None:
    """The function as one of scalars with the same inputs and outputs; None where it is opaque."""
    kind = callee.class_name()
    if kind == "SXFunction":
        return callee
    if kind not in ("Map", "MapSum", "MXFunction"):
        return None
    try:
        inner = callee.expand()
    except RuntimeError:  # an operation of matrices that has no scalar form
        return None
    calls = [k for k in range(inner.n_instructions()) if inner.instruction_id(k) == CALL]
    if calls:
        nodes = inner.instructions_sx()
        if any(nodes[k].which_function().class_name() == kind for k in calls):
            return None  # one that must not be inlined: it only calls itself
    return inner if inner.class_name() == "SXFunction" else None


def _by_input(callee: ca.Function, operands: Sequence[Any]) -> list[Sequence[Any]]:
    """Operands of a call, those of each input apart."""
    ends = np.cumsum([0, *(callee.nnz_in(k) for k in range(callee.n_in()))])
    return [operands[first:last] for first, last in pairwise(ends)]


def rebuild(code: int, operands: Sequence[Any]) -> ca.SX:
    """The operation itself, on SX operands.

    Raises
    ------
    OperationError
        Where it is none of so many scalars.
    """
    if len(operands) == 1 and code in UNARY:
        return ca.SX.unary(code, operands[0])
    if len(operands) != 2 or code not in BINARY:
        raise refused(code, "expression", len(operands))
    if code in (ca.OP_PRINTME, ca.OP_LIFT):  # the first operand, passed on
        return ca.SX(operands[0])
    return ca.SX.binary(code, operands[0], operands[1])


def rebuild_call(callee: ca.Function, operands: Sequence[ca.SX]) -> list[ca.SX]:
    """A call on SX operands: values of all outputs, entry by entry."""
    parts = [ca.SX(callee.sparsity_in(k), ca.vertcat(*own)) for k, own in enumerate(_by_input(callee, operands))]
    return [output.nz[i] for output in callee.call(parts) for i in range(output.nnz())]


def evaluate_call(callee: ca.Function, operands: Sequence[float]) -> Array:
    """Values of a call's outputs, entry by entry, as CasADi itself computes them."""
    parts = [ca.DM(callee.sparsity_in(k), list(map(float, own))) for k, own in enumerate(_by_input(callee, operands))]
    return np.concatenate([np.array(output.nonzeros(), dtype=float) for output in callee.call(parts)])


def call_identity(callee: ca.Function) -> str:
    """What distinguishes a called function from any other: a digest of all it consists of."""
    try:
        content = callee.serialize()
    except RuntimeError:  # a function of Python: itself
        content = f"{callee.__hash__()}"
    return hashlib.sha256(content.encode()).hexdigest()


def fold(code: int, operands: Sequence[float]) -> float:
    """The operation on numbers, as CasADi computes it."""
    return float(ca.DM(rebuild(code, [ca.SX(value) for value in operands])))


def shaped(value: object, shape: tuple[int, int], where: str, error: type[CasidError]) -> ca.SX:
    """An expression of a shape; nothing is broadcast.

    Parameters
    ----------
    value
        SX, DM, or numbers.
    shape
        Rows and columns.
    where
        What it is, for messages.
    error
        Class of the error to raise.

    Raises
    ------
    CasidError
        Of the class ``error``: another shape, or something that is no SX expression.
    """
    try:
        found: ca.SX = ca.SX(value)  # type: ignore[call-overload]
    except (NotImplementedError, TypeError, ValueError, RuntimeError):
        raise error(f"{where}: expected a casadi.SX of shape {shape}, got {type(value).__name__}") from None
    if found.shape != shape:
        raise error(f"{where}: expected shape {shape}, got {found.shape}")
    return found
