"""Identified servos in the files of other simulators: Isaac, PACE, mjlab, BAM; ranges for randomisation."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from casid.drives._identify import CommandIdentification
from casid.drives._mjcf import write_mjcf
from casid.drives._servo import TERMS_WITHOUT_PLACE, UNLIMITED
from casid.errors import ExportError
from casid.files import json_bytes, write_files

Notes = tuple[str, ...]

#: Physics step that delays are counted in where a format counts them so [s]; the default of Isaac Lab and of mjlab.
STEP = 0.005


class ActuatorFormat(NamedTuple):
    """A kind of file about servos.

    Attributes
    ----------
    endings : tuple of str
        That name it.
    meaning : str
        For messages.
    text : callable
        Content and what the format cannot hold.
    replaces : bool
        Whether it is of servos of the plain law, fitted again without other terms.
    """

    endings: tuple[str, ...]
    meaning: str
    text: Callable[[CommandIdentification], tuple[str, Notes]]
    replaces: bool = True


def write_actuators(found: CommandIdentification, path: str | Path) -> tuple[Path, Notes]:
    """Write the identified servos for another simulator; the ending of the file names the format (`FORMATS`).

    Returns
    -------
    path : Path
    notes : tuple of str
        What the format cannot hold.

    Raises
    ------
    ExportError
        If no format has this ending.
    """
    path = Path(path)
    if path.suffix in (".xml", ".mjcf"):
        return write_mjcf(found, path)
    one = format_of(path)
    found, lost = found.without(_REPLACED if one.replaces else {})
    content, notes = one.text(found)
    write_files(path.parent, {path.name: content})
    return path, (*lost, *notes)


def format_of(path: Path) -> ActuatorFormat:
    """Format of a file by its ending.

    Raises
    ------
    ExportError
        If no format has this ending.
    """
    for one in FORMATS:
        if path.name.endswith(one.endings) and path.name not in one.endings:
            return one
    known = "; ".join(f"{one.endings[0]}: {one.meaning}" for one in FORMATS)
    raise ExportError(f"'{path.name}': the ending names the format; .xml: MJCF; {known}")


def _names(found: CommandIdentification) -> list[str]:
    return [joint.name for joint in found.robot.coordinates]


def _values(found: CommandIdentification, attribute: str) -> dict[str, float]:
    return {name: float(value) for name, value in zip(_names(found), found.table[attribute], strict=True)}


def _limits(found: CommandIdentification) -> dict[str, float]:
    """Torque limits that were found or given, of others the robot's own; without either, none."""
    own = np.asarray(found.robot.limits.effort, dtype=float)
    limits = found.table["limit"]
    return {name: float(limit if limit < UNLIMITED else other) for name, limit, other in
            zip(_names(found), limits, own, strict=True) if min(limit, other) < UNLIMITED}  # fmt: skip


def _steps(found: CommandIdentification) -> dict[str, int]:
    return {name: round(value / STEP) for name, value in _values(found, "delay").items()}


#: What a format may have no place for, by attribute; {}: its values.
_LOST = {
    "bias": "command offsets are left out: add them to the commands ({})",
    "offset": "constant torques are left out ({})",
    "delay": "the delay is left out: delay the commands by it ({})",
    "scale": "the factors of the bodies are left out: --mjcf or --urdf write scaled bodies ({})",
    "back_emf": "the damping of the motors while they are on is left out: add it to that of the servos ({})",
    "tilt_x": "the base's tilt is left out: --mjcf writes gravity as it acts",
}
#: Terms that these formats do not hold: everything else is fitted again without them.
_REPLACED = {
    **TERMS_WITHOUT_PLACE,
    "stiffness": "elasticity (--mjcf writes joints for it)",
    "backlash": "backlash (--mjcf writes joints for it)",
}


def _lost(found: CommandIdentification, *held: str) -> Notes:
    """Notes on what was found and a format has no place for, beyond what it holds."""
    table, notes = found.table, [f"delays are rounded to physics steps of {1e3 * STEP:g} ms"] * ("steps" in held)
    here = {
        **{attribute: np.any(table[attribute]) for attribute in _LOST},
        "scale": np.any(table["scale"] != 1.0),
        "tilt_x": np.any(table["tilt_x"]) or np.any(table["tilt_y"]),
    }
    for attribute, text in _LOST.items():
        if attribute not in held and here[attribute]:
            notes.append(text.format(", ".join(f"{k} {v:.3g}" for k, v in _values(found, attribute).items())))
    unsure = [e.name for e in found.estimates if not e.determined]
    if unsure:
        notes.append(f"not determined by the data, written as assumed: {', '.join(unsure)}")
    return tuple(notes)


def isaac_usd(found: CommandIdentification) -> tuple[str, Notes]:
    """Layer of overrides of joint drives (UsdPhysics.DriveAPI, PhysxJointAxisAPI), angular values per degree.

    A sublayer of the robot's own USD file: its prims ``/robot/joints/<joint>`` (Isaac's importers) gain a drive.
    """
    lines, table = [], found.table
    for k, joint in enumerate(found.robot.coordinates):
        turning = joint.type == "revolute"
        axis, degree = ("angular", np.pi / 180.0) if turning else ("linear", 1.0)
        drive, physx = f"drive:{axis}:physics", f"physxJointAxis:{axis}"
        limit = _limits(found).get(joint.name)
        rows = {
            f"{drive}:stiffness": table["kp"][k] * degree,
            f"{drive}:damping": table["kd"][k] * degree,
            **({} if limit is None else {f"{drive}:maxForce": limit}),
            f"{physx}:armature": table["armature"][k],
            f"{physx}:staticFrictionEffort": table["coulomb"][k],
            f"{physx}:dynamicFrictionEffort": table["coulomb"][k],
            f"{physx}:viscousFrictionCoefficient": table["viscous"][k] * degree,
        }
        apis = f'prepend apiSchemas = ["PhysicsDriveAPI:{axis}", "PhysxJointAxisAPI:{axis}"]'
        body = "".join(f"            float {key} = {value:.9g}\n" for key, value in rows.items())
        kind = f'            uniform token {drive}:type = "force"\n'
        head = f'        over "{_identifier(joint.name)}" (\n            {apis}\n        )\n'
        lines.append(f"{head}        {{\n{kind}{body}        }}\n")
    root = _identifier(found.robot.name)
    text = f'#usda 1.0\n(\n    defaultPrim = "{root}"\n    metersPerUnit = 1\n    kilogramsPerUnit = 1\n)\n\n'
    text += f'over "{root}"\n{{\n    over "joints"\n    {{\n' + "\n".join(lines) + "    }\n}\n"
    return text, _lost(found)


def _identifier(name: str) -> str:
    """A name as a USD prim has it: letters, digits and underscores, no digit first."""
    made = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in name)
    return f"_{made}" if not made or made[0].isdigit() else made


def _isaac(found: CommandIdentification) -> dict[str, Any]:
    """Fields that Isaac Lab's actuators share, one value a joint."""
    return {
        "joint_names_expr": _names(found),
        "stiffness": _values(found, "kp"),
        "damping": _values(found, "kd"),
        "armature": _values(found, "armature"),
        "friction": _values(found, "coulomb"),
        "dynamic_friction": _values(found, "coulomb"),
        "viscous_friction": _values(found, "viscous"),
        **({"effort_limit": limits} if (limits := _limits(found)) else {}),
    }


def isaac_json(found: CommandIdentification) -> tuple[str, Notes]:
    """Keyword arguments of Isaac Lab's ``DelayedPDActuatorCfg``, one group for the whole robot."""
    steps = _steps(found).values()
    group = {"class_type": "DelayedPDActuator", **_isaac(found), "min_delay": min(steps), "max_delay": max(steps)}
    record = {"physics_dt": STEP, "actuators": {found.robot.name: group}}
    return json_bytes(record).decode() + "\n", _lost(found, "delay", "steps")


def pace_yaml(found: CommandIdentification) -> tuple[str, Notes]:
    """Keyword arguments of PACE's ``PaceDCMotorCfg``: its law is ``kp (q_des - (q + encoder_bias)) - kd dq``."""
    velocity = np.asarray(found.robot.limits.velocity, dtype=float)
    speeds = {n: float(v) for n, v in zip(_names(found), velocity, strict=True) if np.isfinite(v)}
    limits = _limits(found)
    group = {
        **_isaac(found),
        **({"saturation_effort": max(limits.values())} if limits else {}),
        **({"velocity_limit": speeds} if speeds else {}),
        "encoder_bias": [-float(b) for b in found.table["bias"]],
        "max_delay": max(_steps(found).values()),
    }
    return _yaml({"physics_dt": STEP, "pace_actuator": group}).lstrip() + "\n", _lost(found, "bias", "delay", "steps")


def mjlab_yaml(found: CommandIdentification) -> tuple[str, Notes]:
    """Keyword arguments of mjlab's ``BuiltinPositionActuatorCfg``, one group a joint: its fields are single numbers."""
    limits, steps = _limits(found), _steps(found)
    groups = []
    for k, name in enumerate(_names(found)):
        table = {key: float(value[k]) for key, value in found.table.items()}
        limit = {"effort_limit": limits[name]} if name in limits else {}
        groups.append({
            "target_names_expr": [name], "stiffness": table["kp"], "damping": table["kd"], **limit,
            "armature": table["armature"], "frictionloss": table["coulomb"], "viscous_damping": table["viscous"],
            "delay_min_lag": steps[name], "delay_max_lag": steps[name],
        })  # fmt: skip
    return _yaml({"timestep": STEP, "actuators": groups}).lstrip() + "\n", _lost(found, "delay", "steps")


def bam_json(found: CommandIdentification) -> tuple[str, Notes]:
    """Parameters of BAM's model M1 (Coulomb and viscous friction), one entry a joint; each may be a file of its own."""
    made = {}
    for k, name in enumerate(_names(found)):
        table = {key: float(value[k]) for key, value in found.table.items()}
        made[name] = {
            "model": "m1", "actuator": name, "armature": table["armature"], "friction_base": table["coulomb"],
            "friction_viscous": table["viscous"] + table["kd"], "command_delay": table["delay"],
            "stiffness": table["kp"],
        }  # fmt: skip
    lost = ("kt and R do not follow from commands and encoders: give those of the motor; stiffness is vin error_gain "
            "firmware_kp kt / R, and friction_viscous holds kt^2 / R",
            "actuator: put the name of BAM's actuator")  # fmt: skip
    return json.dumps(made, indent=2) + "\n", (*lost, *_lost(found, "delay"))


def ranges_json(found: CommandIdentification) -> tuple[str, Notes]:
    """Ranges for randomisation: the 95 % interval of each unknown; what the data leave open is named, not given."""
    drawn, left = [], {}
    for e in found.estimates:
        if not e.determined:
            left[e.name] = e.words
            continue
        joints = [_names(found)[k] for k in e.joints]
        drawn.append({"name": e.name, "attribute": e.attribute, "joints": joints, "unit": e.unit, "value": e.value,
                      "sd": e.sd, "range": [e.low, e.high]})  # fmt: skip
    chosen = [k for k, e in enumerate(found.estimates) if e.determined]
    part = found.covariance[np.ix_(chosen, chosen)]
    sd = np.sqrt(np.maximum(np.diag(part), 1e-300))
    record = {"robot": found.robot.name, "distribution": "normal, cut at the range", "parameters": drawn,
              "correlation": (part / np.outer(sd, sd)).tolist(), "not_determined": left}  # fmt: skip
    notes = (f"not determined, without a range: {', '.join(left)}",) if left else ()
    return json_bytes(record).decode() + "\n", notes


#: Formats in the order in which their endings are looked at.
FORMATS: tuple[ActuatorFormat, ...] = (
    ActuatorFormat((".usda",), "Isaac, drives as a USD layer", isaac_usd),
    ActuatorFormat((".isaac.json",), "Isaac Lab, actuator configuration", isaac_json),
    ActuatorFormat((".pace.yaml", ".pace.yml"), "PACE, actuator configuration", pace_yaml),
    ActuatorFormat((".mjlab.yaml", ".mjlab.yml"), "mjlab, actuator configurations", mjlab_yaml),
    ActuatorFormat((".bam.json",), "BAM, parameters of model M1", bam_json),
    ActuatorFormat((".ranges.json",), "ranges for randomisation", ranges_json, False),
)


def _yaml(value: Any, margin: str = "\n") -> str:
    """YAML of mappings, lists of mappings or numbers, texts and numbers; texts as in JSON, which YAML 1.2 includes."""
    if isinstance(value, Mapping):
        return "".join(f"{margin}{json.dumps(key)}: {_yaml(one, margin + '  ')}" for key, one in value.items())
    if isinstance(value, list):
        if value and isinstance(value[0], Mapping):
            return "".join(f"{margin}-{_yaml(one, margin + '  ')}" for one in value)
        return f"[{', '.join(map(_yaml, value))}]"
    text = f"{value:.9g}" if isinstance(value, float) else json.dumps(value)
    return text.replace("e", ".0e") if isinstance(value, float) and "e" in text and "." not in text else text
