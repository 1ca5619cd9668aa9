"""What is known of the servos and of the robot, and what is to be found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, NamedTuple

import numpy as np

from casid.description.joint_parameters import COULOMB, LOAD, OFFSET, ROTOR, STRIBECK, VISCOUS, JointParameter
from casid.dynamics.terms import SPEED
from casid.errors import DatasetError
from casid.files import finite_number, listed, near, shown


class Quantity(NamedTuple):
    """What an attribute of `Servo` means.

    Attributes
    ----------
    kind : str
        Name in the compiled step; of a joint term, its symbol in the catalogue of joint parameters.
    unit : str
        Of its values at a revolute joint, for tables.
    lower, upper : float
        Bounds where the user gives none [SI].
    typical : float
        Value where nothing is known.
    weak : float
        Deviation of a weak prior where nothing is known; 0: a multiple of the value.
    """

    kind: str
    unit: str
    lower: float
    upper: float
    typical: float = 0.0
    weak: float = 0.0

    @property
    def signed(self) -> bool:
        """Whether values of either sign are as likely."""
        return self.lower == -self.upper


def _term(parameter: JointParameter, lower: float, upper: float, typical: float = 0.0, weak: float = 0.0) -> Quantity:
    return Quantity(parameter.symbol, parameter.unit.strip("-"), lower, upper, typical, weak)


#: Attribute of `Servo` -> what it means, in the order of the compiled code. ``bias`` is added to the command, ``limit``
#: is that of the servo's torque, ``duty`` the error times gain setting at which a voltage servo is fully on, ``emf``
#: the damping of its motor, ``scale`` a factor of the joint's body.
QUANTITIES: Mapping[str, Quantity] = {
    "kp": Quantity("kp", "N.m/rad", 1e-3, 1e5, 10.0),
    "kd": Quantity("kd", "N.m.s/rad", 0.0, 1e4),
    "armature": _term(ROTOR, 1e-6, 1e3, 0.01),
    "viscous": _term(VISCOUS, 0.0, 1e4, 0.1),
    "coulomb": _term(COULOMB, 0.0, 1e3, 0.1),
    "bias": Quantity("bias", "rad", -0.3, 0.3, 0.0, 0.1),
    "limit": Quantity("limit", "N.m", 1e-3, 1e6),
    "offset": _term(OFFSET, -1e3, 1e3),
    "delay": Quantity("delay", "s", 0.0, 0.25, 0.0, 0.05),
    "scale": Quantity("scale", "", 0.3, 3.0, 1.0),
    "duty": Quantity("duty", "rad", 1e-6, 1e9),
    "back_emf": Quantity("emf", VISCOUS.unit, 0.0, 1e4),
    "load_friction": _term(LOAD, 0.0, 2.0, 0.05, 0.5),
    "stribeck": _term(STRIBECK, 0.0, 1e3, 0.02),
    "stribeck_speed": Quantity("vs", SPEED.unit, 1e-3, 10.0, 0.1),
    "stiffness": Quantity("kj", "N.m/rad", 0.1, 1e7, 100.0),
    "joint_damping": Quantity("dj", VISCOUS.unit, 0.0, 1e3, 0.05),
    "backlash": Quantity("gap", "rad", 0.0, 0.5, 0.01, 0.1),
    "warm_up": Quantity("warm", "", -0.9, 10.0, 0.1, 1.0),
    "warm_time": Quantity("tw", "s", 1.0, 1e5, 60.0),
    "bristle_stiffness": Quantity("bristle", "N.m/rad", 0.01, 1e7, 10.0),
    "bristle_damping": Quantity("micro", VISCOUS.unit, 0.0, 1e3),
    "viscous_asymmetry": Quantity("fva", VISCOUS.unit, -1e4, 1e4),
    "offset_drift": Quantity("fod", "N.m/s", -1e2, 1e2),
    "ki": Quantity("ki", "N.m/(rad.s)", 0.0, 1e5, 1.0),
    "tilt_x": Quantity("tilt_x", "rad", -0.5, 0.5, 0.0, 0.1),
    "tilt_y": Quantity("tilt_y", "rad", -0.5, 0.5, 0.0, 0.1),
}
#: Attributes that all joints share: one value, and no row of them.
SHARED = ("tilt_x", "tilt_y")
#: Attributes that servos of one kind share: of motor, gear ratio and firmware, not of what wears or carries the link.
OF_KIND = ("kp", "kd", "ki", "armature", "limit", "duty", "back_emf")
#: A stiffness beyond is that of a rigid joint, or of friction without memory [N.m/rad].
STIFF = QUANTITIES["stiffness"].upper
#: A torque limit beyond is none [N.m].
UNLIMITED = QUANTITIES["limit"].upper
#: Terms that joints of simulators do not have, in words.
TERMS_WITHOUT_PLACE: Mapping[str, str] = {
    "load_friction": "friction that grows with load",
    "stribeck": "friction that falls with speed",
    "warm_up": "friction of drives that are not warm",
    "ki": "the servo's integral",
    "viscous_asymmetry": "viscous friction that differs by direction",
    "offset_drift": "the drift of constant torques",
    "bristle_stiffness": "friction with memory",
}
#: Attributes that may be infinite: no limit, a rigid joint, exact stick.
_INFINITE = ("limit", "duty", "stiffness", "bristle_stiffness")
#: Units by attribute, for tables.
UNITS = {attribute: quantity.unit for attribute, quantity in QUANTITIES.items()}
#: What a joint's servo and drive are described by, in the order of the compiled code.
KINDS = tuple(quantity.kind for quantity in QUANTITIES.values())


@dataclass(frozen=True)
class Unknown:
    """A value that is to be found.

    Attributes
    ----------
    value, sd : float, optional
        Prior, Gaussian: mean and standard deviation; without ``sd`` the value is a start only.
    lower, upper : float, optional
        Bounds; default: those of the kind.

    Raises
    ------
    DatasetError
        If bounds cross, ``sd`` is not positive, or the value is outside its bounds.
    """

    value: float | None = None
    sd: float = np.inf
    lower: float | None = None
    upper: float | None = None

    def __post_init__(self) -> None:
        lower = -np.inf if self.lower is None else self.lower
        upper = np.inf if self.upper is None else self.upper
        if not lower < upper:
            raise DatasetError(f"unknown value: the bounds {lower:g} and {upper:g} leave nothing between them")
        if not self.sd > 0:
            raise DatasetError(f"unknown value: the standard deviation must be positive, got {self.sd:g}")
        if self.value is not None and not lower <= self.value <= upper:
            raise DatasetError(f"unknown value: {self.value:g} is not between {lower:g} and {upper:g}")


#: To be found, nothing known.
FREE = Unknown()
Value = float | Unknown | Sequence[float | Unknown]


#: Attributes of `Servo` that are words, and those words.
_WORDS = {"hold": ("zero-order", "linear"), "links": ("nominal", "scaled"), "encoder": ("link", "drive")}


@dataclass(frozen=True)
class Servo:
    """Position servos and drives of all joints; a value is known (a number) or an `Unknown`, or there is one a joint.

    The drive law of joint j, with the gain setting e of the recording (0 while it is off)::

        tau = clip(kp clip(e (q_des(t - delay) + bias - q), -duty, duty) + w - e kd dq - back_emf dq, -limit, limit)
        w' = ki clip(e (q_des(t - delay) + bias - q), -duty, duty)

    Attributes
    ----------
    kp, kd
        Gains [N.m/rad, N.m.s/rad] at gain setting 1. Where the servo is always on and has one setting, kd and viscous
        friction have the same effect: leave kd at its known value or 0, and ``viscous`` holds the rest.
    ki
        Integral gain [N.m/(rad.s)]. The integral begins as what holds the first sample of a piece, stands still while
        the torque is limited, and is zero while the servo is off.
    armature, viscous, coulomb, offset
        Of the drive train: rotor inertia [kg.m^2], friction [N.m.s/rad, N.m], constant torque [N.m].
    duty, back_emf
        Of servos that set a voltage: the error times gain setting at which it is fully on [rad], known, and the
        damping of the motor while it is on [N.m.s/rad].
    load_friction, stribeck, stribeck_speed
        Dry friction for each N.m of the links' weight and Coriolis torque; dry friction that vanishes with speed, and
        that speed: ``coulomb + load_friction |load| + stribeck exp(-(dq / stribeck_speed)^2)``.
    viscous_asymmetry
        Half the difference of viscous friction between the directions, ``(viscous + viscous_asymmetry sign(dq)) dq``,
        never below zero. Dry friction that differs by direction, ``fcp`` for dq > 0 and ``fcn`` for dq < 0, is the
        same as ``coulomb = (fcp + fcn) / 2`` with ``offset = (fcp - fcn) / 2``.
    offset_drift
        Change of the constant torque with the recording's clock [N.m/s], ``offset + offset_drift t``, as that of an
        amplifier's zero.
    stiffness, joint_damping, backlash
        Between drive and link: the torque ``y = stiffness (q_drive - q) + joint_damping (dq_drive - dq)`` passes a dead
        zone of ``+- stiffness backlash / 2``, ``backlash`` [rad] being the whole play. An infinite stiffness is a rigid
        joint whose play ends in contact without rebound. Friction, armature and back-EMF are the drive's.
    encoder
        ``"link"``: encoders, and the servo's law, are at the output; ``"drive"``: before the elastic gear. ``kd`` acts
        on the drive's speed always.
    warm_up, warm_time
        Viscous and dry friction are ``1 + warm_up exp(-t / warm_time)`` times their values warm; t: the recording's
        clock, 0 at the start of the machine.
    bristle_stiffness, bristle_damping
        Of dry friction with memory (LuGre, Canudas de Wit et al. 1995): before it slides a joint is held by a spring
        and a damper [N.m/rad, N.m.s/rad], ``w' = bristle_stiffness (dq - |dq| w / f)``, f being the dry friction of
        sliding; its torque is ``w + bristle_damping (1 - sign(dq) w / f) dq``. Infinite: exact stick.
    tilt_x, tilt_y
        Tilt of the base about its x and y axis (right hand; where gravity is not along z: about the two base axes least
        along it, made perpendicular to it); tangents of the angles.
    bias
        Command offset [rad].
    limit
        Largest torque [N.m].
    delay
        From command to effect [s], never negative; one for all joints unless a sequence is given.
    hold
        ``"zero-order"``: a command acts until the next one; ``"linear"``: commands are interpolated.
    links
        ``"nominal"``: bodies as described; ``"scaled"``: one factor of each body is found, see `scale`.
    scale
        Factors of the bodies, with ``links="scaled"``.
    same
        Groups of joints, by name, whose servos are of one kind: they share kp, kd, ki, armature, limit, duty and
        back-EMF; friction, offsets and play stay those of each joint.
    """

    kp: Value = FREE
    kd: Value = 0.0
    armature: Value = FREE
    viscous: Value = FREE
    coulomb: Value = FREE
    bias: Value = FREE
    limit: Value = np.inf
    offset: Value = 0.0
    delay: Value = FREE
    hold: Literal["zero-order", "linear"] = "zero-order"
    links: Literal["nominal", "scaled"] = "nominal"
    duty: float | Sequence[float] = np.inf
    back_emf: Value = 0.0
    load_friction: Value = 0.0
    stribeck: Value = 0.0
    stribeck_speed: Value = 0.1
    stiffness: Value = np.inf
    joint_damping: Value = 0.0
    backlash: Value = 0.0
    encoder: Literal["link", "drive"] = "link"
    warm_up: Value = 0.0
    warm_time: Value = 60.0
    bristle_stiffness: Value = np.inf
    bristle_damping: Value = 0.0
    viscous_asymmetry: Value = 0.0
    offset_drift: Value = 0.0
    ki: Value = 0.0
    tilt_x: float | Unknown = 0.0
    tilt_y: float | Unknown = 0.0
    scale: Value = Unknown(1.0, 0.2, 0.3, 3.0)
    same: Sequence[Sequence[str]] = ()

    def __post_init__(self) -> None:
        for name, words in _WORDS.items():
            if getattr(self, name) not in words:
                raise DatasetError(f"servo: {name} is {listed(words)}; got {getattr(self, name)!r}")

    def of(self, attribute: str, n: int) -> list[float | Unknown]:
        """One value a joint.

        Raises
        ------
        DatasetError
            If there are as many values neither as joints nor one, or a known value is impossible.
        """
        given = getattr(self, attribute)
        if attribute == "scale" and self.links == "nominal":
            given = 1.0
        many = not isinstance(given, (Unknown, int, float)) and np.ndim(given) > 0
        values = [v if isinstance(v, Unknown) else float(v) for v in given] if many else [given] * n
        if many and attribute in SHARED:
            raise DatasetError(f"servo: {attribute} is one value, not one a joint")
        if len(values) != n:
            raise DatasetError(f"servo: {attribute} has {len(values)} values for {n} joints")
        lower, upper = QUANTITIES[attribute].lower, QUANTITIES[attribute].upper
        for k, value in enumerate(values):
            if isinstance(value, Unknown):
                if attribute == "delay" and value.lower is not None and value.lower < 0.0:
                    raise DatasetError(f"servo: delay of joint {k + 1} has a negative lower bound: leave it out")
                continue
            zero = attribute in ("kp", "armature") and value == 0.0
            if np.isnan(value) or value < (0.0 if zero else lower) or (value > upper and attribute not in _INFINITE):
                raise DatasetError(
                    f"servo: {attribute} of joint {k + 1} is {value:g}; expected {lower:g} to {upper:g}, or "
                    "leave it unknown"
                )
        return values

    def sprung(self, n: int) -> bool:
        """Whether drives and links move apart: an elastic joint, or one with backlash."""
        return any(v != np.inf for v in self.of("stiffness", n)) or any(v != 0.0 for v in self.of("backlash", n))

    def sharing(self, attribute: str, names: Sequence[str]) -> list[tuple[int, ...]]:
        """Groups of joints that have one value of an attribute; every joint is in one.

        Parameters
        ----------
        names
            Of all joints.

        Raises
        ------
        DatasetError
            If `same` names a joint that is none, or one twice.
        """
        if self.whole(attribute):
            return [tuple(range(len(names)))]
        given = [name for group in self.same for name in group]
        for name in given:
            if name not in names:
                raise DatasetError(
                    f"servo: same has no joint {shown(name)}{near(name, names)} (joints: {listed(names)})"
                )
            if given.count(name) > 1:
                raise DatasetError(f"servo: same has joint {shown(name)} twice")
        first = {names.index(name): names.index(group[0]) for group in self.same for name in group}
        head = [first.get(k, k) if attribute in OF_KIND else k for k in range(len(names))]
        return [tuple(k for k, h in enumerate(head) if h == one) for one in dict.fromkeys(head)]

    def whole(self, attribute: str) -> bool:
        """Whether an attribute is one value of the whole robot: the tilt of its base, or one delay."""
        return attribute in SHARED or (attribute == "delay" and isinstance(self.delay, (Unknown, int, float)))


def servo_from(tables: Mapping[str, Any], where: str) -> Servo:
    """Servo from the tables ``[servo]`` and ``[unknown]`` and the key ``links`` of a recording's TOML.

    A number is a known value, ``"free"`` an unknown one, ``{ value, sd, lower, upper }`` an unknown with a prior; a row
    of these has one a joint.

    Raises
    ------
    DatasetError
        Naming file, table and key.
    """
    known = [f.name for f in fields(Servo) if f.name != "links"]
    made: dict[str, Any] = {}
    for title in ("servo", "unknown"):
        table = tables.get(title, {})
        if not isinstance(table, Mapping):
            raise DatasetError(f"{where}: '{title}' must be a table")
        for key, value in table.items():
            if title == "servo" and key in ("enabled", "gain", "torque"):  # columns, see `read_commands`
                continue
            if key not in known:
                raise DatasetError(
                    f"{where}: [{title}] has no key {shown(key)}{near(key, known)} (keys: {listed(known)})"
                )
            if key in made:
                raise DatasetError(f"{where}: {key} stands in [servo] and in [unknown]; leave one out")
            if key == "same":
                made[key] = _groups(value, f"{where}: [{title}] same")
            else:
                made[key] = value if key in _WORDS else _value(value, f"{where}: [{title}] {key}")
    if "links" in tables:
        made["links"] = tables["links"]
    try:
        return Servo(**made)
    except DatasetError as error:
        raise DatasetError(f"{where}: {error.message}") from None


def _groups(value: Any, where: str) -> list[list[str]]:
    """Groups of joint names."""
    groups = value if isinstance(value, list) else [value]
    if not all(isinstance(group, list) and group and all(isinstance(name, str) for name in group) for group in groups):
        raise DatasetError(
            f'{where}: expected groups of joints such as [["j1", "j2"], ["j3", "j4"]], got {shown(value)}'
        )
    return groups


def _value(value: Any, where: str) -> Value:
    """A known value, an unknown one with its prior, or a row of these."""
    return [_one(v, where) for v in value] if isinstance(value, list) else _one(value, where)


def _one(value: Any, where: str) -> float | Unknown:
    if value == "free":
        return FREE
    if isinstance(value, Mapping):
        keys = ("value", "sd", "lower", "upper")
        for key, number in value.items():
            if key not in keys:
                raise DatasetError(f"{where}: expected numbers {listed(keys)}, got {shown(key)} = {shown(number)}")
        return Unknown(**{
            key: number if key in ("lower", "upper") and number in (-np.inf, np.inf)
            else finite_number(number, f"{where}: {key}", DatasetError)
            for key, number in value.items()
        })  # fmt: skip
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise DatasetError(f'{where}: expected a number, "free" or {{ value, sd, lower, upper }}, got {shown(value)}')
    return finite_number(value, where, DatasetError)
