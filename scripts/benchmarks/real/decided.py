"""What data decide: intervals beside the certified ends, samples of the posterior, and the command by the clock."""

from __future__ import annotations

import sys
import time
from dataclasses import replace

import numpy as np

import casid
from benchmarks.measure import Rows, data_folder, process, scratch
from benchmarks.real.robots import designed_motion, nominal, one_recording
from casid.description import LinkBounds, Robot
from casid.dynamics import Model
from casid.identification import Checks, ModelOptions, identify
from casid.measurement import Dataset

row = Rows()

#: Samples that are asked for, those of the long run, effective ones demanded; largest difference of moments.
SAMPLES, LONG, EFFECTIVE, MOMENTS = 20_000, 100_000, 10_000, 0.02


def last_unknown(robot: Robot) -> Robot:
    """The robot with the bodies of all links but the last as they are, to 1e-4 of the mass and 0.1 mm."""
    joints = []
    for joint in robot.joints:
        body, bounds = joint.link.inertial, LinkBounds()
        if body is not None and joint is not robot.joints[-1]:
            com = np.reshape(body.com, (3, 1)) + np.array([-1e-4, 1e-4])
            bounds = LinkBounds(body.mass * np.array([1 - 1e-4, 1 + 1e-4]), com)
        inertial = None if joint is robot.joints[-1] else body
        joints.append(replace(joint, link=replace(joint.link, inertial=inertial, bounds=bounds)))
    return replace(robot, joints=tuple(joints), total_mass=(0.0, np.inf), origin=None)


@row("interval where the data decide: last link of a simulated iiwa, the others known, 120 s",
     "<= 1.3 x the length of the certified one", "constant", 120.0, quick=(30.0,), left_out="90 s")  # fmt: skip
def decided(seconds: float) -> tuple[str, bool]:
    """Printed and proven interval of the mass of the last link, which carries a load of 3 kg that is part of it."""
    robot = casid.load_robot("kuka_iiwa")
    bodies = nominal(robot)
    load = np.zeros_like(bodies)
    load[-10:] = [3 * (0.01 + 0.1**2), 0, 0, 3 * (0.01 + 0.1**2), 0, 0.03, 0, 0, 3 * 0.1, 3.0]
    model = Model(robot, ("viscous", "coulomb"))
    t = np.arange(0.0, seconds, 2e-3)
    _, q, dq, ddq = designed_motion(robot, 3, t)
    tau = model.inverse_dynamics(q, dq, ddq, model.parameters(bodies + load, np.tile([2.0, 3.0], robot.n)))
    tau = tau + 0.2 * np.random.default_rng(0).normal(size=tau.shape)
    known, data, terms = last_unknown(robot), Dataset(t, q, tau, dq, ddq), ModelOptions(terms=("viscous", "coulomb"))
    found = [
        identify(known, data, processing=False, model=terms, checks=Checks(verdict=False, intervals=proven))
        for proven in (False, True)
    ]
    printed, ranges = found[0].mass_ranges[-1], found[1].intervals
    assert ranges is not None
    proven = ranges.entries[-1]
    true, ratio = float((bodies + load)[-1]), (printed.high - printed.low) / (proven.high - proven.low)
    text = f"{printed.name} {printed.value:.3f} kg (true {true:.3f}), printed {printed.low:.3f} to {printed.high:.3f}, "
    held = printed.low <= true <= printed.high
    return f"{text}certified {proven.low:.3f} to {proven.high:.3f}: {ratio:.2f} x", ratio <= 1.3 and held


@row("samples of the posterior, seven links", f"{EFFECTIVE} effective <= 60 s, moments 2 % of a long run", "none", LONG,
     quick=(SAMPLES,), left_out="most of the long run")  # fmt: skip
def sampled(long: int) -> tuple[str, bool]:
    """Panda's recording: means (in standard deviations) and deviations beside those of another seed's long run."""
    found = identify(*one_recording("Panda"), checks=Checks(verdict=False))
    began = time.perf_counter()
    samples = found.samples(SAMPLES)
    seconds = time.perf_counter() - began
    some, whole = samples.table, found.samples(long, 1).table
    sd = whole.std(axis=0)
    means, deviations = np.abs(some.mean(axis=0) - whole.mean(axis=0)) / sd, np.abs(some.std(axis=0) / sd - 1.0)
    effective = int(samples.effective.min())
    off = float(max(means.max(), deviations.max()))
    text = f"{effective} effective of {len(samples)} in {seconds:.0f} s, beside {len(whole)}: means within "
    text += f"{100 * means.max():.1f} % of a deviation, deviations within {100 * deviations.max():.1f} %"
    return text, effective >= EFFECTIVE and seconds <= 60.0 and off <= MOMENTS


def clock(*words: str) -> float:
    """Seconds of `casid identify` with its files and pictures, imports included."""
    with scratch() as folder:
        began = time.perf_counter()
        process(sys.executable, "-m", "casid", "identify", *words, "--out", "r", folder=folder)
        return time.perf_counter() - began


@row("casid identify by the clock, all files and pictures: Panda, --quick, a servo arm of 28 recordings",
     "<= 10 s, <= 3 s, <= 30 s", "27, 12, 44 s")  # fmt: skip
def by_the_clock() -> tuple[str, bool]:
    """The second run of each: the first compiles what the cache keeps."""
    data = data_folder()
    panda = ("panda", str(data / "panda" / "trajectory_1.npz"))
    arm = [str(path) for path in sorted((data / "so101").glob("*.npz"))]
    commands = (panda, (*panda, "--quick"), (str(data / "so101" / "so101_new_calib.xml"), *arm, "--lock", "gripper"))
    seconds = [[clock(*words) for _ in range(2)][1] for words in commands]
    return ", ".join(f"{s:.1f} s" for s in seconds), all(s <= bar for s, bar in zip(seconds, (10, 3, 30), strict=True))
