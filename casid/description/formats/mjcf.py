"""MJCF, the files of MuJoCo.

Read: nested bodies with any number of hinge and slide joints, ``<inertial>`` (diagonal or full) or mass from geoms,
classes of defaults, the compiler's angles, Euler sequences and bounds of inertia, ``<frame>``, ``<include>``, couplings
of two joints by ``<equality><joint>``, effort limits of joints and actuators, sites as frames. Kept when a file is
edited, otherwise not looked at: geoms, cameras, lights, sensors, keyframes. What acts on the dynamics and is not
modelled (closed loops, deformable bodies, tendons with forces, ...) is refused by name. Reference:
https://mujoco.readthedocs.io/en/stable/XMLreference.html.
"""

from __future__ import annotations

from casid.description.document import Description
from casid.description.formats.contract import Changes, Format, Reading
from casid.description.formats.mjcf_reader import read_mjcf_content
from casid.description.formats.mjcf_writer import edited, mergeable, range_is_written, written
from casid.description.frames import base_beside_world
from casid.description.raw import JointLimits


class Mjcf(Format):
    """MJCF files."""

    name = "MJCF"
    suffixes = (".xml", ".mjcf")
    holds = frozenset({"gravity", "effort"})
    terms = frozenset({"fv", "fc", "Ia", "ks"})

    def read(self, content: bytes, reading: Reading) -> Description:
        """See `Format.read`."""
        return read_mjcf_content(content, reading)

    def recognises(self, content: bytes) -> bool:
        """See `Format.recognises`."""
        return b"<mujoco" in content

    def lacks(self, limits: JointLimits) -> tuple[str, ...]:
        """MJCF wants both ends of a range, the lower below the upper, and no effort of zero."""
        keys = () if range_is_written(limits) else ("lower", "upper")
        return keys if limits.effort > 0 else (*keys, "effort")

    def prepared(self, description: Description) -> tuple[Description, tuple[str, ...]]:
        """A base with a body cannot be called ``world``."""
        return base_beside_world(description)

    def renamed(self, description: Description) -> dict[str, str]:
        """Links that have no body of their own: several joints of one body."""
        return mergeable(description)

    def order(self, description: Description) -> tuple[str, ...] | None:
        """Bodies are nested: a joint comes before all that it carries."""
        children: dict[str, list[int]] = {}
        for k, joint in enumerate(description.joints):
            children.setdefault(joint.parent, []).append(k)
        order: list[str] = []
        stack = list(reversed(children.get(description.base.name, [])))
        while stack:
            joint = description.joints[stack.pop()]
            order.append(joint.name)
            stack += reversed(children.get(joint.link.name, []))
        return tuple(order)

    def write(self, description: Description) -> bytes:
        """See `Format.write`."""
        return written(description).encode()

    def edit(self, content: bytes, changes: Changes, where: str) -> bytes:
        """See `Format.edit`."""
        return edited(content, changes, where)
