"""What commands write, from the files themselves."""

from __future__ import annotations

import atexit
import json
import tempfile
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import casid
from casid.description import Limits, Robot, write_robot
from casid.export import load
from casid.inertia import consistency
from tests.contract.case import Case
from tests.contract.recordings import embodied, simulated
from tests.helpers import run

_FOLDER = tempfile.TemporaryDirectory(prefix="casid-contract-")
atexit.register(_FOLDER.cleanup)


def folder(name: str) -> Path:
    return Path(_FOLDER.name) / name


def arm(load_mass: float = 0.0) -> Robot:
    """Three links with limits, and a heavier last link."""
    robot = embodied(casid.load_robot("three_link"), 2)
    ends = [np.full(3, limit) for limit in (-2.5, 2.5, 2.0, 8.0, 60.0, 60.0)]
    *rest, last = robot.joints
    body = last.link.inertial
    assert body is not None
    mass = body.mass + load_mass
    com = (body.mass * body.com + load_mass * np.array([0.05, 0.0, 0.1])) / mass
    heavier = replace(last, link=replace(last.link, inertial=replace(body, mass=mass, com=com)))
    changes = {"name": "arm", "limits": Limits(*ends), "origin": None}
    return replace(robot, joints=(*rest, heavier), **changes)


@cache
def arm_file() -> Path:
    path = folder("arm.toml")
    write_robot(arm(), path)
    return path


@cache
def recording(load_mass: float = 0.0) -> Path:
    """Eight seconds; the same friction with and without the load."""
    path = folder(f"recording{load_mass:g}.npz")
    data = simulated(arm(load_mass), 2, friction_of=arm())
    np.savez(path, t=data.t, q=data.q, tau=data.tau)
    return path


@cache
def identified(load_mass: float = 0.0) -> Path:
    out = folder(f"result{load_mass:g}")
    run("identify", arm_file(), recording(load_mass), "--quick", "--out", out)
    return out


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def simulate(*options: object) -> dict[str, Any]:
    """Samples of a recording, and the balance of energy."""
    out = folder("run")
    run("simulate", arm_file(), "--duration", 3, "--out", out, "--seed", 3, *options)
    with np.load(out / "recording.npz") as made:
        rows = {name: made[name][200::900].tolist() for name in ("t", "q", "tau")}
    record = read(out / "simulation.json")
    del record["energy"]["relative_imbalance"]
    return rows | {key: record[key] for key in ("samples", "rms_error", "largest_error", "energy")}


def identify() -> dict[str, Any]:
    """Without held-out parts and verdict, as `--quick` has it."""
    record = read(identified() / "identification.json")
    return {
        "parameters": record["parameters"],
        "error": record["relative_error"]["feasible"],
        "rank": record["rank"],
        "certified": record["certified"],
    }


def validate() -> dict[str, Any]:
    """The prediction of another recording."""
    out = folder("validated")
    run("validate", arm_file(), identified(), recording(0.4), "--out", out)
    record = read(out / "validation.json")
    return {key: record[key] for key in ("samples", "relative_error", "joints")}


def payload(against: str) -> dict[str, Any]:
    """A load of 0.4 kg, beside a recording or an identification without it."""
    out = folder(f"payload_{against}")
    beside = recording() if against == "without" else identified() / "identification.json"
    run("payload", arm_file(), recording(0.4), f"--{against}", beside, "--out", out)
    record = read(out / "payload.json")
    return {key: value for key, value in record.items() if key not in ("controllers", "notes")}


def compare() -> dict[str, Any]:
    """Two identifications, without and with a load."""
    out = folder("compared")
    run("compare", identified(), identified(0.4), "--out", out)
    record = read(out / "comparison.json")
    numbers = ("before", "after", "sd", "p", "significant", "torque")
    found = {one["expression"]: {key: one[key] for key in numbers} for one in record["differences"]}
    return {"inflation": record["inflation"], "differences": found}


def excite(*options: object) -> dict[str, Any]:
    """A short design."""
    out = folder("motion" + "".join(map(str, options)))
    run("excite", arm_file(), "--samples", 40, "--iterations", 15, "--out", out, *options)
    record = read(out / "excitation.json")
    certified = all(limit["certified"] for limit in record["limits"])
    keys = ("value", "condition_number", "parameters", "standard_deviations", "violations")
    return {key: record[key] for key in keys} | {"certified": certified}


def export(robot: str, *options: object) -> dict[str, Any]:
    """Values of the C functions at seeded states."""
    out = folder(f"code_{robot}")
    run("export", robot, "--out", out, *options)
    rng, values = np.random.default_rng(0), {}
    given: dict[str, np.ndarray] = {}
    for name, function in load(out).items():
        names = enumerate(function.name_in())
        arguments = [given.setdefault(key, rng.uniform(-1, 1, function.shape_in(k))) for k, key in names]
        made = function(*arguments)
        outputs = made if isinstance(made, tuple) else (made,)
        values[name] = [float(f(np.asarray(one))) for one in outputs for f in (np.sum, np.linalg.norm)]
    return values


def check() -> dict[str, Any]:
    """The repair of a robot with an impossible body."""
    robot = arm()
    first, *rest = robot.joints
    assert first.link.inertial is not None
    moments = np.diag([0.001, 0.001, 0.05])
    wrong = replace(first, link=replace(first.link, inertial=replace(first.link.inertial, inertia_com=moments)))
    path, out = folder("wrong.toml"), folder("repaired")
    write_robot(replace(robot, joints=(wrong, *rest)), path)
    run("check", path, "--out", out, code=1)
    (made,) = out.glob("*.toml")
    tens = casid.load_robot(made).standard_parameters().reshape(-1, 10)
    return {"standard": tens.tolist(), "consistent": [consistency(ten).full for ten in tens]}


FUNCTIONS = ("--functions", "inverse_dynamics,mass_matrix,forward_dynamics,gravity,coriolis")
MOTION = ("--duration", 5, "--harmonics", 3)
CASES: dict[str, Case] = {
    "simulate": Case(partial(simulate, "--term-values", "viscous=0.2,coulomb=0.3", "--noise", "1e-5,1e-3,0.02")),
    "simulate pd": Case(partial(simulate, "--controller", "pd-gravity", "--bandwidth", 12, "--control-delay", 0.002)),
    "identify --quick": Case(identify),
    "validate": Case(validate),
    "payload --without": Case(partial(payload, "without"), slow=False),
    "payload --identification": Case(partial(payload, "identification")),
    "compare": Case(compare),
    "excite": Case(partial(excite, *MOTION)),
    "excite --payload": Case(partial(excite, *MOTION, "--payload")),
    "excite poses": Case(partial(excite, "--basis", "poses", "--poses", 12)),
    "export ur10e": Case(partial(export, "ur10e", *FUNCTIONS), slow=False),
    "export panda all": Case(partial(export, "panda", "--functions", "all", "--runtime-parameters", "standard")),
    "check": Case(check, slow=False),
}
