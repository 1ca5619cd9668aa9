"""Encoders alone, recorded: benches, CMA-ES beside, free runs held out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import casid
from benchmarks.measure import Rows, data_folder, need, scratch
from benchmarks.recordings import table
from benchmarks.results import digest, measured
from casid.description import Robot
from casid.drives import (
    FREE,
    CommandIdentification,
    CommandRecording,
    FreeRuns,
    Servo,
    SimulationOptions,
    Unknown,
    held_commands,
    identify_from_commands,
    write_mjcf,
)
from casid.drives._runs import Point
from casid.drives._servo import UNLIMITED
from casid.files import listed
from casid.testing import MuJoCo

row = Rows()

#: Kinds of the SO-101's motions in the order of its table; those at odd places train, the others are held out.
KINDS = ("static", "friction", "backlash", "broadband", "single", "sine", "pattern", "workspace")
#: So much of each training motion is used [s].
SECONDS = 25.0
#: XL330: supply of the bench [V], and duty for each radian at firmware gain 1 (see the data's README).
SUPPLY = 7.4
XL330_DUTY = 4096 / (2 * np.pi) / 256 / 885

_PENDULUM = """<robot name="{name}"><link name="base"/><link name="{link}"><inertial><origin xyz="{com}"/>
<mass value="{mass}"/><inertia ixx="1e-9" ixy="0" ixz="0" iyy="1e-9" iyz="0" izz="1e-9"/></inertial></link>
<joint name="{joint}" type="{kind}"><parent link="base"/><child link="{link}"/><axis xyz="{axis}"/>
<limit lower="-10" upper="10" effort="1000" velocity="100"/></joint></robot>"""


@dataclass(frozen=True)
class Bench:
    """A robot, what is known of its servos, recordings to train on and to hold out."""

    name: str
    robot: Robot
    servo: Servo
    train: tuple[CommandRecording, ...]
    test: tuple[CommandRecording, ...]


def one_joint(name: str, kind: str, mass: float, com: str, axis: str) -> Robot:
    """A robot of one joint with a point mass."""
    with scratch() as folder:
        path = folder / f"{name}.urdf"
        words = {"name": name, "link": "load", "joint": "joint", "kind": kind, "mass": mass, "com": com, "axis": axis}
        path.write_text(_PENDULUM.format(**words))
        return casid.load_robot(path)


def one_column(z: Mapping[str, np.ndarray], *names: str) -> list[np.ndarray]:
    """Signals of a single joint, shape (N, 1) each."""
    return [np.asarray(z[name], dtype=float).reshape(-1, 1) for name in names]


def so101_recordings() -> Iterator[tuple[str, CommandRecording]]:
    """Kind and whole recording of each motion, in the order of the table."""
    for row in table("so101/table.csv"):
        z = np.load(data_folder() / "so101" / f"{row['name']}.npz")
        yield row["kind"], CommandRecording(z["t"], z["q"][:, :5], z["q_des"][:, :5], name=row["name"])


@cache
def so101() -> Bench:
    """Five joints, the jaw locked; kinds of motion held out."""
    robot = casid.load_robot(data_folder() / "so101" / "so101_new_calib.xml", lock={"gripper": 0.0})
    train, test = [], []
    for kind, data in so101_recordings():
        if KINDS.index(kind) % 2 == 1:
            train.append(data.rows(slice(0, int(SECONDS / data.period))))
        else:
            test.append(data)
    return Bench("SO-101", robot, Servo(), tuple(train), tuple(test))


@cache
def go2() -> Bench:
    """Twelve joints, gains known; the last third of the recording held out."""
    folder = data_folder() / "go2"
    robot = casid.load_robot(folder / "go2_fixed.xml")
    z = np.load(folder / "go2_train.npz")
    data = CommandRecording(z["t"], z["q"], z["q_des"], name="traj_0")
    cut = 2 * len(data) // 3
    servo = Servo(kp=float(z["kp"].flat[0]), kd=float(z["kd"].flat[0]))
    return Bench("Go2", robot, servo, (data.rows(slice(0, cut)),), (data.rows(slice(cut, len(data))),))


@cache
def xl330() -> Bench:
    """One servo with a pendulum (0: hanging); firmware gains 100 and 200 train, 400 is held out."""
    folder = data_folder() / "servos"
    robot = one_joint("xl330", "revolute", 0.49, "0 0 -0.1", "0 1 0")
    train: list[CommandRecording] = []
    test: list[CommandRecording] = []
    for path in sorted(folder.glob("xl330_*.npz")):
        z = np.load(path)
        q, u = one_column(z, "q", "q_des")
        t, kp = np.asarray(z["t"], dtype=float), float(z["kp"])
        on = np.asarray(z["torque_enable"], dtype=float) * np.asarray(z["volts"], dtype=float) / SUPPLY
        data = CommandRecording(t - t[0], q, u, on, kp, name=path.stem)
        (test if kp == 400 else train).append(data)
    servo = Servo(kp=Unknown(lower=1e-5, upper=1.0), duty=1.0 / XL330_DUTY, back_emf=FREE)
    return Bench("XL330", robot, servo, tuple(train), tuple(test))


@cache
def emps_recording() -> CommandRecording:
    """The whole record of the axis, driven by its force alone."""
    z = np.load(data_folder() / "emps" / "estimation.npz")
    q, tau = one_column(z, "q", "tau")
    return CommandRecording(np.ravel(z["t"]), q, np.zeros_like(q), torque=tau, name="emps")


@cache
def emps() -> Bench:
    """One prismatic axis driven by a known force; the first 18,000 samples train, the rest is held out."""
    robot, data = one_joint("emps", "prismatic", 1e-6, "0 0 0", "1 0 0"), emps_recording()
    mass = Unknown(lower=1.0, upper=1000.0)
    servo = Servo(kp=0.0, bias=0.0, delay=0.0, armature=mass, viscous=FREE, coulomb=FREE, offset=FREE)
    cut = 18000
    train, test = data.rows(slice(0, cut)), data.rows(slice(cut, len(data)))
    return Bench("EMPS", robot, servo, (train,), (test,))


#: Lower and upper bounds by attribute, of others casid's own; the gain's in decades.
BOUNDS = {
    "armature": (1e-5, 1.0),
    "viscous": (0.0, 7.0),
    "coulomb": (0.0, 1.0),
    "bias": (-0.1, 0.1),
    "kp": (0.0, 2.0),
    "back_emf": (0.0, 7.0),
}

#: What a run exercises: one that was kept counts while these are unchanged.
EXERCISED = (
    *(f"casid/drives/{name}" for name in ("_law.py", "rollout.c", "_rollout.py", "_runs.py", "_servo.py")),
    "scripts/benchmarks/encoders/measured.py",
)


def kept_fit(bench: Bench, seed: int, rollouts: int) -> dict[str, Any]:
    """`fitted`, or what an earlier run of this state of the code has kept of it: a seed is a piece of the row."""
    need("cma", "encoders")
    part = f"{bench.name}, seed {seed}, {rollouts} runs"
    return measured("cma_es", digest(*EXERCISED), {part: partial(fitted, bench, seed, rollouts)}, 1.0, jobs=1)[part]


def fitted(bench: Bench, seed: int, rollouts: int) -> dict[str, Any]:
    """Best of one run from the middle of the bounds: error on training and held-out motions [rad]."""
    cma = need("cma", "encoders")
    runs = FreeRuns(bench.robot, bench.servo, bench.train, threads=1, longest=10.0)
    bounds = []
    for p in runs.parameters:
        span = (0.0, 5.0 * runs.period) if p.attribute == "delay" else BOUNDS.get(p.attribute, (p.lower, p.upper))
        span = (np.log10(p.lower), np.log10(min(p.upper, 100.0))) if p.attribute == "kp" and p.lower < 1e-3 else span
        bounds.append(span)
    low, high = np.array(bounds).T
    gain = np.array([p.attribute == "kp" for p in runs.parameters])
    bias = [i for i, p in enumerate(runs.parameters) if p.attribute == "bias"]

    def theta_of(x: np.ndarray) -> np.ndarray:
        theta = low + (high - low) * np.clip(x, 0.0, 1.0)
        return np.asarray(np.where(gain, 10.0**theta, theta))

    def errors(x: np.ndarray, of: FreeRuns) -> float:
        """An encoder that shows q + b: the servo follows u - b, and b is added to what it shows."""
        theta = theta_of(x)
        b = theta[bias].copy()
        theta[bias] = -b
        starts = [piece.start - np.pad(b, (0, len(piece.start) - len(b))) for piece in of.pieces]
        squares = [((error - b) ** 2).sum() for error in of.missed(Point(theta, starts))]
        return float(sum(squares) / sum(piece.measured.size for piece in of.pieces))

    options = {"seed": seed + 1, "maxfevals": rollouts, "bounds": [0.0, 1.0], "verbose": -9, "verb_log": 0}
    search = cma.CMAEvolutionStrategy(np.full(len(low), 0.5), 0.25, options)
    count = 0
    while not search.stop() and count < rollouts:
        asked = search.ask()
        search.tell(asked, [errors(np.asarray(x), runs) for x in asked])
        count += len(asked)
    best = np.asarray(search.result.xbest)
    held = runs.of(bench.test)
    train, test = (float(np.sqrt(errors(best, one))) for one in (runs, held))
    return {"train": train, "test": test, "rollouts": count, "theta": theta_of(best).tolist()}


#: IDIM-LS of Janot et al. (2019), see the data's README: M, fv, fc, offset.
PUBLISHED_EMPS = np.array([95.1089, 203.5034, 20.3935, -3.1648])
BENCHES: tuple[Callable[[], Bench], ...] = (so101, go2, xl330)
#: Runs of CMA-ES a seed.
ROLLOUTS = {"SO-101": 3000, "Go2": 8000, "XL330": 3000}


@cache
def found(make: Callable[[], Bench], **options: Any) -> CommandIdentification:
    """The result on the training motions; ``terms=()``: by the plain law alone, the parameters of CMA-ES."""
    bench = make()
    return identify_from_commands(bench.robot, bench.train, bench.servo, SimulationOptions(**options))


def against_cma(make: Callable[[], Bench], seeds: Sequence[int], share: float = 1.0) -> tuple[str, bool]:
    """Held-out error with the parameters of CMA-ES over that of its best seed; beside it that of the default's terms.

    In the SO-101's `single_joint_wrist_roll` the joint meets a stop at -1.03 rad that neither the model nor any
    training motion has, a stall that every model misses by up to 0.57 rad.
    """
    need("cma", "encoders")
    bench, mine = make(), found(make)
    text, met = _beside(
        bench, 1e3 * found(make, terms=()).error_of(bench.test), seeds, int(ROLLOUTS[bench.name] * share)
    )
    text += f"; with the terms of the default {1e3 * mine.error_of(bench.test):.1f} mrad"
    free = [data for data in bench.test if data.name != "single_joint_wrist_roll"]
    if len(free) < len(bench.test):
        text += f"; {1e3 * mine.error_of(free):.1f} mrad without the recording that meets a stop"
    return text, met


def _beside(bench: Bench, own: float, seeds: Sequence[int], count: int) -> tuple[str, bool]:
    """An error held out [mrad] beside those of CMA-ES."""
    peers = [1e3 * kept_fit(bench, seed, count)["test"] for seed in seeds]
    shown = ", ".join(f"{value:.1f}" for value in peers)
    text = f"{bench.name} {own:.1f} mrad, CMA-ES ({count} runs) {shown}: {own / min(peers):.2f}"
    return text, own <= 0.9 * min(peers)


def against_cma_with_terms(make: Callable[[], Bench], seeds: Sequence[int], share: float = 1.0) -> tuple[str, bool]:
    """The same where both have the terms that casid's default takes on the training motions."""
    need("cma", "encoders")
    bench, mine = make(), found(make)
    plain = {p.attribute for p in FreeRuns(bench.robot, bench.servo, bench.train).parameters}
    taken = list(dict.fromkeys(e.attribute for e in mine.estimates if e.attribute not in plain))
    changes: dict[str, Any] = dict.fromkeys(taken, FREE)
    wider = replace(
        bench, name=f"{bench.name} with {listed(taken) or 'no terms'}", servo=replace(bench.servo, **changes)
    )
    return _beside(wider, 1e3 * mine.error_of(bench.test), seeds, int(ROLLOUTS[bench.name] * share))


for _name, _stated, _make in (("SO-101", "14.3 mrad", so101), ("Go2", "9.0 mrad", go2), ("XL330", "-", xl330)):
    row(f"free runs held out, against CMA-ES with the same parameters: {_name}", "<= 0.9 x the best of three seeds",
        f"issue: {_stated}", _make, range(3), quick=(_make, range(1), 0.1),
        left_out="two seeds, nine tenths of the runs")(against_cma)  # fmt: skip
for _name, _make in (("Go2", go2), ("XL330", xl330)):
    row(f"free runs held out, against CMA-ES with the terms of the default: {_name}",
        "<= 0.9 x the best of three seeds", "-", _make, range(3), quick=(_make, range(1), 0.1),
        left_out="two seeds, nine tenths of the runs")(against_cma_with_terms)  # fmt: skip


@row("friction with load and speed, free runs held out", "no worse than the plain law on each",
     "issue: XL330 at another gain 127 mrad")  # fmt: skip
def richer_friction() -> tuple[str, bool]:
    """The same motions with dry friction that depends on load and speed, beside the plain law."""
    texts, better = [], True
    for make in BENCHES:
        bench = make()
        servo = replace(bench.servo, load_friction=FREE, stribeck=FREE, stribeck_speed=Unknown(0.1, 0.1, 0.01, 2.0))
        made = identify_from_commands(bench.robot, bench.train, servo)
        plain, rich = (1e3 * one.error_of(bench.test) for one in (found(make, terms=()), made))
        better &= rich <= plain
        texts.append(f"{bench.name} {plain:.1f} -> {rich:.1f} mrad")
    return "; ".join(texts), better


@row("rollouts and time", "<= 100, <= 20 s each", "issue: 22-71, 1-13 s")
def effort() -> tuple[str, bool]:
    """Runs with derivatives counted as what they cost, simulated time of one run, wall time."""
    texts, met = [], True
    for make in BENCHES:
        one = found(make)
        met &= one.rollouts <= 100 and one.seconds <= 20
        texts.append(f"{make().name} {one.rollouts:.0f} runs of {one.simulated:.0f} s, {one.seconds:.1f} s")
    return "; ".join(texts), met


@row("20 random starts, and none", "within 3 % of the best, 20 of 20 each", "random starts fail", 20, quick=(2,),
     left_out="18 starts")  # fmt: skip
def random_starts(count: int) -> tuple[str, bool]:
    """Random starts over four decades and none: errors over the best; a start that is not searched counts as missed."""
    texts, met = [], True
    for make in BENCHES:
        bench, best = make(), found(make)
        rng, p = np.random.default_rng(0), FreeRuns(bench.robot, bench.servo, bench.train).parameters
        bias = np.array([x.attribute in ("bias", "delay") for x in p])
        errors, searched = [best.error], list[bool]()
        for _ in range(count):
            small = rng.uniform(-0.1, 0.1, len(p))
            wild = np.where(bias, small, np.maximum(best.theta[: len(p)], 1e-4) * 10 ** rng.uniform(-2, 2, len(p)))
            started = identify_from_commands(bench.robot, bench.train, bench.servo, start=wild)
            errors.append(started.error)
            searched.append(started.rollouts > best.rollouts)
        near = sum(e <= 1.03 * min(errors) and tried for e, tried in zip(errors[1:], searched, strict=True))
        met &= near == count and errors[0] <= 1.03 * min(errors)
        without = errors[0] / min(errors)
        texts.append(f"{bench.name} {near} of {count} ({sum(searched)} searched), none given {without:.3f}")
    return "; ".join(texts), met


@row("repeatability: halves, two gain settings", "inside the intervals in >= 90 % of parameters each",
     "none gives one")  # fmt: skip
def repeatability() -> tuple[str, bool]:
    """Disjoint halves, two gain settings: differences of determined parameters within their joint interval."""
    texts, met = [], True
    arm, legs, servo = so101(), go2(), xl330()
    half = len(legs.train[0]) // 2
    halves = {
        "SO-101, halves": (arm, arm.train[::2], arm.train[1::2]),
        "Go2, halves": (legs, (legs.train[0].rows(slice(0, half)),), (legs.train[0].rows(slice(half, 2 * half)),)),
        "XL330, gains 100 and 200": (
            servo, [d for d in servo.train if d.gain == 100], [d for d in servo.train if d.gain == 200],
        ),
    }  # fmt: skip
    for name, (bench, first, second) in halves.items():
        a, b = (identify_from_commands(bench.robot, part, bench.servo) for part in (first, second))
        other = {e.name: e for e in b.estimates if e.determined}
        inside = [
            abs(x.value - other[x.name].value) <= np.hypot(x.half, other[x.name].half)
            for x in a.estimates
            if x.determined and x.name in other
        ]
        met &= bool(np.mean(inside) >= 0.9)
        texts.append(f"{name}: {sum(inside)} of {len(inside)}")
    return "; ".join(texts), met


@row("backlash of SO-101 against its static recording", "within 20 %")
def backlash() -> tuple[str, bool]:
    """A row that nothing measures yet: missed."""
    return (
        "not built: the recording has commands and encoders at the output, where the servo closes its loop: at rest it "
        "shows dry friction over gain, not play, and no other measurement of the play is in it"
    ), False


@row("EMPS: free run after the first 18,000 samples", "< 0.5 x IDIM-LS on the same samples",
     "official test: pNARX 5.17, linear 5.53, output error 6.06, IDIM-LS 8.87 mm")  # fmt: skip
def emps_free_run() -> tuple[str, bool]:
    """Free run over the samples after the training part from the force alone, the state of the first 20 given.

    The default chooses the terms on pieces of the training part, held out in turn. With them the parameters are found
    as they are judged, in one free run: nothing pulls this axis back, so pieces with initial states of their own hide
    the drift.
    """
    bench = emps()
    chosen = identify_from_commands(bench.robot, bench.train, bench.servo, SimulationOptions(step=1e-3))
    options = SimulationOptions(step=1e-3, longest=np.inf, coarse=np.inf, folds=0, budget=200.0)
    made = identify_from_commands(bench.robot, bench.train, chosen.servo, options)
    start = bench.test[0].rows(slice(10, None))  # the first 20 samples give the state
    ours, published = (
        1e3 * float(runs.errors(runs.point(theta))[0])
        for servo, theta in ((made.servo, made.theta), (bench.servo, PUBLISHED_EMPS))
        for runs in [FreeRuns(bench.robot, servo, [start], 1e-3, np.inf, 1)]
    )
    taken = listed(dict.fromkeys(e.attribute for e in made.estimates))
    text = (
        f"{ours:.2f} mm, IDIM-LS of Janot et al. on the same samples {published:.2f}: {ours / published:.2f} ({taken})"
    )
    return text, ours < 0.5 * published


@row("written MJCF replayed in MuJoCo", "<= 0.2 mrad smooth, <= 1 mrad with friction")
def replay() -> tuple[str, bool]:
    """The written MJCF under the same commands in MuJoCo, with the identified friction and without."""
    bench, one = so101(), found(so101)
    data = max(bench.test, key=lambda d: float(np.ptp(d.q_des, axis=0).sum())).rows(slice(0, 480))
    smooth = tuple(replace(e, value=0.0) if e.attribute == "coulomb" else e for e in one.estimates)
    texts, met = [], True
    for name, made, bar in (("with friction", one, 1.0), ("smooth", replace(one, estimates=smooth), 0.2)):
        with scratch() as folder:
            path, _ = write_mjcf(made, folder / "found.xml")
            shown = replayed(path, made, data)
        rms = 1e3 * float(np.sqrt(np.mean((shown - made.simulate(data)) ** 2)))
        met &= rms <= bar
        texts.append(f"{name} {rms:.3f} mrad")
    return "SO-101: " + ", ".join(texts), met


def replayed(path: Path, made: CommandIdentification, data: CommandRecording) -> np.ndarray:
    """Positions in MuJoCo by steps near the file's, under delayed commands, its actuators set as the recording says.

    A file has the gains of one setting; a servo that is off, has another voltage or another setting is that one scaled.
    """
    engine, start, table = MuJoCo(path, made.robot), made.runs.of([data]).pieces[0].start, made.table
    model, a, n = engine.model, engine.driving, data.n
    step = float(model.opt.timestep)
    engine.start(start[:n], start[n : 2 * n], step)
    settings = [one.gain for one in made.recordings for _ in one.t]
    setting, on = max(sorted(set(settings)), key=settings.count), data.on()
    gain, bias, force = (np.array(getattr(model, f"actuator_{key}")) for key in ("gainprm", "biasprm", "forcerange"))
    damping, motor = np.array(model.dof_damping), table["duty"] < UNLIMITED
    shown = [start[:n]]
    for k in range(len(data) - 1):
        share, volts = on[k] / setting, on[k] / data.gain
        model.actuator_gainprm[a, 0] = share * gain[a, 0]
        model.actuator_biasprm[a, 0] = share * (bias[a, 0] + table["offset"]) - table["offset"]
        model.actuator_biasprm[a, 1:3] = share[:, None] * bias[a, 1:3]
        model.actuator_forcerange[a] = np.where(motor, volts, 1.0)[:, None] * force[a]
        model.dof_damping[engine.order] = damping[engine.order] - np.where(motor & (on[k] == 0), table["back_emf"], 0.0)
        steps = max(1, round((data.t[k + 1] - data.t[k]) / step))
        edges = np.linspace(data.t[k], data.t[k + 1], steps + 1)
        whole = [held_commands(data.t, data.q_des[:, j], edges - table["delay"][j])[1] for j in range(n)]
        h = float(edges[1] - edges[0])
        shown.append([engine.command(mean, h) for mean in np.diff(np.array(whole), axis=1).T / h][-1])
    return np.array(shown)


@row("Go2: total mass, bodies scaled", "within 25 % of nominal, not at a bound", "33.7 kg by plain identify")
def go2_mass() -> tuple[str, bool]:
    """Total mass of the legs with factors of the bodies free."""
    bench = go2()
    made = identify_from_commands(bench.robot, bench.train, replace(bench.servo, links="scaled"))
    masses = bench.robot.standard_parameters()[9::10]
    scale = made.table["scale"]
    ratio = float(masses @ scale / masses.sum())
    edge = bool(np.any((scale <= 0.301) | (scale >= 2.99)))
    where = "a factor at its bound" if edge else "no factor at a bound"
    return f"{masses.sum():.2f} kg nominal, {100 * (ratio - 1):+.0f} %; {where}", abs(ratio - 1) <= 0.25 and not edge
