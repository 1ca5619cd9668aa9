"""Bodies in casid's own robot files: the inertial values of a link's table, and its bounds."""

from __future__ import annotations

import numpy as np

from casid.description.link import Inertial, LinkBounds
from casid.description.tables import Table
from casid.inertia import from_standard
from casid.inertia._parameters import tensor


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
        return Inertial(*from_standard(np.concatenate([inertia, moment, [mass]])))
    table.require("mass", "com", "inertia_com")
    com = table.array("com", (3,), entries="x, y, z")
    return Inertial(table.number("mass"), com, tensor(table.array("inertia_com", (6,), entries=six)))


def bounds_of(table: Table) -> LinkBounds:
    """A table ``bounds``; what it leaves out is free."""
    free = LinkBounds()
    com = table.array("com", (3, 2), free.com.tolist(), entries="[lower, upper] of x, y, z", infinite=True)
    six = "[lower, upper] of xx, xy, xz, yy, yz, zz"
    inertia = table.array("inertia_com", (6, 2), free.inertia_com.tolist(), entries=six, infinite=True)
    for key, rows, names in (("com", com, "xyz"), ("inertia_com", inertia, ("xx", "xy", "xz", "yy", "yz", "zz"))):
        for name, (lower, upper) in zip(names, rows, strict=True):
            if lower > upper:
                table.fail(f"key '{key}': lower bound {lower:g} of {name} exceeds upper bound {upper:g}")
    return LinkBounds(np.array(table.interval("mass", (0.0, np.inf))), com, inertia)
