"""The equations of motion with symbols for lengths, masses and inertias, as SymPy: for teaching and for papers.

A robot's graphs do not care whether an offset is a number or a symbol, so the algorithms are those of every other
model; what they give is carried from CasADi to SymPy operation by operation and simplified there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import casadi as ca
import numpy as np

from casid.arrays import ROUNDING
from casid.description import Joint, Robot
from casid.dynamics import Model, mass_matrix, newton_euler, regroup, stacked_regressor
from casid.errors import RobotError
from casid.expressions import Rules, Walk, as_function, refused

if TYPE_CHECKING:
    import sympy as sp

#: M of four joints is 8,000 characters long; of seven, SymPy works for hours on it.
_MOST_JOINTS = 5
_TENSOR = ("xx", "xy", "xz", "yy", "yz", "zz")


@dataclass(frozen=True, eq=False)
class SymbolicDynamics:
    """Equations of motion ``tau = M(q) ddq + C(q, dq) dq + g(q)`` as SymPy matrices, simplified.

    Attributes
    ----------
    q, dq, ddq : sympy.Matrix, shape (n, 1)
        Symbols of the motion.
    lengths : dict of sympy.Symbol to float
        Symbols of the offsets, with the robot's own values [m].
    parameters : sympy.Matrix, shape (10 n, 1)
        Standard parameters of the links; what they are made of where `barycentric` was asked for.
    M : sympy.Matrix, shape (n, n)
        Mass matrix.
    C : sympy.Matrix, shape (n, n)
        Coriolis matrix of the Christoffel symbols: ``dM/dt - 2 C`` is skew-symmetric.
    g : sympy.Matrix, shape (n, 1)
        Torques of gravity.
    """

    q: sp.Matrix
    dq: sp.Matrix
    ddq: sp.Matrix
    lengths: dict[sp.Symbol, float]
    parameters: sp.Matrix
    M: sp.Matrix
    C: sp.Matrix
    g: sp.Matrix
    _regressor: sp.Matrix
    _independent: tuple[int, ...]

    @property
    def tau(self) -> sp.Matrix:
        """Joint torques of a motion, shape (n, 1)."""
        return self.M * self.ddq + self.C * self.dq + self.g

    @cached_property
    def base(self) -> sp.Matrix:
        """Base parameters, shape (rank, 1): what the torques depend on, each led by its first parameter.

        ``Y_d = Y_b K_d`` is solved exactly at rational motions; which columns lead is taken from the numeric regressor
        (Gautier 1991; Sousa 2014, Sec. 2.5.1).
        """
        import sympy as sp

        chosen = list(self._independent)
        others = [k for k in range(self._regressor.cols) if k not in chosen]
        rows: list[sp.Matrix] = []
        draw = np.random.default_rng(0)
        while sum(row.rows for row in rows) < 2 * len(chosen):
            rows.append(self._regressor.subs(self._rational_motion(draw)))
        W = sp.Matrix.vstack(*rows)
        leading = sp.Matrix(W[:, chosen])
        _, pivots = leading.subs({s: sp.Rational(*v.as_integer_ratio()) for s, v in self.lengths.items()}).T.rref()
        square = leading.extract(list(pivots), list(range(len(chosen))))
        K = square.LUsolve(W.extract(list(pivots), others)).applyfunc(sp.cancel)
        return (self.parameters.extract(chosen, [0]) + K * self.parameters.extract(others, [0])).applyfunc(sp.expand)

    def _rational_motion(self, draw: np.random.Generator) -> dict[sp.Expr, sp.Expr]:
        """Sines and cosines of rational points of the circle, ``(1 - t^2, 2 t) / (1 + t^2)``, and rational rates."""
        import sympy as sp

        found: dict[sp.Expr, sp.Expr] = {}
        for q in self.q:
            t = sp.Rational(int(draw.integers(1, 9)), int(draw.integers(9, 19)))
            found |= {sp.cos(q): (1 - t**2) / (1 + t**2), sp.sin(q): 2 * t / (1 + t**2), q: t}
        return found | {rate: sp.Integer(int(draw.integers(-9, 10))) for rate in (*self.dq, *self.ddq)}

    def latex(self) -> str:
        """The matrices and base parameters as one LaTeX ``align*``."""
        import sympy as sp

        parts = (("M", self.M), ("C", self.C), ("g", self.g), (r"\beta", self.base))
        return "\\begin{align*}\n" + " \\\\\n".join(f"{k} &= {sp.latex(v)}" for k, v in parts) + "\n\\end{align*}"


def _check(robot: Robot) -> None:
    """RobotError for a robot whose equations are not written, or without SymPy."""
    if find_spec("sympy") is None:
        raise RobotError("symbolic dynamics need the package sympy: pip install 'casid[teaching]'")
    if robot.coupled:
        raise RobotError(f"robot '{robot.name}': symbolic dynamics have no joints that follow others; lock them")
    if robot.n > _MOST_JOINTS:
        raise RobotError(
            f"robot '{robot.name}': {robot.n} joints; the equations of more than {_MOST_JOINTS} fill books: lock some, "
            "load_robot(..., lock=[...]), or take the base parameters with numbers for the lengths, Model(robot).base"
        )


def symbolic(robot: Robot, *, barycentric: bool = False) -> SymbolicDynamics:
    """The equations of motion of a robot of a few joints, with a symbol for every length and parameter.

    The offset from the frame of link k to the next joint is ``l_k`` (``l_0`` from the base), ``l_kx l_ky l_kz`` where
    it has several components, with the child's number behind a stroke where several joints follow; gravity is ``g``.
    Angles between axes keep their numbers, best multiples of a right angle.

    Parameters
    ----------
    robot
        Its numbers only say which offsets are zero.
    barycentric
        Write the standard parameters as mass ``m``, centre of mass ``c`` and inertia ``I`` about it.

    Raises
    ------
    RobotError
        Without SymPy; for a robot of more than 5 joints, or with joints that follow others.
    """
    _check(robot)
    import sympy as sp

    n = robot.n
    lengths: dict[str, tuple[ca.SX, float]] = {}
    joints = _with_symbols(robot, lengths)
    tree = cast(Robot, SimpleNamespace(joints=joints, coupled=False))  # what the algorithms read of a robot
    q, dq, ddq, pi = (ca.SX.sym(name, size) for name, size in (("q", n), ("dq", n), ("ddq", n), ("pi", 10 * n)))
    weight = ca.SX.sym("g")
    pull = np.asarray(robot.gravity) / max(float(np.linalg.norm(robot.gravity)), 1e-300)
    gravity = weight * ca.sparsify(ca.DM(pull))
    links = [pi[10 * k : 10 * k + 10] for k in range(n)]
    M = mass_matrix(tree, q, links)
    zero = ca.SX.zeros(n)
    torque = newton_euler(tree, q, zero, zero, links, gravity)[0]
    Y = ca.jacobian(newton_euler(tree, q, dq, ddq, links, gravity)[0], pi)
    inputs = ca.vertcat(q, dq, ddq, pi, weight, *(symbol for symbol, _ in lengths.values()))
    motion = [sp.symbols(f"{name}1:{n + 1}", real=True) for name in ("q", r"\dot{q}_", r"\ddot{q}_")]
    names = {name: sp.Symbol(name, positive=True) for name in lengths}
    standard, own = _parameters(n, barycentric)
    symbols = [*motion[0], *motion[1], *motion[2], *standard, sp.Symbol("g", positive=True), *names.values()]

    def carried(expression: ca.SX) -> Any:
        rules: Rules = {"constant": _number, "entry": symbols.__getitem__, "operation": _apply}
        steps = Walk(as_function(expression, inputs), calls=False)
        for step in steps:
            step.value = rules[step.kind](*step.given)
        return sp.Matrix(expression.shape[1], expression.shape[0], steps.values).T

    own_values = dict(zip(standard, own, strict=True))
    plain, weighed, regressor = carried(M), carried(torque), carried(Y)
    mass = plain.subs(own_values).applyfunc(_tidy)
    Q, D, DD = (sp.Matrix(part) for part in motion)
    numeric = Model(robot, ())
    base = regroup(stacked_regressor(numeric), numeric.parameter_names)
    return SymbolicDynamics(
        Q, D, DD, {names[name]: value for name, (_, value) in lengths.items()}, sp.Matrix(own), mass,
        _christoffel(mass, Q, D).applyfunc(_tidy), weighed.subs(own_values).applyfunc(_tidy), regressor,
        base.independent,
    )  # fmt: skip


def _with_symbols(robot: Robot, lengths: dict[str, tuple[ca.SX, float]]) -> tuple[Joint, ...]:
    """The joints with symbolic offsets; the symbols and their values are added to ``lengths``."""
    children: dict[int, int] = {}
    for joint in robot.joints:
        children[joint.parent] = children.get(joint.parent, 0) + 1
    largest = max(float(np.abs(part[:3, 3]).max()) for j in robot.joints for part in (j.placement, j.link_placement))

    def with_symbols(placement: np.ndarray, owner: str) -> ca.SX:
        matrix = ca.SX(ca.sparsify(ca.DM(placement)))
        there = [k for k in range(3) if abs(placement[k, 3]) > ROUNDING * largest]
        for k in there:
            name = f"l_{{{owner}{'xyz'[k] if len(there) > 1 else ''}}}"
            symbol, _ = lengths.setdefault(name, (ca.SX.sym(name), abs(float(placement[k, 3]))))
            matrix[k, 3] = symbol if placement[k, 3] > 0 else -symbol
        return matrix

    found = []
    for k, joint in enumerate(robot.joints):
        branch = f"/{k + 1}" if children[joint.parent] > 1 else ""
        parts = {
            "placement": with_symbols(joint.placement, f"{joint.parent + 1}{branch}"),
            "link_placement": with_symbols(joint.link_placement, str(k + 1)),
        }
        found.append(cast(Joint, SimpleNamespace(**{**vars(joint), **parts})))  # a joint of a robot cannot have symbols
    return tuple(found)


def _parameters(n: int, barycentric: bool) -> tuple[list[Any], list[Any]]:
    """Symbols of the standard parameters, and the expressions that stand for them."""
    import sympy as sp

    standard: list[Any] = []
    own: list[Any] = []
    for k in range(1, n + 1):
        L = [sp.Symbol(f"L_{{{axes}{k}}}", real=True) for axes in _TENSOR]
        first, m = [sp.Symbol(f"l_{{{axis}{k}}}", real=True) for axis in "xyz"], sp.Symbol(f"m_{k}", positive=True)
        standard += [*L, *first, m]
        if not barycentric:
            continue
        inertia = [sp.Symbol(f"I_{{{axes}{k}}}", real=True) for axes in _TENSOR]
        c = sp.Matrix([sp.Symbol(f"c_{{{axis}{k}}}", real=True) for axis in "xyz"])
        steiner = m * (c.dot(c) * sp.eye(3) - c * c.T)
        places = [("xyz".index(axes[0]), "xyz".index(axes[1])) for axes in _TENSOR]
        own += [one + steiner[place] for one, place in zip(inertia, places, strict=True)]
        own += [*(m * c), m]
    return standard, own or standard


def _christoffel(M: Any, q: Any, dq: Any) -> Any:
    """``C_ij = sum_k (dM_ij/dq_k + dM_ik/dq_j - dM_jk/dq_i) dq_k / 2``."""
    import sympy as sp

    def entry(i: int, j: int) -> Any:
        terms = (
            (sp.diff(M[i, j], q[k]) + sp.diff(M[i, k], q[j]) - sp.diff(M[j, k], q[i])) * dq[k] / 2
            for k in range(len(q))
        )
        return sum(terms, sp.Integer(0))

    return sp.Matrix(len(q), len(q), entry)


def _tidy(expression: Any) -> Any:
    """The shortest of: products of sines and cosines, sums of angles in their place; factors taken out."""
    import sympy as sp
    from sympy.simplify.fu import TR8

    plain = sp.expand(expression)
    forms = [plain, sp.expand(TR8(plain))]
    forms += [sp.factor_terms(form) for form in forms]
    return min(forms, key=lambda form: form.count_ops())


def _number(value: float) -> Any:
    """Whole numbers, halves and square roots of them exactly; anything else as it is."""
    import sympy as sp

    square = sp.nsimplify(value * value, rational=True, tolerance=1e-15)
    if square.q <= 16 and abs(float(sp.sqrt(square)) - abs(value)) <= ROUNDING * max(1.0, abs(value)):
        return sp.sqrt(square) if value >= 0 else -sp.sqrt(square)
    return sp.Float(value)


def _apply(code: int, x: Sequence[Any]) -> Any:
    """One operation of a rigid body's graph in SymPy."""
    import sympy as sp

    table = {
        ca.OP_ASSIGN: lambda a: a, ca.OP_NEG: lambda a: -a, ca.OP_SQ: lambda a: a**2, ca.OP_TWICE: lambda a: 2 * a,
        ca.OP_SIN: sp.sin, ca.OP_COS: sp.cos, ca.OP_INV: lambda a: 1 / a, ca.OP_ADD: lambda a, b: a + b,
        ca.OP_SUB: lambda a, b: a - b, ca.OP_MUL: lambda a, b: a * b, ca.OP_DIV: lambda a, b: a / b,
    }  # fmt: skip
    if code not in table:
        raise refused(code, "symbolic dynamics", len(x))
    return table[code](*x)
