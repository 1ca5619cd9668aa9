"""Checks of the tree that a list of joints forms, and an order in which parents come first."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence

from casid.description.raw import MOVING_TYPES, MimicRule, RawFrame, RawJoint
from casid.errors import RobotError
from casid.files._words import listed, near

#: Types as users write them.
_TYPES = ("revolute", "continuous", "prismatic", "fixed")


def check_types(joints: Sequence[RawJoint], where: str) -> None:
    """Raise a `RobotError` for joints of a type that casid cannot move."""
    for joint in joints:
        if joint.type != "fixed" and joint.type not in MOVING_TYPES:
            raise RobotError(
                f"{where}: joint '{joint.name}' is of type '{joint.type}', which casid does not support"
                f"{near(joint.type, _TYPES)} (it knows {', '.join(_TYPES)}); describe it by several joints of these "
                f'types, or make it fixed: --lock {joint.name}, load_robot(..., lock=("{joint.name}",)) in Python'
            )


def check_unique(joints: Sequence[RawJoint], frames: Sequence[RawFrame], base: str, where: str) -> None:
    """Raise a `RobotError` where two joints, links or frames share a name (two joints with one link are a loop)."""
    by_name: set[str] = set()
    by_link: dict[str, str] = {}
    for joint in joints:
        if joint.name in by_name:
            raise RobotError(f"{where}: two joints are named '{joint.name}'; joint names must be unique")
        if joint.link.name in by_link:
            raise RobotError(
                f"{where}: link '{joint.link.name}' is carried by two joints, '{by_link[joint.link.name]}' and "
                f"'{joint.name}'; either two links share a name, or the links form a closed loop, which casid does not "
                "support (a robot is a tree: cut the loop at one of these joints)"
            )
        by_name.add(joint.name)
        by_link[joint.link.name] = joint.name
    names: set[str] = {base, *by_link}
    for frame in frames:
        if frame.name in names:
            raise RobotError(f"{where}: frame '{frame.name}' has the name of another frame or link; rename it")
        names.add(frame.name)


def follow(joints: Sequence[RawJoint], where: str) -> dict[str, MimicRule]:
    """For each moving joint that follows another: the joint with a coordinate of its own that it follows in the end.

    Raises
    ------
    RobotError
        Where the joint it follows does not exist or is fixed, joints follow each other in a circle, or the ratio is
        not a finite number.
    """
    known = {joint.name: joint for joint in joints}
    rules: dict[str, MimicRule] = {}
    for joint in joints:
        rule, path = joint.mimic, [joint.name]
        if rule is None or joint.type == "fixed":
            continue
        while True:
            if not (math.isfinite(rule.multiplier) and math.isfinite(rule.offset)):
                raise RobotError(
                    f"{where}: joint '{joint.name}': the multiplier and offset of its mimic must be finite"
                )
            leader = known.get(rule.joint)
            if leader is None or leader.type == "fixed":
                state = "does not exist" if leader is None else "is fixed"
                raise RobotError(
                    f"{where}: joint '{path[-1]}' mimics joint '{rule.joint}', which {state}"
                    f"{near(rule.joint, known) if leader is None else ''}; correct the name or lock '{path[-1]}'"
                )
            if leader.mimic is None:
                break
            path.append(leader.name)
            if path.count(leader.name) > 1:
                raise RobotError(f"{where}: joints mimic each other in a circle: {' -> '.join(path)}")
            further = leader.mimic
            rule = MimicRule(
                further.joint,
                rule.multiplier * further.multiplier,
                rule.multiplier * further.offset + rule.offset,
            )
        rules[joint.name] = rule
    return rules


def base_link(joints: Sequence[RawJoint], base: str | None, loose: Sequence[str], where: str) -> str:
    """Name of the base: ``base`` where given, else the only link that no joint carries.

    Raises
    ------
    RobotError
        If the given base is carried by a joint, if several links are carried by none, or if all links are carried.
    """
    children = {joint.link.name for joint in joints}
    if base is not None:
        if base in children:
            raise RobotError(f"{where}: the base link '{base}' is carried by a joint, but the base must not move")
        return base
    roots = list(dict.fromkeys([*(j.parent for j in joints if j.parent not in children), *loose]))
    if len(roots) > 1:
        raise RobotError(
            f"{where}: a robot is one tree, but {len(roots)} links are carried by no joint: {listed(roots)}; "
            "connect all but one of them by (fixed) joints"
        )
    if not roots:
        raise RobotError(f"{where}: {_loop(joints)}" if joints else f"{where}: there is no joint and no link")
    return roots[0]


def parents_first(joints: Sequence[RawJoint], base: str, where: str) -> list[RawJoint]:
    """Stable topological order: of the joints whose parent link is placed, always the first of the file.

    Raises
    ------
    RobotError
        Where a joint stands on a link that does not exist, or joints form a loop.
    """
    carried: dict[str, list[int]] = {}
    for k, joint in enumerate(joints):
        carried.setdefault(joint.parent, []).append(k)
    ready = list(carried.get(base, []))
    order: list[int] = []
    while ready:
        k = heapq.heappop(ready)
        order.append(k)
        for child in carried.get(joints[k].link.name, []):
            heapq.heappush(ready, child)
    if len(order) < len(joints):
        placed = set(order)
        rest = [joint for k, joint in enumerate(joints) if k not in placed]
        links = [base, *(joint.link.name for joint in joints)]
        for joint in rest:
            if joint.parent not in links:
                raise RobotError(
                    f"{where}: joint '{joint.name}' stands on link '{joint.parent}', which does not exist"
                    f"{near(joint.parent, links)} (links: {listed(links)})"
                )
        raise RobotError(f"{where}: {_loop(rest)}")
    return [joints[k] for k in order]


def _loop(joints: Sequence[RawJoint]) -> str:
    """Describe the loop that is met by walking from the first joint to its parents."""
    carrying = {joint.link.name: joint for joint in joints}
    joint, seen = joints[0], []
    while joint.name not in seen:
        seen.append(joint.name)
        joint = carrying[joint.parent]
    loop = [*seen[seen.index(joint.name) :], joint.name]
    path = " -> ".join(reversed(loop))
    return f"the joints form a loop that never reaches the base: {path}; correct one of their parents"
