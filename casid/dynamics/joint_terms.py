"""What a joint adds to the torque of the links: friction, rotors, springs, drive gains; a column of the regressor each.

With ``tau = T tau_m`` and ``dq_m = T' dq`` between motors and joints (Sousa 2014, eq. 4.1-4.2) the torque of the
terms is

    h(q, dq, ddq) = sum of joint-side columns at (q, dq, ddq) + T (sum of motor-side columns at (T'q, T'dq, T'ddq))

(Sousa 2014, eq. 4.9). ``T`` is the robot's ``transmission``, the identity unless it says otherwise. Every term is
linear in one parameter a joint (or motor); its parameter stands behind the ten of the joint's link, in the order of
`JOINT_TERMS`, and `Model.parameter_names` names it ``<symbol><number>``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import casadi as ca

from casid.dynamics.memory import Memory
from casid.errors import RobotError
from casid.files._words import near

Side = Literal["joint", "motor"]


class JointSignals(NamedTuple):
    """What a term may use of its joint (or motor): scalar symbols.

    Attributes
    ----------
    joint : int
        Number of the joint among those with a coordinate, from 0.
    q, dq, ddq
        Position, velocity, acceleration; of the motor for a motor-side term.
    sign
        Sign of the velocity, 0 inside the model's velocity dead band.
    load
        Torque that the links, with their nominal parameters, ask of the joint [N.m]; zero unless the term is `loaded`.
    signal
        The measured torque, or current times nominal gain [N.m].
    memory
        States of a term that remembers, one column; empty for others.
    """

    joint: int
    q: ca.SX
    dq: ca.SX
    ddq: ca.SX
    sign: ca.SX
    load: ca.SX
    signal: ca.SX
    memory: ca.SX = ca.SX(0, 1)


@dataclass(frozen=True)
class JointTerm:
    """A torque ``parameter * column(signals)`` at joints or motors.

    Attributes
    ----------
    name : str
        What a user writes.
    symbol : str
        Prefix of the parameter's name: ``fv`` gives ``fv1 ... fv<n>``.
    group : str
        ``friction``, ``rotor``, ``asymmetric_coulomb``, ``gravity_spring``, ``drive``, ... or a user's own.
    unit : str
        Unit of the parameter at a revolute joint.
    doc : str
        One line for tables and help.
    column : callable
        ``(JointSignals) -> SX`` (scalar).
    side : {"joint", "motor"}
        Motor-side torques reach the joints through the transmission.
    nonnegative : bool
        Whether physics forbids a negative value (Sousa 2014, Sec. 2.6.2).
    joints : tuple of str, optional
        Names of the joints that have it; all by default.
    loaded : bool
        Whether the column uses the load.
    nominal : tuple of float, optional
        Standard parameters of the links whose torque is the load, shape (10 links,); default: the robot's nominal ones.
    memory : callable, optional
        From the index of a joint's coordinate to what the term remembers there, or ``None``.
    """

    name: str
    symbol: str
    group: str
    unit: str
    doc: str
    column: Callable[[JointSignals], ca.SX]
    side: Side = "joint"
    nonnegative: bool = False
    joints: tuple[str, ...] | None = None
    loaded: bool = False
    nominal: tuple[float, ...] | None = None
    memory: Callable[[int], Memory | None] | None = None

    def on(self, *joints: str) -> JointTerm:
        """The same term at the named joints only."""
        return replace(self, joints=joints)

    def remembered(self, coordinate: int) -> Memory | None:
        """What the term remembers at a joint, given by the index of its coordinate."""
        return None if self.memory is None else self.memory(coordinate)

    def settled(self) -> JointTerm:
        """The term without memory: its column as it is after a long way at the present velocity."""
        return self if self.memory is None else replace(self, column=_Settled(self), memory=None)


@dataclass(frozen=True)
class _Settled:
    term: JointTerm

    def __call__(self, signals: JointSignals) -> ca.SX:
        kept = self.term.remembered(signals.joint)
        if kept is None:
            return self.term.column(signals)
        return self.term.column(signals._replace(memory=kept.settled(signals.dq, signals.sign)))


def _friction(side: Side) -> tuple[JointTerm, JointTerm, JointTerm]:
    prefix, suffix, where = ("", "", "joint") if side == "joint" else ("motor_", "m", "motor")
    return (
        JointTerm(
            f"{prefix}viscous",
            f"fv{suffix}",
            "friction",
            "N.m.s/rad",
            f"viscous friction of the {where}: fv dq",
            lambda s: s.dq,
            side,
            nonnegative=True,
        ),
        JointTerm(
            f"{prefix}coulomb",
            f"fc{suffix}",
            "friction",
            "N.m",
            f"Coulomb friction of the {where}: fc sign(dq)",
            lambda s: s.sign,
            side,
            nonnegative=True,
        ),
        JointTerm(
            f"{prefix}offset",
            f"fo{suffix}",
            "friction",
            "N.m",
            f"constant torque of the {where}: asymmetry of Coulomb friction, sensor or current offset",
            lambda s: ca.SX(1),
            side,
        ),
    )


_ALL = (
    *_friction("joint"),
    *_friction("motor"),
    JointTerm(
        "rotor", "Ia", "rotor", "kg.m^2", "rotor inertia seen at the joint: Ia ddq", lambda s: s.ddq, nonnegative=True
    ),
    JointTerm(
        "motor_rotor",
        "Iam",
        "rotor",
        "kg.m^2",
        "rotor inertia of the motor, through the transmission: T Iam T' ddq",
        lambda s: s.ddq,
        "motor",
        nonnegative=True,
    ),
    JointTerm(
        "coulomb_positive",
        "fcp",
        "asymmetric_coulomb",
        "N.m",
        "Coulomb friction while dq > 0",
        lambda s: (s.sign * s.sign + s.sign) / 2,
        nonnegative=True,
    ),
    JointTerm(
        "coulomb_negative",
        "fcn",
        "asymmetric_coulomb",
        "N.m",
        "Coulomb friction while dq < 0: -fcn",
        lambda s: (s.sign - s.sign * s.sign) / 2,
        nonnegative=True,
    ),
    JointTerm(
        "sqrt_viscous",
        "fq",
        "friction",
        "N.m.(s/rad)^0.5",
        "friction that flattens with speed: fq sqrt(|dq|) sign(dq)",
        lambda s: ca.sqrt(ca.fabs(s.dq)) * ca.sign(s.dq),
    ),
    JointTerm(
        "cubic_viscous",
        "f3",
        "friction",
        "N.m.(s/rad)^3",
        "friction that grows or fades with speed: f3 dq^3",
        lambda s: s.dq**3,
    ),
    JointTerm(
        "load_friction",
        "fl",
        "friction",
        "-",
        "Coulomb friction that grows with the load: fl |tau_nominal| sign(dq)",
        lambda s: ca.fabs(s.load) * s.sign,
        nonnegative=True,
        loaded=True,
    ),
    JointTerm("spring", "ks", "elastic", "N.m/rad", "torsional spring: ks q", lambda s: s.q),
    JointTerm(
        "spring_sine", "kss", "gravity_spring", "N.m", "gravity-compensation spring: kss sin(q)", lambda s: ca.sin(s.q)
    ),
    JointTerm(
        "spring_cosine",
        "ksc",
        "gravity_spring",
        "N.m",
        "gravity-compensation spring: ksc cos(q)",
        lambda s: ca.cos(s.q),
    ),
    JointTerm(
        "drive_gain",
        "kg",
        "drive",
        "-",
        "relative error of the drive gain: true torque = (1 + kg) signal; leave one joint without it, or bound the "
        "masses",
        lambda s: -s.signal,
    ),
)

#: The known terms, in the order in which their parameters follow a link's ten.
JOINT_TERMS: dict[str, JointTerm] = {term.name: term for term in _ALL}


def joint_terms(names: Sequence[str | JointTerm], joints: Sequence[str]) -> tuple[JointTerm, ...]:
    """The terms that a user names.

    Parameters
    ----------
    names
        Names of `JOINT_TERMS`, of one of their groups but ``friction`` and ``rotor`` (``asymmetric_coulomb``, ...),
        either at a single joint only (``"drive_gain@joint2"``), or `JointTerm` objects of the user's own.
    joints
        The robot's joint names.

    Returns
    -------
    tuple of JointTerm
        Without repetition: known terms in the order of `JOINT_TERMS`, then the user's own.

    Raises
    ------
    RobotError
        For an unknown name or joint, and two terms with the same symbol.
    """
    groups = {term.group for term in _ALL} - {"friction", "rotor"}
    known = [*JOINT_TERMS, *sorted(groups)]
    chosen: dict[str, JointTerm] = {}
    for item in names:
        if isinstance(item, JointTerm):
            members, where = [item], item.joints
        else:
            name, _, joint = item.partition("@")
            members = [term for term in _ALL if name == term.name or (name == term.group and name in groups)]
            where = (joint,) if joint else None
            if not members:
                raise RobotError(f"unknown joint term '{name}'{near(name, known)}; known: {', '.join(known)}")
        for joint in where or ():
            if joint not in joints:
                raise RobotError(
                    f"joint term '{members[0].name}': the robot has no joint '{joint}'; it has {', '.join(joints)}"
                )
        for term in members:
            earlier = chosen.get(term.name)
            if earlier is not None and earlier.joints is not None and where is not None:
                where = tuple(dict.fromkeys(earlier.joints + where))
            elif earlier is not None:
                where = None
            chosen[term.name] = replace(term, joints=where)
    order = [*JOINT_TERMS, *(name for name in chosen if name not in JOINT_TERMS)]
    terms = tuple(chosen[name] for name in order if name in chosen)
    symbols = [term.symbol for term in terms]
    twice = sorted({symbol for symbol in symbols if symbols.count(symbol) > 1})
    if twice:
        raise RobotError(f"two joint terms have the symbol '{twice[0]}'; give each its own")
    return terms


def terms_of(names: Iterable[str], joints: Sequence[str]) -> tuple[str, ...]:
    """Joint terms whose parameters have these names, each at the joints that are named: ``fv2`` is ``viscous@<joint>``.

    Parameters
    ----------
    names
        Of parameters, e.g. `casid.Parameters.terms`.
    joints
        The robot's joint names.

    Raises
    ------
    RobotError
        For a name that is no known term's, or of a joint that the robot does not have.
    """
    found = []
    for name in names:
        matches = [t for t in _ALL if name.startswith(t.symbol) and name[len(t.symbol) :].isdecimal()]
        if not matches:
            raise RobotError(
                f"parameter '{name}' belongs to no known joint term; known symbols: "
                f"{', '.join(term.symbol for term in _ALL)}"
            )
        term = max(matches, key=lambda term: len(term.symbol))
        number = name[len(term.symbol) :]
        if number.startswith("0") or len(number) > 5 or int(number) > len(joints):
            raise RobotError(f"parameter '{name}': the robot has {len(joints)} joints")
        found.append(f"{term.name}@{joints[int(number) - 1]}")
    return tuple(found)
