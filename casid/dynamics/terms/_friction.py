"""Friction laws by name; the friction of a whole robot with its shapes fixed: a law a joint, as terms of a model.

States of dynamic laws follow from the measured positions, sample by sample, with exact sensitivities in the shapes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import Array
from casid.codegen import accumulate
from casid.description import Robot
from casid.description.joint_parameters import is_shape, joint_parameter, load_body, shape_fault, symbol_and_joint
from casid.dynamics.terms._terms import (
    BY_SYMBOL,
    Combined,
    Dahl,
    Deadband,
    FrictionLaw,
    JointSignals,
    JointTerm,
    Linear,
    Load,
    LoadStribeck,
    LuGre,
    Memory,
    Offset,
    Polynomial,
    Sigmoid,
    Smooth,
    Spring,
    Stribeck,
)
from casid.errors import DatasetError, RobotError
from casid.expressions import shaped
from casid.files import near

#: The laws by name.
FRICTION_MODELS = MappingProxyType(
    {
        law.name: law
        for law in (
            *(Linear(), Deadband(), Smooth(), Polynomial(), Stribeck()),
            *(Sigmoid(), Load(), LoadStribeck(), Spring(), Offset()),
            *(Dahl(), LuGre()),
        )
    }
)


def friction_model(name: str | FrictionLaw) -> FrictionLaw:
    """The friction law of that name, or sum of laws (``"stribeck+load"``); DatasetError names the known ones."""
    if isinstance(name, FrictionLaw):
        return name
    parts = [part.strip() for part in name.split("+")]
    for part in parts:
        if part not in FRICTION_MODELS:
            hint = near(part, FRICTION_MODELS) or ";"
            raise DatasetError(f"unknown friction model '{part}'{hint} known: {', '.join(FRICTION_MODELS)}")
    return FRICTION_MODELS[parts[0]] if len(parts) == 1 else Combined([FRICTION_MODELS[part] for part in parts])


def _states(q: Array, z: ca.SX, travel: ca.SX, p: ca.SX, new: ca.SX, theta: ArrayLike) -> Array:
    """States z along one motion, from 0; after a step of the position they are ``new(z, travel, p)``."""
    step = ca.Function("step", [z, travel, p], [ca.densify(new), ca.SX(0, 1)], {"cse": True})
    travels = np.diff(q, prepend=q[:1])[:, None]
    return accumulate(step, np.zeros(z.numel()), travels, theta, compiled=False)[0]


def states_of(laws: Sequence[tuple[FrictionLaw, Sequence[float]]], q: Array, period: float) -> list[Array]:
    """States of laws with their shapes along one motion, from rest at its start, each of shape (N, law.memory)."""
    sizes = [law.memory for law, _ in laws]
    edges = np.cumsum([0, *sizes])
    if not edges[-1]:
        return [np.zeros((len(q), 0)) for _ in laws]
    z, travel = ca.SX.sym("z", int(edges[-1])), ca.SX.sym("travel")
    new = [
        law.following(z[int(a) : int(a) + law.memory], travel, ca.SX(period), theta)
        for (law, theta), a in zip(laws, edges, strict=False)
        if law.memory
    ]
    made = _states(q, z, travel, ca.SX(0, 1), ca.vertcat(*new), ())
    return [made[:, a : a + size] for a, size in zip(edges, sizes, strict=False)]


def sensitive_states(law: FrictionLaw, theta: Array, q: Array, period: float) -> tuple[Array, Array]:
    """States z of a law and ``dz/dtheta``, shapes (N, memory) and (N, memory, len(theta)).

    The sensitivities S obey ``S_i = dF/dz S_{i-1} + dF/dtheta`` and are carried along with the states.
    """
    size, shapes = law.memory, len(law.shape)
    z, S = ca.SX.sym("z", size), ca.SX.sym("S", size * shapes)
    travel, p = ca.SX.sym("travel"), ca.SX.sym("theta", shapes)
    new = law.following(z, travel, ca.SX(period), ca.vertsplit(p))
    moved = ca.jacobian(new, z) @ ca.reshape(S, size, shapes) + ca.jacobian(new, p)
    made = _states(q, ca.vertcat(z, S), travel, p, ca.vertcat(new, ca.vec(moved)), theta)
    return made[:, :size], made[:, size:].reshape(len(q), shapes, size).transpose(0, 2, 1)


@dataclass(frozen=True)
class JointFriction:
    """A law and its shape.

    Attributes
    ----------
    law : FrictionLaw
    theta : tuple of float
        One value for each of ``law.shape``.
    """

    law: FrictionLaw
    theta: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if len(self.theta) != len(self.law.shape):
            raise DatasetError(
                f"friction '{self.law.name}' has the shape ({', '.join(s.name for s in self.law.shape)}), "
                f"got {len(self.theta)} numbers"
            )

    @property
    def size(self) -> int:
        """Number of states of the law."""
        return self.law.memory

    def states(self, q: Array, period: float) -> Array:
        """States along a motion from rest, shape (N, size)."""
        return states_of([(self.law, self.theta)], q, period)[0]

    def settled(self, velocity: ca.SX, sign: ca.SX) -> ca.SX:
        """States after a long motion at one velocity, (size)."""
        where = f"friction law '{self.law.name}': `settled`"
        return shaped(self.law.settled(velocity, sign, self.theta), (self.size, 1), where, RobotError)

    def shapes(self) -> dict[str, float]:
        """The shape by symbol: ``{"stribeck.width": 0.02, "stribeck.speed": 0.1}``."""
        symbols = [f"{law.name}.{shape.name}" for law in self.law.parts() for shape in law.shape]
        return dict(zip(symbols, self.theta, strict=True))


@dataclass(frozen=True)
class Friction:
    """Friction of every joint, linear in what is left to identify.

    Attributes
    ----------
    joints : tuple of JointFriction
        One a joint.
    nominal : tuple of float, optional
        Standard parameters of the links whose torque loads the joints, shape (10 n,).
    """

    joints: tuple[JointFriction, ...]
    nominal: tuple[float, ...] | None = None

    def terms(self, joint_names: Sequence[str]) -> tuple[JointTerm, ...]:
        """Terms of a `Model`: one an amplitude, at the joints whose law has it."""
        if len(joint_names) != len(self.joints):
            raise DatasetError(f"friction of {len(self.joints)} joints, the robot has {len(joint_names)}")
        found: dict[str, list[int]] = {}
        for k, joint in enumerate(self.joints):
            for amplitude in joint.law.amplitudes:
                found.setdefault(amplitude.symbol, []).append(k)
        terms = []
        for symbol, where in found.items():
            term = _amplitude_term(self.joints, symbol, where)
            loaded = any(self.joints[k].law.loaded for k in where)
            names = tuple(joint_names[k] for k in where)
            terms.append(replace(term, joints=names, loaded=loaded, nominal=self.nominal if loaded else None))
        return tuple(terms)


def _column(joints: Sequence[JointFriction], symbol: str, signals: JointSignals) -> ca.SX:
    """Column of one amplitude, whatever the law of the joint."""
    joint = joints[signals.joint]
    place = [a.symbol for a in joint.law.amplitudes].index(symbol)
    return joint.law.dictionary(signals, joint.theta)[place]


def _memory(joints: Sequence[JointFriction], joint: int) -> Memory | None:
    return joints[joint] if joints[joint].size else None


def _shapes(joints: Sequence[JointFriction], joint: int) -> Mapping[str, float]:
    return joints[joint].shapes()


class _Plain(FrictionLaw):
    """Joint terms as a law without shape, beside laws that have one."""

    def __init__(self, terms: Sequence[JointTerm]) -> None:
        self.name = "+".join(term.name for term in terms)
        self.amplitudes = tuple(term.parameter for term in terms)
        self.loaded = any(term.loaded for term in terms)


def terms_of(parameters: Mapping[str, float], robot: Robot) -> tuple[tuple[JointTerm, ...], float]:
    """Joint terms and friction laws of which these are the parameters, and the velocity deadband among them.

    Parameters
    ----------
    parameters
        Values by name, e.g. `casid.Parameters.terms`: those of terms (``fv2``: ``viscous`` at joint 2) and the shapes
        of friction laws (``stribeck.width2``).
    robot
        Whose joints have them.

    Raises
    ------
    RobotError
        For a name of no known term or law, an amplitude whose law has no shape here, a shape that no law has, a joint
        that the robot does not have.
    """
    by_joint: list[dict[str, float]] = [{} for _ in robot.joints]
    for name, value in parameters.items():
        symbol, k = symbol_and_joint(name, 99999) or ("", 0)
        if joint_parameter(symbol) is None:
            raise RobotError(f"parameter '{name}' belongs to no known joint term; known symbols: {_known()}")
        if k >= len(robot.joints):
            raise RobotError(f"parameter '{name}': the robot has {len(robot.joints)} joints")
        by_joint[k][symbol] = value
    loads = [load_body(symbols) for symbols in by_joint]
    nominal = None
    if any(load is not None for load in loads):
        nominal = tuple(np.concatenate([np.zeros(10) if load is None else load for load in loads]).tolist())
    laws = [_laws_of(symbols, k, robot.joints[k].name) for k, symbols in enumerate(by_joint)]
    shaped = {a.symbol for own in laws for law, _ in own for a in law.amplitudes}
    joints, plain = [], []
    for k, symbols in enumerate(by_joint):
        owned = {a.symbol for law, _ in laws[k] for a in law.amplitudes}
        free = [BY_SYMBOL[s] for s in symbols if not is_shape(s) and s not in owned]
        beside = _Plain([term for term in free if term.symbol in shaped])
        if robot.joints[k].mimic is None:
            theta = tuple(x for _, own in laws[k] for x in own)
            joints.append(JointFriction(Combined([*(law for law, _ in laws[k]), beside]), theta))
            free = [term for term in free if term.symbol not in shaped]
        plain += [replace(term.on(robot.joints[k].name), nominal=nominal if term.loaded else None) for term in free]
    names = [joint.name for joint in robot.coordinates]
    return (*plain, *Friction(tuple(joints), nominal).terms(names)), _deadband(by_joint)


def _laws_of(symbols: Mapping[str, float], k: int, joint: str) -> list[tuple[FrictionLaw, tuple[float, ...]]]:
    """Laws with a shape among the parameters of one joint, and their shapes; RobotError as for `terms_of`."""
    fault = shape_fault(symbols)
    if fault:
        raise RobotError(f"friction of joint '{joint}': {fault}")
    laws = [law for law in FRICTION_MODELS.values() if law.shape and f"{law.name}.{law.shape[0].name}" in symbols]
    owned = [a.symbol for law in laws for a in law.amplitudes]
    for symbol in symbols:
        if owned.count(symbol) > 1:
            names = " and ".join(law.name for law in laws if symbol in [a.symbol for a in law.amplitudes])
            raise RobotError(f"friction of joint '{joint}': '{symbol}' is of {names}; one of them is too many")
        if not is_shape(symbol) and symbol not in BY_SYMBOL and symbol not in owned:
            having = [law for law in FRICTION_MODELS.values() if symbol in [a.symbol for a in law.amplitudes]]
            shapes = " or ".join(", ".join(f"{law.name}.{s.name}{k + 1}" for s in law.shape) for law in having)
            raise RobotError(
                f"parameter '{symbol}{k + 1}' is an amplitude of a friction law whose shape is missing: {shapes}"
                if having
                else f"parameter '{symbol}{k + 1}' is of `friction_dictionary`, whose terms only Python can make"
            )
    return [(law, tuple(symbols[f"{law.name}.{shape.name}"] for shape in law.shape)) for law in laws]


def _deadband(by_joint: Sequence[Mapping[str, float]]) -> float:
    """The velocity deadband, of all joints alike."""
    found = {symbols["sign.deadband"] for symbols in by_joint if "sign.deadband" in symbols}
    if len(found) > 1:
        raise RobotError(f"'sign.deadband' differs between joints ({sorted(found)}): signs have one deadband")
    return found.pop() if found else 0.0


def _known() -> str:
    laws = [f"{law.name}.{shape.name}" for law in FRICTION_MODELS.values() for shape in law.shape]
    return ", ".join([*BY_SYMBOL, *laws])


def friction_terms(model: str | FrictionLaw, shapes: ArrayLike) -> tuple[JointTerm, ...]:
    """Terms of one law at every joint, with the shapes theta, shape (n, len(theta)).

    Raises
    ------
    DatasetError
        If the law needs loads: give those through `Friction`.
    """
    law = friction_model(model)
    if law.loaded:
        raise DatasetError(f"friction '{law.name}' depends on the load; use Friction(...).terms")
    theta = np.asarray(shapes, dtype=float)
    joints = tuple(JointFriction(law, tuple(float(x) for x in row)) for row in np.atleast_2d(theta))
    return tuple(_amplitude_term(joints, a.symbol, range(len(joints))) for a in law.amplitudes)


def _amplitude_term(joints: tuple[JointFriction, ...], symbol: str, where: Sequence[int]) -> JointTerm:
    """The term of one amplitude, whose laws at the joints ``where`` have it."""
    meant = [a for k in where for a in joints[k].law.amplitudes if a.symbol == symbol]
    parameter = replace(meant[0], nonnegative=all(a.nonnegative for a in meant), dry=any(a.dry for a in meant))
    memory = partial(_memory, joints) if any(joints[k].size for k in where) else None
    column, shapes = partial(_column, joints, symbol), partial(_shapes, joints)
    return JointTerm(f"friction_{symbol}", parameter, column, memory=memory, fitted=True, shapes=shapes)
