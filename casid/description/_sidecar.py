"""What a format cannot hold: a small TOML file beside the robot's, found again by its name when the robot is read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from casid.description._document import Description, JointLimits, RawJoint, fixed_name, renamed
from casid.description._robot import LIMITS, Link
from casid.description.formats._toml import Table, bounds_of, read_capsules
from casid.description.joint_parameters import SHAPES, is_shape, nested
from casid.errors import RobotError
from casid.files import decode, parse_toml

if TYPE_CHECKING:
    from casid.description.formats._contract import Format

#: What a sidecar file is called: the robot file's name with this behind it.
SUFFIX = ".casid.toml"
_JOINT_KEYS = ("name", "link", "inertial", "limits", "terms")


def lost(description: Description, form: Format) -> dict[str, Any]:
    """What of a description a format cannot hold, as the tables of a sidecar; empty where it holds everything."""
    found: dict[str, Any] = {}
    order, merged, renamed = form.order(description), form.renamed(description), form.joint_names(description)

    def lacks(feature: str) -> bool:
        return feature not in form.holds

    stated = {
        "gravity": description.gravity,
        "total_mass": None if description.total_mass == (0.0, math.inf) else np.array(description.total_mass),
        "transmission": description.transmission,
    }
    found |= {key: value.tolist() for key, value in stated.items() if value is not None and lacks(key)}
    names = tuple(joint.name for joint in description.joints)
    mount = world_mount(description) if lacks("base") else None
    moved = order is not None and order != names and lacks("order")
    if moved or (mount is not None and names[0] != mount.name):
        found["order"] = list(names)
    if lacks("source") and description.source:
        found["source"] = dict(description.source)
    joints = {joint.name: table for joint in description.joints if (table := _joint(joint, form, merged))}
    joints = {renamed.get(name, name): table for name, table in joints.items()}
    for name, written in renamed.items():
        joints[written] = {"name": name, **joints.get(written, {})}
    if mount is not None:
        found["base"] = {"name": description.base.name, "joint": mount.name}
        joints.pop(mount.name, None)
    if joints:
        found["joint"] = joints
    if lacks("bounds"):
        bounds = {link.name: table for link in description.links if (table := link.bounds.given())}
        if bounds:
            found["bounds"] = bounds
    if lacks("capsules") and description.capsules:
        found["capsule"] = [*map(vars, description.capsules)]
    return found


def world_mount(description: Description) -> RawJoint | None:
    """The fixed joint that puts the only link on a base called ``world`` just where the world is, if that is all."""
    on_base = [joint for joint in description.joints if joint.parent == description.base.name]
    if description.base.name != "world" or description.base.inertial is not None or len(on_base) != 1:
        return None
    at_rest = on_base[0].type == "fixed" and np.array_equal(on_base[0].rest, np.eye(4))
    framed = any(frame.link == description.base.name for frame in description.frames)
    return on_base[0] if at_rest and not framed else None


def _joint(joint: RawJoint, form: Format, merged: Mapping[str, str]) -> dict[str, Any]:
    if joint.type == "fixed":
        unnamed = "fixed joints" not in form.holds and joint.name != fixed_name(joint.link.name)
        return {"link": joint.link.name} if unnamed else {}
    found: dict[str, Any] = {}
    keys = [key for key in LIMITS[2:] if key not in form.holds]
    keys = list(dict.fromkeys([*form.lacks(joint.limits), *keys]))
    limits = joint.limits.finite(keys)
    if limits:
        found["limits"] = limits
    terms = {
        symbol: value for symbol, value in joint.terms.items()
        if (value or is_shape(symbol)) and not form.holds_term(symbol)
    }  # fmt: skip
    if terms:
        found["terms"] = nested(terms)
    own = body = joint.link.name
    while body in merged:
        body = merged[body]
    if own not in (body, f"{body}/{joint.name}"):
        found["link"] = own
    if own != body and joint.link.inertial is None:
        found["inertial"] = False
    return found


def words(tables: Mapping[str, Any]) -> tuple[str, ...]:
    """What a sidecar holds, in words: one line a kind."""
    texts = {
        "gravity": "gravity",
        "total_mass": "bounds of the total mass",
        "transmission": "the transmission matrix (coupled drive trains)",
        "order": "the order of the joints",
        "source": "sources",
        "bounds": "bounds of links",
        "capsule": "capsules",
        "base": "the link below the base",
    }
    lines = [text for key, text in texts.items() if key in tables]
    joints: Mapping[str, Any] = tables.get("joint", {})
    limits = sorted({key for table in joints.values() for key in table.get("limits", {})})
    terms = sorted({key for table in joints.values() for key in table.get("terms", {}) if key not in SHAPES})
    laws = sorted({key for table in joints.values() for key in table.get("terms", {}) if key in SHAPES})
    named = {
        "limits of joints": limits,
        "terms of joints": terms,
        "friction laws, which other programs do not see": laws,
        "names of joints": [table["name"] for table in joints.values() if "name" in table],
        "names of fixed joints": [name for name, table in joints.items() if set(table) == {"link"}],
        "names of links": [t["link"] for t in joints.values() if "link" in t and set(t) != {"link"}],
        "bodies that are not known": [table.get("link", name) for name, table in joints.items() if "inertial" in table],
    }
    return (*lines, *(f"{what}: {', '.join(names)}" for what, names in named.items() if names))


def restore(description: Description, content: bytes, where: str) -> Description:
    """A description completed by its sidecar.

    Raises
    ------
    RobotError
        For a sidecar that is malformed, or names joints or links that the robot does not have.
    """
    data = parse_toml(decode(content, where, "sidecar file", RobotError), where, RobotError)
    keys = ("schema", "gravity", "total_mass", "transmission", "order", "source", "bounds", "capsule", "joint", "base")
    table = Table(data, where, keys)
    if data.get("schema") != 1:
        table.fail(f"key 'schema': this version of casid reads schema 1, got {data.get('schema')!r}")
    joints, base = list(description.joints), description.base
    mount = table.table("base", ("name", "joint"))
    if mount is not None:
        joints.insert(0, RawJoint(mount.text("joint"), "fixed", mount.text("name"), base))
        base = Link(mount.text("name"))
    for name, entry in _by_name(table, "joint"):
        joints = _restored(joints, name, Table(entry, f"{where}: joint '{name}'", _JOINT_KEYS))
    for name, entry in _by_name(table, "bounds"):
        bounds = Table(entry, f"{where}: bounds of '{name}'", ("mass", "com", "inertia_com"))
        index = [k for k, joint in enumerate(joints) if joint.link.name == name]
        if not index:
            bounds.fail("the robot has no such link")
        old = joints[index[0]]
        joints[index[0]] = replace(old, link=replace(old.link, bounds=bounds_of(bounds)))
    if "order" in data:
        listed = data["order"]
        if not isinstance(listed, list) or not all(isinstance(name, str) for name in listed):
            table.fail("key 'order': expected a row of names of joints")
        order = {name: k for k, name in enumerate(listed)}
        if set(order) != {joint.name for joint in joints}:
            table.fail("key 'order': it must list all joints of the robot file, each once")
        joints.sort(key=lambda joint: order[joint.name])
    source = table.table("source", data.get("source", ()))
    moving = sum(1 for joint in joints if joint.type != "fixed" and joint.mimic is None)
    return replace(
        description,
        base=base,
        joints=tuple(joints),
        gravity=table.array("gravity", (3,)) if "gravity" in data else description.gravity,
        total_mass=table.interval("total_mass", description.total_mass),
        transmission=table.array("transmission", (moving, moving)) if "transmission" in data else None,
        source=description.source if source is None else dict(source.data),
        capsules=read_capsules(table),
    )


def _by_name(table: Table, key: str) -> list[tuple[str, dict[str, Any]]]:
    """Entries of a table of tables."""
    entries = table.data.get(key, {})
    if not isinstance(entries, dict) or not all(isinstance(entry, dict) for entry in entries.values()):
        table.fail(f"key '{key}': expected tables [{key}.NAME]")
    return list(entries.items())


def _restored(joints: list[RawJoint], name: str, table: Table) -> list[RawJoint]:
    link = table.text("link") if "link" in table else None
    index = [k for k, j in enumerate(joints) if j.name == name or (j.type == "fixed" and link == j.link.name)]
    if not index:
        table.fail("the robot has no such joint")
    old = joints[index[0]]
    name = table.text("name", name)
    limits = table.table("limits", LIMITS)
    values = {} if limits is None else {key: limits.number(key) for key in limits.data}
    new = replace(
        old,
        name=name,
        limits=JointLimits(**{**old.limits.__dict__, **values}),
        terms={**old.terms, **table.joint_terms()},
    )
    joints = list(renamed(joints, {old.name: name}))
    if "inertial" in table.data:
        if table.data["inertial"] is not False:
            table.fail("key 'inertial': false (the link's body is not known) is all that it can be")
        new = replace(new, link=replace(new.link, inertial=None))
    if link is not None and link != old.link.name:
        new = replace(new, link=replace(new.link, name=link))
        joints = [replace(joint, parent=link) if joint.parent == old.link.name else joint for joint in joints]
    return [new if k == index[0] else joint for k, joint in enumerate(joints)]
