"""casid's own robot files (TOML, ``schema = 1``): read, written, and edited in place (comments and order kept).

A file describes the machine in SI units and names the source of every number::

    schema = 1
    name = "example"
    convention = "modified-dh"            # "modified-dh" | "standard-dh" | "placement"
    gravity = [0.0, 0.0, -9.80665]        # m/s^2, base frame; this is the default
    total_mass = [16.0, 20.0]             # kg, bounds on the sum of the moving links' masses
    base = "base"                         # name of the base link; this is the default. Or a table, see below
    transmission = [[1, 0], [0, 1]]       # T, n x n: tau = T tau_m, dq_m = T' dq; default: a motor for each joint

    [source]                              # may be left out; the robots that ship with casid must have it
    licence = "BSD-3-Clause"              # any text; robots shipped with casid: an SPDX expression
    kinematics = "who, where, when"       # citations, under any key

    [[joint]]
    name = "joint1"                       # default: joint<number>
    type = "revolute"                     # "revolute" | "prismatic" | "fixed"
    parent = "base"                       # a link; default: the link of the joint before
    mdh = { a = 0.0, alpha_deg = 0, d = 0.333, theta_deg = 0 }    # or the row [a, alpha_deg, d, theta_deg]
    limits = { lower = -2.9, upper = 2.9, velocity = 2.2, acceleration = 15, jerk = 7500, effort = 87 }

    mimic = { joint = "joint0", multiplier = 1.0, offset = 0.0 }    # q = multiplier q_joint + offset: no coordinate
    terms = { fv = 0.5, fc = 0.2, Ia = 0.01 }   # nominal parameters of joint terms by symbol: friction, rotor inertia
    # the shape of a friction law is a table in it: { fc = 0.2, fs = 0.1, stribeck = { width = 0.02, speed = 0.1 } }

    [joint.link]
    name = "link1"                        # default: link<number>
    mass = 2.0                            # nominal inertial values: all three or none
    com = [0.0, 0.0, 0.1]
    inertia_com = [0.02, 0, 0, 0.02, 0, 0.01]             # xx xy xz yy yz zz about the centre of mass
    # or: mass, first_moment = [lx, ly, lz], inertia = [xx, xy, xz, yy, yz, zz] about the link-frame origin
    bounds = { mass = [0, 10], com = [[-0.1, 0.1], [-0.1, 0.1], [0, 0.2]] }     # and inertia_com, six rows

    [[frame]]
    name = "flange"
    link = "link1"                        # default: the last joint's link
    xyz = [0.0, 0.0, 0.107]
    rpy_deg = [0, 0, 45]                  # or rpy, radians; default none

    [[capsule]]                           # body for collision checks; any number a link
    link = "link1"                        # a link, or the base
    start = [0.0, 0.0, 0.0]               # ends of its segment, link frame, m; without end: a sphere
    end = [0.0, 0.0, 0.2]
    radius = 0.06                         # m

    [base]                                # instead of base = "...", with the base's body (no influence on the dynamics)
    name = "base"
    mass = 3.0
    com = [0.0, 0.0, 0.05]
    inertia_com = [0.01, 0, 0, 0.01, 0, 0.01]

    [identified]                          # where an identified robot comes from; nothing of it is computed with, and it
                                          # is left out where bodies or terms change. See `identified_record`

In ``modified-dh`` files the row ``mdh`` places a joint, in ``standard-dh`` files ``dh``, in ``placement`` files
``xyz``, ``rpy`` (or ``rpy_deg``) and ``axis`` (default z), and where the link frame is not the moved joint frame,
``link_xyz`` and ``link_rpy`` place it there. Fixed joints may use ``xyz`` and ``rpy`` in any file. Every
angle may be given in degrees (key ``..._deg``) or radians. For a prismatic joint ``d`` is the offset of q, for a
revolute one ``theta``.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from casid.arrays import Array
from casid.description._document import Description, JointLimits, MimicRule, RawCapsule, RawFrame, RawJoint
from casid.description._placement import angle_notes, degrees_slip, modified_dh, rpy_of, standard_dh, unit_axis, xyz_rpy
from casid.description._robot import Inertial, Link, LinkBounds
from casid.description.formats._contract import FEATURES, Changes, Format, Reading
from casid.description.joint_parameters import JOINT_PARAMETERS, SHAPES, joint_parameter, nested, shape_fault
from casid.errors import RobotError, RobotWarning
from casid.files import Table as AnyTable
from casid.files import decode, parse_toml, shown
from casid.inertia import tensor, tensor_entries

# ------------------------------------------------------------------ tables


class Table(AnyTable):
    """One table of a robot file; it raises `RobotError`."""

    error = RobotError

    def joint_terms(self) -> dict[str, float]:
        """Values of the key ``terms`` by the symbols of the catalogue of joint parameters; empty without the key."""
        given = self.data.get("terms")
        known = [symbol for symbol, entry in JOINT_PARAMETERS.items() if not entry.family] + list(SHAPES)
        if isinstance(given, dict):
            known += [symbol for symbol in given if symbol not in known and joint_parameter(symbol) is not None]
        table = self.table("terms", known)
        if table is None:
            return {}
        found: dict[str, float] = {}
        for symbol in table.data:
            group = table.table(symbol, SHAPES[symbol]) if symbol in SHAPES else None
            if group is None:
                found[symbol] = table.number(symbol)
            else:
                found |= {f"{symbol}.{name}": group.number(name) for name in group.data}
        fault = shape_fault(found)
        if fault:
            table.fail(fault)
        return found


def inertial(table: Table) -> Inertial | None:
    """The body, about the centre of mass or about the origin; None where the table gives none."""
    six = "xx, xy, xz, yy, yz, zz"
    keys = ("mass", "com", "inertia_com", "first_moment", "inertia")
    if not any(key in table for key in keys):
        return None
    about_origin = "first_moment" in table or "inertia" in table
    if about_origin and ("com" in table or "inertia_com" in table):
        table.fail("give either 'com' and 'inertia_com' (centre of mass) or 'first_moment' and 'inertia' (origin)")
    if about_origin:
        table.require("mass", "first_moment", "inertia")
        inertia = table.array("inertia", (6,), entries=six)
        moment = table.array("first_moment", (3,), entries="lx, ly, lz")
        mass = table.number("mass")
        if mass == 0.0 and moment.any():
            table.fail("key 'first_moment': must be zero where the mass is zero")
        return Inertial.of(np.concatenate([inertia, moment, [mass]]))
    table.require("mass", "com", "inertia_com")
    com = table.array("com", (3,), entries="x, y, z")
    return Inertial(table.number("mass"), com, tensor(table.array("inertia_com", (6,), entries=six)))


def bounds_of(table: Table) -> LinkBounds:
    """A table ``bounds``; what it leaves out is free."""
    free = LinkBounds()
    com = table.array("com", (3, 2), free.com.tolist(), entries="[lower, upper] of x, y, z", infinite=True)
    six = "[lower, upper] of xx, xy, xz, yy, yz, zz"
    inertia = table.array("inertia_com", (6, 2), free.inertia_com.tolist(), entries=six, infinite=True)
    try:
        return LinkBounds(np.array(table.interval("mass", (0.0, np.inf))), com, inertia)
    except RobotError as error:
        table.fail(str(error))


def read_capsules(file: Table) -> tuple[RawCapsule, ...]:
    """The ``[[capsule]]`` tables of a robot file; RobotError naming the file, the table and the key."""
    found = []
    for number, data in enumerate(file.tables("capsule"), start=1):
        table = Table(data, f"{file.where}: capsule {number}", ("name", "link", "start", "end", "radius"))
        table.require("link", "start", "radius")
        link = table.text("link")
        start = table.array("start", (3,), entries="x, y, z")
        end = table.array("end", (3,), start.tolist(), entries="x, y, z")
        found.append(RawCapsule(table.text("name", link), link, start, end, table.number("radius")))
    return tuple(found)


# ------------------------------------------------------------------ reader

#: Convention -> key of the Denavit-Hartenberg row of a joint.
_ROW = {"modified-dh": "mdh", "standard-dh": "dh", "placement": None}
_ROW_ENTRIES = "a, alpha_deg, d, theta_deg"
_LIMITS = ("lower", "lower_deg", "upper", "upper_deg", "velocity", "velocity_deg", "acceleration", "jerk", "effort")


class Toml(Format):
    """casid's own files."""

    name = "TOML"
    suffixes = (".toml",)
    holds = FEATURES
    terms = frozenset(JOINT_PARAMETERS)

    def read(self, content: bytes, reading: Reading) -> Description:
        """See `Format.read`."""
        data = parse_toml(decode(content, reading.where, "robot file", RobotError), reading.where, RobotError)
        keys = (
            "schema", "name", "convention", "gravity", "total_mass", "base", "source", "joint", "frame", "transmission",
            "capsule", "identified",
        )  # fmt: skip
        file = Table(data, reading.where, keys)
        file.require("schema", "name", "convention")
        if data["schema"] != 1:
            file.fail(f"key 'schema': this version of casid reads schema 1, got {shown(data['schema'])}")
        base = _base(file)
        reader = _Reader(reading.where, file.choice("convention", _ROW), reading.angle_tolerance)
        joints: list[RawJoint] = []
        for number, entry in enumerate(file.tables("joint"), start=1):
            joints.append(reader.joint(entry, number, joints[-1].link.name if joints else base.name))
        last = joints[-1].link.name if joints else base.name
        frames = [reader.frame(entry, number, last) for number, entry in enumerate(file.tables("frame"), start=1)]
        moving = [joint.name for joint in joints if joint.type != "fixed" and joint.mimic is None]
        return Description(
            file.text("name"),
            reading.where,
            base,
            tuple(joints),
            frames=tuple(frames),
            gravity=file.array("gravity", (3,)) if "gravity" in data else None,
            total_mass=file.interval("total_mass", (0.0, np.inf)),
            source=_source(file),
            transmission=file.array("transmission", (len(moving),) * 2) if "transmission" in data else None,
            capsules=read_capsules(file),
            notes=tuple(angle_notes(reader.angles, reader.tolerance)),
            format=Toml.name,
            content=content,
        )

    def write(self, description: Description) -> bytes:
        """A new file in the convention ``placement``; see `Format.write`."""
        head: dict[str, Any] = {"schema": 1, "name": description.name, "convention": "placement"}
        if description.gravity is not None:
            head["gravity"] = description.gravity
        if description.total_mass != (0.0, math.inf):
            head["total_mass"] = description.total_mass
        if description.base.inertial is None:
            head["base"] = description.base.name
        if description.transmission is not None:
            head["transmission"] = description.transmission
        blocks = [assignments(head)]
        if description.source:
            blocks.append(["[source]", *assignments(description.source)])
        if description.base.inertial is not None:
            body = {"name": description.base.name, **inertial_values(description.base.inertial)}
            blocks.append(["[base]", *assignments(body)])
        for joint in description.joints:
            blocks += _joint(joint)
        for frame in description.frames:
            values = {"name": frame.name, "link": frame.link, **_placed(frame.placement, "xyz", "rpy")}
            blocks.append(["[[frame]]", *assignments(values)])
        return joined([*blocks, *capsule_blocks(map(vars, description.capsules))]).encode()

    def holds_term(self, symbol: str) -> bool:
        """Every symbol of the catalogue of joint parameters, families included."""
        return joint_parameter(symbol) is not None

    def edit(self, content: bytes, changes: Changes, where: str) -> bytes:
        """Comments, order and everything else stay; see `Format.edit`."""
        import tomlkit  # slow to import

        document = tomlkit.parse(content.decode("utf-8"))
        if changes.inertials or changes.terms:
            document.pop("identified", None)  # it is about other numbers
        entries = document.get("joint", [])
        for number, joint in enumerate(entries, start=1):
            name = str(joint.get("name", f"joint{number}"))
            link = joint.get("link")
            link_name = f"link{number}" if link is None else str(link.get("name", f"link{number}"))
            if link_name in changes.inertials:
                if link is None:
                    joint["link"] = link = tomlkit.table()
                _set_body(link, changes.inertials[link_name])
            if name in changes.terms:
                terms = tomlkit.inline_table()
                terms.update(nested(changes.terms[name]))
                if terms:
                    _put(joint, "terms", terms)
                else:
                    joint.pop("terms", None)
        base = document.get("base")
        if isinstance(base, tomlkit.items.Table) and str(base.get("name", "base")) in changes.inertials:
            _set_body(base, changes.inertials[str(base.get("name", "base"))])
        result = tomlkit.dumps(document)
        if "\x00" in result:
            raise RobotError(f"{where}: cannot be written as TOML: it would hold a NUL character")
        return result.encode()


def _base(file: Table) -> Link:
    """The base link: a name, or a table with its body."""
    if not isinstance(file.data.get("base"), dict):
        return Link(file.text("base", "base"))
    table = file.table("base", ("name", "mass", "com", "inertia_com", "first_moment", "inertia"))
    assert table is not None
    return Link(table.text("name", "base"), inertial(table))


def _source(file: Table) -> Mapping[str, str]:
    if "source" not in file.data:
        return {}
    value = file.data["source"]
    source = Table(value, f"{file.where}: source", value) if isinstance(value, dict) else None
    if source is None:
        file.fail(f"key 'source': expected a table ([source]), got {shown(value)}")
    if "licence" not in source and "license" in source:
        source.fail("missing key 'licence'; it is spelt 'license' here")
    return {key: source.text(key) for key in source.data}


class _Reader:
    """The joints and frames of one file."""

    def __init__(self, where: str, convention: str, angle_tolerance: float) -> None:
        self.where = where
        self.convention = convention
        self.row = _ROW[convention]
        self.tolerance = angle_tolerance
        self.angles: list[tuple[str, float]] = []

    def joint(self, data: Mapping[str, Any], number: int, before: str) -> RawJoint:
        where = self._named("joint", data, number)
        placed = ("xyz", "rpy", "rpy_deg")
        apart = ("link_xyz", "link_rpy", "link_rpy_deg")
        fixed = data.get("type") == "fixed"
        wrong_row = next((row for row in ("mdh", "dh") if row in data and row != self.row), None)
        if wrong_row:
            raise RobotError(
                f"{where}: key '{wrong_row}' does not fit the file's convention '{self.convention}', which "
                f"{f'places joints by {self.row!r}' if self.row else 'places joints by xyz, rpy and axis'}"
            )
        known = ["name", "type", "parent", "limits", "link", "mimic", "terms", *([self.row] if self.row else [])]
        if fixed or not self.row:
            known += placed
        if not fixed and not self.row:
            known += ["axis", *apart]
        table = Table(data, where, known)
        kind = table.choice("type", ("revolute", "prismatic", "fixed"))
        limits = table.table("limits", _LIMITS)
        placement, link_placement = self._placement(table, fixed)
        return RawJoint(
            name=table.text("name", f"joint{number}"),
            type=kind,
            parent=table.text("parent", before),
            link=self._link(table, number, fixed),
            placement=placement,
            axis=self._axis(table),
            link_placement=link_placement,
            limits=JointLimits() if limits is None else _limits(limits, kind),
            mimic=_mimic(table, fixed),
            terms=_terms(table, fixed),
        )

    def frame(self, data: Mapping[str, Any], number: int, last: str) -> RawFrame:
        table = Table(data, self._named("frame", data, number), ("name", "link", "xyz", "rpy", "rpy_deg"))
        return RawFrame(table.text("name"), table.text("link", last), self._placed(table))

    def _named(self, kind: str, data: Mapping[str, Any], number: int) -> str:
        name = data.get("name")
        return f"{self.where}: {kind} {number}" + (f" {name!r}" if isinstance(name, str) else "")

    def _placed(self, table: Table, xyz: str = "xyz", rpy: str = "rpy") -> Array:
        shift = table.array(xyz, (3,), (0.0, 0.0, 0.0), entries="x, y, z").tolist()
        angles = table.angles(rpy, 3, (0.0, 0.0, 0.0)).tolist()
        if rpy in table:
            self.angles += [(f"{table.where}, {rpy}", angle) for angle in angles]
        return xyz_rpy(shift, angles, self.tolerance)

    def _placement(self, table: Table, fixed: bool) -> tuple[Array, Array]:
        """Placements of the joint frame and of the link frame."""
        if self.row is None or (fixed and self.row not in table):
            link = np.eye(4) if fixed or self.row else self._placed(table, "link_xyz", "link_rpy")
            return self._placed(table), link
        table.require(self.row)
        clash = [key for key in ("xyz", "rpy", "rpy_deg") if key in table]
        if clash:
            table.fail(f"give either '{self.row}' or '{clash[0]}', not both")
        a, alpha, d, theta = self._dh_row(table, self.row)
        self.angles += [(f"{table.where}, {self.row}", angle) for angle in (alpha, theta)]
        if self.convention == "modified-dh":
            return modified_dh(a, alpha, d, theta, self.tolerance), np.eye(4)
        return np.eye(4), standard_dh(a, alpha, d, theta, self.tolerance)

    def _dh_row(self, table: Table, key: str) -> tuple[float, float, float, float]:
        if not isinstance(table.data[key], dict):
            a, alpha, d, theta = table.array(key, (4,), entries=_ROW_ENTRIES).tolist()
            for name, value in (("alpha_deg", alpha), ("theta_deg", theta)):
                _warn_of_degrees(f"{table.where}, {key}", name, value)
            return a, float(np.radians(alpha)), d, float(np.radians(theta))
        row = table.table(key, ("a", "alpha_deg", "alpha", "d", "theta_deg", "theta"))
        assert row is not None
        for name in ("alpha_deg", "theta_deg"):
            _warn_of_degrees(row.where, name, row.number(name, 0.0))
        return row.number("a"), row.angle("alpha"), row.number("d"), row.angle("theta")

    def _axis(self, table: Table) -> Array:
        try:
            return unit_axis(table.array("axis", (3,), (0.0, 0.0, 1.0), entries="x, y, z"), self.tolerance)
        except ValueError as error:
            table.fail(f"key 'axis': {error}")

    def _link(self, joint: Table, number: int, fixed: bool) -> Link:
        default = f"link{number}"
        table = joint.table("link", ("name", "mass", "com", "inertia_com", "first_moment", "inertia", "bounds"))
        if table is None:
            return Link(default)
        bounds = table.table("bounds", ("mass", "com", "inertia_com"))
        if bounds is not None and fixed:
            bounds.fail("a fixed joint's link has no bounds of its own; give them to the moving link that carries it")
        return Link(table.text("name", default), inertial(table), LinkBounds() if bounds is None else bounds_of(bounds))


def _warn_of_degrees(where: str, key: str, value: float) -> None:
    if degrees_slip(value):
        warnings.warn(
            f"{where}, key '{key}': {value:g} degrees looks like an angle in radians; the key for those is "
            f"'{key.removesuffix('_deg')}'",
            RobotWarning,
            stacklevel=2,
        )


def _mimic(joint: Table, fixed: bool) -> MimicRule | None:
    table = joint.table("mimic", ("joint", "multiplier", "offset"))
    if table is None:
        return None
    if fixed:
        joint.fail("key 'mimic': a fixed joint follows nothing")
    return MimicRule(table.text("joint"), table.number("multiplier", 1.0), table.number("offset", 0.0))


def _terms(joint: Table, fixed: bool) -> dict[str, float]:
    if fixed and "terms" in joint:
        joint.fail("key 'terms': a fixed joint has none")
    return joint.joint_terms()


def _limits(table: Table, kind: str) -> JointLimits:
    if kind == "fixed":
        table.fail("a fixed joint has no limits")
    degrees = [key for key in _LIMITS if key.endswith("_deg") and key in table]
    if degrees and kind == "prismatic":
        table.fail(f"key '{degrees[0]}': a prismatic joint moves in metres, not degrees")
    ends = {"lower": -np.inf, "upper": np.inf, "velocity": np.inf}
    values = {key: table.angle(key, free, infinite=True) for key, free in ends.items()}
    others = {key: table.number(key, np.inf, infinite=True) for key in ("acceleration", "jerk", "effort")}
    return JointLimits(**values, **others)


# ------------------------------------------------------------------ writer


def value_text(value: Any) -> str:
    """A value as TOML: numbers with all their digits, inline tables for mappings."""
    if isinstance(value, (bool, int, str)):  # as JSON writes them
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(value_text, value))}]"
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{key_text(key)} = {value_text(item)}' for key, item in value.items())} }}"
    return repr(float(value) + 0.0)  # inf and nan are spelt the same in TOML


def key_text(key: str) -> str:
    """A key, quoted where it must be."""
    plain = bool(key) and all(c.isascii() and (c.isalnum() or c in "_-") for c in key)
    return key if plain else json.dumps(key, ensure_ascii=False)


def assignments(values: Mapping[str, Any]) -> list[str]:
    """Lines ``key = value``."""
    return [f"{key_text(key)} = {value_text(value)}" for key, value in values.items()]


def capsule_blocks(tables: Iterable[Mapping[str, Any]]) -> list[list[str]]:
    """Lines of tables ``[[capsule]]``, in robot files and sidecars."""
    return [["[[capsule]]", *assignments(table)] for table in tables]


def joined(blocks: Iterable[Iterable[str]]) -> str:
    """Text of blocks of lines, an empty line between them."""
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"


def _joint(joint: RawJoint) -> Iterable[list[str]]:
    kind = "revolute" if joint.type == "continuous" else joint.type
    values: dict[str, Any] = {"name": joint.name, "type": kind, "parent": joint.parent}
    values |= _placed(joint.placement, "xyz", "rpy")
    if kind != "fixed":
        values["axis"] = joint.axis
        if not np.array_equal(joint.link_placement, np.eye(4)):
            values |= _placed(joint.link_placement, "link_xyz", "link_rpy")
        if joint.limits.finite():
            values["limits"] = joint.limits.finite()
        if joint.mimic is not None:
            values["mimic"] = vars(joint.mimic)
        if joint.terms:
            values["terms"] = nested(joint.terms)
    yield ["[[joint]]", *assignments(values)]
    link = {"name": joint.link.name, **({} if joint.link.inertial is None else inertial_values(joint.link.inertial))}
    yield ["[joint.link]", *assignments(link)]
    if joint.link.bounds.given():
        yield ["[joint.link.bounds]", *assignments(joint.link.bounds.given())]


def inertial_values(body: Inertial) -> dict[str, Any]:
    """The keys ``mass``, ``com`` and ``inertia_com`` of a body."""
    return {"mass": body.mass, "com": body.com, "inertia_com": tensor_entries(body.inertia_com)}


def _placed(placement: Array, xyz: str, rpy: str) -> dict[str, Any]:
    return {xyz: placement[:3, 3], rpy: list(rpy_of(placement[:3, :3]))}


def _set_body(table: Any, body: Inertial | None) -> None:
    about_origin = "first_moment" in table
    keys = ("mass", "first_moment", "inertia") if about_origin else ("mass", "com", "inertia_com")
    if body is None:
        for key in keys:
            table.pop(key, None)
        return
    values: dict[str, Any] = inertial_values(body)
    if about_origin:
        pi = body.standard_parameters()
        values = {"mass": body.mass, "first_moment": pi[6:9], "inertia": pi[:6]}
    for key, value in values.items():
        plain = value.tolist() if isinstance(value, np.ndarray) else float(value)
        if key not in table or table[key] != plain:
            _put(table, key, plain)


def _put(table: Any, key: str, value: Any) -> None:
    """Set a key; a new one goes before the tables below, where TOML requires it."""
    import tomlkit  # slow to import

    if key in table:
        old, new = table[key], tomlkit.item(value)
        if hasattr(old, "trivia"):
            new.trivia.comment, new.trivia.comment_ws = old.trivia.comment, old.trivia.comment_ws
            new.trivia.trail = old.trivia.trail
        table[key] = new
        return
    tables = [name for name, item in table.items() if isinstance(item, tomlkit.items.Table)]
    held = [(name, table.pop(name)) for name in tables]
    table[key] = value
    for name, item in held:
        table[name] = item
