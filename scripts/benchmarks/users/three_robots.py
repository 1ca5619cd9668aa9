"""The task of `side_by_side` on three arms, five draws each: casid's default beside FIGAROH's best settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from benchmarks.measure import Rows, need, scratch
from benchmarks.real.simulated_robots import robot_of
from benchmarks.results import PRODUCT, digest, measured
from benchmarks.users.peers.task import write
from benchmarks.users.side_by_side import TOOLS, VARIANTS, Failed, run
from casid.description import Robot, write_robot

row = Rows()

#: Arms of example-robot-data on which nothing of casid was set.
ARMS, SEEDS = ("UR5", "Kinova", "Baxter arm"), tuple(range(5))
#: Largest ratios to FIGAROH, by what a result is judged by.
BARS = {"held_out": 0.85, "worst": 0.9, "rigid": 0.8, "processor": 2.0}
SECONDS = 7200
#: What the peer's script says of the task's own robot.
_JOINTS = ("shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3")
_ACTIVE = f"[{', '.join(f'{name}_joint' for name in _JOINTS)}]"


def arm(name: str, folder: Path) -> tuple[dict[str, Any], list[str]]:
    """What `write` needs for an arm of another file: a URDF of its moving joints and the middle; and their names."""
    if name == "UR5":
        return {}, [f"{one}_joint" for one in _JOINTS]
    robot, turn = robot_of(name), 2 * np.pi
    low, high = np.maximum(robot.limits.lower, -turn), np.minimum(robot.limits.upper, turn)
    path = folder / "arm.urdf"
    write_robot(Robot(name, robot.joints, limits=replace(robot.limits, lower=low, upper=high)), path)
    root = ElementTree.parse(path).getroot()
    for element in root.iter():
        element.attrib |= {key: "base_link" for key, value in element.items() if value == "base"}
    for joint in root.findall("joint"):
        joint.set("type", "revolute")
        for known in joint.findall("dynamics"):  # the truth has friction of its own
            joint.remove(known)
    ElementTree.ElementTree(root).write(path)
    return {"file": path, "middle": (low + high) / 2}, [joint.name for joint in robot.joints]


def task(name: str, seed: int) -> dict[str, Any]:
    """Casid's default and each setting of FIGAROH on one draw: errors [%] and processor time [s]."""
    casid, figaroh = TOOLS[:2]
    with scratch() as given, scratch() as folder:
        settings, joints = arm(name, folder)
        truth = write(given, seed, **settings)
        own = {} if name == "UR5" else {_ACTIVE: f"[{', '.join(joints)}]"}
        found = {"casid": _judged(partial(run, casid, given, truth))}
        variants: list[tuple[str, Mapping[str, str]]] = [("default", {})]
        variants += [(label, changes) for tool, label, changes in VARIANTS if tool == "FIGAROH"]
        for label, changes in variants:
            found[label] = _judged(partial(run, figaroh, given, truth, own | dict(changes)))
    return {"robot": name, "seed": seed, "found": found}


def _judged(run: Any) -> dict[str, float]:
    try:
        made = run()
    except Failed:
        return dict.fromkeys(BARS, float("inf"))
    score = {key: float(getattr(made.score, key)) for key in ("held_out", "worst", "rigid")}
    return score | {"processor": made.processor}


@row("the task with FIGAROH on three robots, five seeds each",
     ", ".join(f"{key.replace('_', ' ')} <= {bar:g} x" for key, bar in BARS.items()), "FIGAROH",
     quick=(("Baxter arm",), (0,)), left_out="two robots, four seeds")  # fmt: skip
def three_robots(arms: tuple[str, ...] = ARMS, seeds: tuple[int, ...] = SEEDS) -> tuple[str, bool]:
    """Worst ratios: errors and processor time over the least of any setting of FIGAROH that ends, each by itself."""
    for module in ("figaroh", "mujoco", "pinocchio"):
        need(module, "side-by-side")
    state = digest(*PRODUCT, "scripts/benchmarks/users/peers/*", "scripts/benchmarks/users/three_robots.py")
    work = {f"{name}, seed {seed}": partial(task, name, seed) for name in arms for seed in seeds}
    made = measured("three_robots", state, work, SECONDS, 1)  # one after the other: times are judged
    texts, met = list[str](), True
    for key, bar in BARS.items():
        ratios: dict[str, list[float]] = {}
        for one in made.values():
            found = one["found"]
            peers = [setting[key] for name, setting in found.items() if name != "casid"]
            ratios.setdefault(one["robot"], []).append(found["casid"][key] / min(peers))
        every = np.concatenate(list(ratios.values()))
        each = ", ".join(f"{name} {np.mean(own):.2f}, at most {max(own):.2f}" for name, own in ratios.items())
        texts.append(f"{key.replace('_', ' ')}: {each}; {int((every <= bar).sum())} of {len(every)} within {bar:g}")
        met = met and bool(every.max() <= bar)
    return "; ".join(texts), met
