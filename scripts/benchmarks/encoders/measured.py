"""Rows on recordings: held-out free runs beside CMA-ES, effort, random starts, repeatability, EMPS, replay in MuJoCo."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.encoders import cma_es
from benchmarks.encoders.data import Bench, emps, go2, so101, xl330
from benchmarks.measure import need
from casid.output_error import CommandIdentification, CommandRecording, FreeRuns, Servo, SimulationOptions, Unknown
from casid.output_error import FREE, identify_from_commands, write_mjcf

#: IDIM-LS of Janot et al. (2019), see the data's README: M, fv, fc, offset.
PUBLISHED_EMPS = np.array([95.1089, 203.5034, 20.3935, -3.1648])
BENCHES: tuple[Callable[[], Bench], ...] = (so101, go2, xl330)
#: Runs of CMA-ES a seed.
ROLLOUTS = {"SO-101": 3000, "Go2": 8000, "XL330": 3000}


@cache
def found(make: Callable[[], Bench]) -> CommandIdentification:
    """The result on the training motions."""
    bench = make()
    return identify_from_commands(bench.robot, bench.train, bench.servo)


def against_cma(seeds: Sequence[int], share: float = 1.0) -> tuple[str, bool]:
    """Held-out error over that of the best seed of CMA-ES, on each robot."""
    need("cma", "encoders")
    texts, met = [], True
    for make in BENCHES:
        bench, mine = make(), found(make)
        count = int(ROLLOUTS[bench.name] * share)
        peers = [1e3 * cma_es.fitted(bench, seed, count)["test"] for seed in seeds]
        own = 1e3 * mine.error_of(bench.test)
        met &= own <= 0.9 * min(peers)
        listed = ", ".join(f"{value:.1f}" for value in peers)
        texts.append(f"{bench.name} {own:.1f} mrad, CMA-ES ({count} runs) {listed}: {own / min(peers):.2f}")
    return "; ".join(texts), met


def richer_friction() -> tuple[str, bool]:
    """The same motions with dry friction that depends on load and speed, beside the plain law."""
    texts, better = [], True
    for make in BENCHES:
        bench = make()
        servo = replace(bench.servo, load_friction=FREE, stribeck=FREE, stribeck_speed=Unknown(0.1, 0.1, 0.01, 2.0))
        made = identify_from_commands(bench.robot, bench.train, servo)
        plain, rich = (1e3 * one.error_of(bench.test) for one in (found(make), made))
        better &= rich <= plain
        texts.append(f"{bench.name} {plain:.1f} -> {rich:.1f} mrad")
    return "; ".join(texts), better


def effort() -> tuple[str, bool]:
    """Runs with derivatives counted as what they cost, simulated time of one run, wall time."""
    texts, met = [], True
    for make in BENCHES:
        one = found(make)
        met &= one.rollouts <= 100 and one.seconds <= 20
        texts.append(f"{make().name} {one.rollouts:.0f} runs of {one.simulated:.0f} s, {one.seconds:.1f} s")
    return "; ".join(texts), met


def random_starts(count: int) -> tuple[str, bool]:
    """Random starts over four decades and none: errors over the best."""
    texts, met = [], True
    for make in BENCHES:
        bench, best = make(), found(make)
        rng, p = np.random.default_rng(0), best.runs.parameters
        bias = np.array([x.attribute in ("bias", "delay") for x in p])
        errors = [best.error]
        for _ in range(count):
            wild = np.where(bias, rng.uniform(-0.1, 0.1, len(p)), np.maximum(best.theta, 1e-4) * 10 ** rng.uniform(-2, 2, len(p)))
            errors.append(identify_from_commands(bench.robot, bench.train, bench.servo, start=wild).error)
        near = sum(e <= 1.03 * min(errors) for e in errors[1:])
        met &= near == count and errors[0] <= 1.03 * min(errors)
        texts.append(f"{bench.name} {near} of {count}, none given {errors[0] / min(errors):.3f}")
    return "; ".join(texts), met


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
        inside = [
            abs(x.value - y.value) <= np.hypot(max(x.high - x.value, x.value - x.low), max(y.high - y.value, y.value - y.low))
            for x, y in zip(a.estimates, b.estimates, strict=True)
            if x.determined and y.determined
        ]
        met &= bool(np.mean(inside) >= 0.9)
        texts.append(f"{name}: {sum(inside)} of {len(inside)}")
    return "; ".join(texts), met


def emps_free_run() -> tuple[str, bool]:
    """Free run over the samples after the training part from the force alone, the state of the first 20 given."""
    bench, _ = emps()
    options = SimulationOptions(step=1e-3, longest=6.0, coarse=np.inf, folds=0, budget=200.0)
    servo = replace(bench.servo, stribeck=FREE, stribeck_speed=Unknown(0.05, 0.05, 0.005, 0.5))
    made = identify_from_commands(bench.robot, bench.train, servo, options)

    def error(runs: FreeRuns, theta: np.ndarray) -> float:
        return 1e3 * float(runs.errors(runs.point(theta))[0])

    (whole,) = bench.test
    given = _with_start(whole)
    plain = FreeRuns(bench.robot, bench.servo, [given], 1e-3, np.inf, 1)
    rich = FreeRuns(bench.robot, servo, [given], 1e-3, np.inf, 1)
    ours, published = error(rich, made.theta), error(plain, PUBLISHED_EMPS)
    return f"{ours:.2f} mm, IDIM-LS of Janot et al. on the same samples {published:.2f}: {ours / published:.2f}", (
        ours < 0.5 * published
    )


def _with_start(data: CommandRecording) -> CommandRecording:
    """The recording from its twentieth sample, whose state the first twenty give."""
    return data.rows(slice(10, len(data)))


def replay() -> tuple[str, bool]:
    """The written MJCF under the same commands in MuJoCo, with the identified friction and without."""
    mujoco = need("mujoco", "peers")
    bench = so101()
    one = found(so101)
    data = max(bench.test, key=lambda d: float(np.ptp(d.q_des, axis=0).sum())).rows(slice(0, 600))
    texts, met = [], True
    for name, bar in (("with friction", 1.0), ("smooth", 0.2)):
        values = {key: list(value) for key, value in one.table.items() if key in Servo.__dataclass_fields__}
        values = {key: value for key, value in values.items() if key not in ("scale", "duty", "limit")}
        values["delay"] = [0.0] * bench.robot.n
        if name == "smooth":
            values["coulomb"] = [0.0] * bench.robot.n
        servo = Servo(**{**values, "coulomb": [Unknown(v, 1e-9) if not i else v for i, v in enumerate(values["coulomb"])]})
        made = identify_from_commands(bench.robot, [data], servo, SimulationOptions(iterations=1, folds=0, longest=1e3))
        if name == "smooth":
            made = replace(made, estimates=tuple(replace(e, value=0.0) for e in made.estimates))
        with tempfile.TemporaryDirectory() as folder:
            path, _ = write_mjcf(made, Path(folder) / "found.xml")
            shown = mujoco_run(mujoco, path, data)
        mine = made.simulate(data)
        rms = 1e3 * float(np.sqrt(np.mean((shown - mine) ** 2)))
        met &= rms <= bar
        texts.append(f"{name} {rms:.3f} mrad")
    return "SO-101: " + ", ".join(texts), met


def mujoco_run(mujoco: object, path: Path, data: CommandRecording) -> np.ndarray:
    """Positions of the actuated joints in MuJoCo, every command held until the next."""
    model = mujoco.MjModel.from_xml_path(str(path))  # type: ignore[attr-defined]
    state = mujoco.MjData(model)  # type: ignore[attr-defined]
    joints = [model.actuator_trnid[k, 0] for k in range(model.nu)]
    place, speed = model.jnt_qposadr[joints], model.jnt_dofadr[joints]
    runs_start = FreeRuns.__init__  # the state of the first sample is that of the free run
    del runs_start
    from casid.output_error._runs import noise_of, piece_of

    start = piece_of(data, slice(0, len(data)), 5e-3, noise_of(np.asarray(data.q))).start
    state.qpos[place], state.qvel[speed] = start[: data.n], start[data.n :]
    shown = [state.qpos[place].copy()]
    for k in range(len(data) - 1):
        state.ctrl[:] = data.q_des[k]
        span = data.t[k + 1] - data.t[k]
        steps = max(1, round(span / 0.002))
        model.opt.timestep = span / steps
        for _ in range(steps):
            mujoco.mj_step(model, state)  # type: ignore[attr-defined]
        shown.append(state.qpos[place].copy())
    return np.array(shown)


def go2_mass() -> tuple[str, bool]:
    """Total mass of the legs with factors of the bodies free."""
    bench = go2()
    made = identify_from_commands(bench.robot, bench.train, replace(bench.servo, links="scaled"))
    masses = bench.robot.standard_parameters()[9::10]
    scale = made.table["scale"]
    ratio = float(masses @ scale / masses.sum())
    edge = bool(np.any((scale <= 0.301) | (scale >= 2.99)))
    return f"{masses.sum():.2f} kg nominal, {100 * (ratio - 1):+.0f} %; {'a factor at its bound' if edge else 'no factor at a bound'}", (
        abs(ratio - 1) <= 0.25 and not edge
    )
