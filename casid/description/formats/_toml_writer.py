"""Writer of casid's own robot files: new ones, and old ones edited in place (comments and order kept)."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from casid.arrays import Array
from casid.description._document import Description, RawJoint
from casid.description._placement import rpy_of
from casid.description._robot import Inertial
from casid.description.formats._contract import Changes
from casid.description.joint_parameters import nested
from casid.errors import RobotError
from casid.inertia import tensor_entries


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


def written(description: Description) -> str:
    """A description as the text of a new file, in the convention ``placement``."""
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
    return joined([*blocks, *capsule_blocks(capsule.table() for capsule in description.capsules)])


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


def edited(text: str, changes: Changes, where: str) -> str:
    """The same file with other bodies and joint terms; comments, order and everything else stay."""
    import tomlkit  # slow to import

    document = tomlkit.parse(text)
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
            _set_terms(joint, changes.terms[name])
    base = document.get("base")
    if isinstance(base, tomlkit.items.Table) and str(base.get("name", "base")) in changes.inertials:
        _set_body(base, changes.inertials[str(base.get("name", "base"))])
    result = tomlkit.dumps(document)
    if "\x00" in result:
        raise RobotError(f"{where}: cannot be written as TOML: it would hold a NUL character")
    return result


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


def _set_terms(joint: Any, terms: Mapping[str, float]) -> None:
    import tomlkit  # slow to import

    inline = tomlkit.inline_table()
    inline.update(nested(terms))
    if terms:
        _put(joint, "terms", inline)
    else:
        joint.pop("terms", None)


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
