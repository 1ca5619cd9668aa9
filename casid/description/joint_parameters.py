"""The catalogue of joint parameters: every symbol that joint terms and friction laws of casid know, stated once.

Robot files, sidecars and parameter files accept exactly these symbols; the terms and friction laws of `casid.dynamics`
refer to the entries themselves, so that a symbol is spelt here alone. A parameter of joint k (counted from 1) is named
``<symbol><k>``: ``fv1``, ``Ia7``.

What a torque is not linear in has a symbol ``<group>.<name>``, and is carried with the parameters wherever they go:
the shape of a friction law (``stribeck.width3``), the velocity deadband of the signs (``sign.deadband3``), and the body
whose torque is the load of load-dependent friction (``load.m3``). Robot files write a group as a table,
``terms = { fv = 0.3, fs = 0.1, stribeck = { width = 0.02, speed = 0.1 } }``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from casid.arrays import Array
from casid.inertia import STANDARD_NAMES


@dataclass(frozen=True)
class JointParameter:
    """What a parameter of a joint means.

    Attributes
    ----------
    symbol : str
        Prefix of the parameter's name: ``fv`` gives ``fv1 ... fv<n>``.
    unit : str
        At a revolute joint.
    meaning : str
        One line for tables and help, with the torque written out.
    nonnegative : bool
        Whether physics forbids a negative value where the parameter stands for the whole effect (Sousa 2014, Sec.
        2.6.2); a friction law that splits the effect over several parameters may allow it.
    inertial : bool
        The torque is proportional to the acceleration: part of the mass matrix.
    dissipative : bool
        The torque is friction: it depends on the velocity, or on a state driven by it.
    dry : bool
        The torque depends on the direction of motion and does not vanish with the speed.
    side : {"joint", "motor"}
        Motor-side torques reach the joints through the transmission.
    follower_power : int, optional
        For a joint that follows another (a mimic joint) with the ratio r of velocities: the parameter acts on the
        joint that is followed, times ``|r|`` to this power. ``None``: it does not carry over.
    family : bool
        The symbol carries an order behind it: ``hs`` stands for ``hs1``, ``hs2``, ...
    """

    symbol: str
    unit: str
    meaning: str
    nonnegative: bool = False
    inertial: bool = False
    dissipative: bool = False
    dry: bool = False
    side: Literal["joint", "motor"] = "joint"
    follower_power: int | None = None
    family: bool = False


_friction = partial(JointParameter, dissipative=True)
_dry = partial(_friction, dry=True)
_coulomb = partial(_dry, nonnegative=True)
_rotor = partial(JointParameter, unit="kg.m^2", nonnegative=True, inertial=True)
_SLOPE, _TORQUE = "N.m.s/rad", "N.m"
_OFFSET = "constant torque of the {}: asymmetry of Coulomb friction, sensor or current offset"

# terms by name
VISCOUS = _friction("fv", _SLOPE, "viscous friction of the joint: fv dq", nonnegative=True, follower_power=2)
COULOMB = _coulomb("fc", _TORQUE, "Coulomb friction of the joint: fc sign(dq)", follower_power=1)
OFFSET = JointParameter("fo", _TORQUE, _OFFSET.format("joint"))
MOTOR_VISCOUS = _friction("fvm", _SLOPE, "viscous friction of the motor: fvm dq", nonnegative=True, side="motor")
MOTOR_COULOMB = _coulomb("fcm", _TORQUE, "Coulomb friction of the motor: fcm sign(dq)", side="motor")
MOTOR_OFFSET = JointParameter("fom", _TORQUE, _OFFSET.format("motor"), side="motor")
ROTOR = _rotor("Ia", meaning="rotor inertia seen at the joint: Ia ddq", follower_power=2)
MOTOR_ROTOR = _rotor("Iam", meaning="rotor inertia of the motor, through the transmission: T Iam T' ddq", side="motor")
COULOMB_POSITIVE = _coulomb("fcp", _TORQUE, "Coulomb friction while dq > 0: fcp")
COULOMB_NEGATIVE = _coulomb("fcn", _TORQUE, "Coulomb friction while dq < 0: -fcn")
SQRT_VISCOUS = _friction("fq", "N.m.(s/rad)^0.5", "friction that flattens with speed: fq sqrt(|dq|) sign(dq)")
CUBIC_VISCOUS = _friction("f3", "N.m.(s/rad)^3", "friction that grows or fades with speed: f3 dq^3")
LOAD = _coulomb("fl", "-", "Coulomb friction that grows with the load: fl |tau_nominal| sign(dq)")
SPRING = JointParameter("ks", "N.m/rad", "torsional spring: ks q")
SPRING_SINE = JointParameter("kss", _TORQUE, "gravity-compensation spring: kss sin(q)")
SPRING_COSINE = JointParameter("ksc", _TORQUE, "gravity-compensation spring: ksc cos(q)")
DRIVE_GAIN = JointParameter("kg", "-", "relative error of the drive gain: true torque = (1 + kg) signal")
GEAR = _coulomb("fg", "-", "friction of gears that grows with the torque they carry: fg |measured torque| sign(dq)")

# amplitudes of friction laws with shapes
STRIBECK = _coulomb("fs", _TORQUE, "Stribeck friction: fs exp(-(dq/vs)^2) sign(dq)")
SIGMOID = _friction("fp", _TORQUE, "sigmoid friction: fp (sigmoid(s (dq + v0)) - sigmoid(s v0))")
LOAD_STRIBECK = _dry("fls", "-", "Stribeck friction that grows with the load: fls exp(-(dq/vl)^2) |load| sign(dq)")
BRISTLE = _coulomb("fd", _TORQUE, "friction with a bristle state z: fd z")
BRISTLE_DAMPING = _friction("fb", "N.m.s", "damping of a bristle state z: fb dz/dt")
# the dictionary of general terms: families, an order behind the symbol
POSITION_SINE = JointParameter("hs", _TORQUE, "torque that depends on the position: hs<k> sin(k q)", family=True)
POSITION_COSINE = JointParameter("hc", _TORQUE, "torque that depends on the position: hc<k> cos(k q)", family=True)
SIGNED_SINE = _dry("gs", _TORQUE, "friction that depends on the position: gs<k> sin(k q) sign(dq)", family=True)
SIGNED_COSINE = _dry("gc", _TORQUE, "friction that depends on the position: gc<k> cos(k q) sign(dq)", family=True)
STANDSTILL = _dry("ht", _TORQUE, "friction around standstill: ht<i> tanh(dq / v_i)", family=True)

#: Every joint parameter by its symbol, in the order in which terms follow a link's ten parameters.
JOINT_PARAMETERS: dict[str, JointParameter] = {
    entry.symbol: entry for entry in tuple(globals().values()) if isinstance(entry, JointParameter)
}

#: What a torque is not linear in, by group: names of the shapes of each friction law in the order of the law's theta,
#: the deadband of the signs of all velocities, the ten parameters of the body that loads a joint.
SHAPES = MappingProxyType(
    {
        "deadband": ("deadband",),
        "smooth": ("width",),
        "stribeck": ("width", "speed"),
        "sigmoid": ("slope", "shift"),
        "loadstribeck": ("speed",),
        "dahl": ("reach",),
        "lugre": ("reach", "ratio", "speed"),
        "sign": ("deadband",),
        "load": STANDARD_NAMES,
    }
)
#: Symbols of the ten parameters of the body that loads a joint.
LOAD_BODY = tuple(f"load.{name}" for name in STANDARD_NAMES)
#: Speeds and distances that divide.
_POSITIVE = ("width", "speed", "slope", "reach")
_NOT_NEGATIVE = ("deadband", "ratio")


def is_shape(name: str) -> bool:
    """Whether a parameter's name or symbol is that of a shape, in which the torque is not linear."""
    return "." in name


def load_body(terms: Mapping[str, float]) -> Array | None:
    """Standard parameters of the body that loads a joint, shape (10,); None where its terms have none."""
    if LOAD_BODY[0] not in terms:
        return None
    return np.array([terms.get(symbol, 0.0) for symbol in LOAD_BODY])


def shape_fault(symbols: Mapping[str, float]) -> str:
    """What is wrong with the shapes among the parameters of a joint, by symbol; empty: nothing."""
    for group in dict.fromkeys(symbol.partition(".")[0] for symbol in symbols if is_shape(symbol)):
        missing = [name for name in SHAPES[group] if f"{group}.{name}" not in symbols]
        if missing:
            return f"'{group}' needs {', '.join(SHAPES[group])}; {', '.join(missing)} is missing"
    for symbol, value in symbols.items():
        name = symbol.partition(".")[2]
        if (name in _POSITIVE and not value > 0.0) or (name in _NOT_NEGATIVE and not value >= 0.0):
            return f"'{symbol}' must {'be positive' if name in _POSITIVE else 'not be negative'}, got {value:g}"
    return ""


def nested(terms: Mapping[str, float]) -> dict[str, Any]:
    """The parameters of a joint as a robot file writes them: each group of shapes is a table."""
    found: dict[str, Any] = {}
    for symbol, value in terms.items():
        group, dot, name = symbol.partition(".")
        if dot:
            found.setdefault(group, {})[name] = float(value)
        else:
            found[symbol] = float(value)
    return found


def joint_parameter(symbol: str) -> JointParameter | None:
    """The entry of a symbol (``fs``, or ``hs3`` of a family); ``None`` for a symbol that is not in the catalogue."""
    group, dot, name = symbol.partition(".")
    if dot:
        known = name in SHAPES.get(group, ())
        return JointParameter(symbol, "", f"{name} of '{group}'") if known else None
    found = JOINT_PARAMETERS.get(symbol)
    if found is not None:
        return None if found.family else found
    family = JOINT_PARAMETERS.get(symbol.rstrip("0123456789"))
    order = symbol[len(family.symbol) :] if family is not None else ""
    return family if family is not None and family.family and re.fullmatch("[1-9][0-9]{0,2}", order) else None


def symbol_and_joint(name: str, joints: int) -> tuple[str, int] | None:
    """Symbol and index (from 0) of the joint of a parameter's name: ``fs7`` is ``("fs", 6)``.

    Parameters
    ----------
    name
        ``<symbol><number>``.
    joints
        Number of joints that a number may count to.

    Returns
    -------
    tuple or None
        Of several readings (``hs12``), the one whose symbol is in the catalogue, the longest first; a symbol that is
        not in the catalogue is given as it is. ``None``: the name does not end in the number of a joint.
    """
    cuts = [i for i in range(len(name) - 1, 0, -1) if re.fullmatch("[1-9][0-9]{0,4}", name[i:])]
    ways = [(name[:i], int(name[i:]) - 1) for i in cuts]
    ways = [(symbol, k) for symbol, k in ways if k < joints]
    known = [way for way in ways if joint_parameter(way[0]) is not None]
    found = known or ways[::-1]
    return found[0] if found else None
