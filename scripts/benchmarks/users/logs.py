"""Forty logs as controllers write them, and what `casid import` makes of each: right, asked, or wrong.

Half of them (even numbers) were looked at while the assistant was written; of the other half 19 were right at first and
one asked, which is right since.
"""
# ruff: noqa: E501

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

import casid
from benchmarks.measure import Rows, scratch
from casid.dynamics import Model
from casid.errors import CasidError
from casid.measurement import Answers, Dataset, propose, read_dataset
from casid.retrieval.plausible import plausible_bodies
from casid.testing import motion

row = Rows()

Array = np.ndarray


@dataclass(frozen=True)
class Log:
    """One file: how it is written, and the answers that it needs.

    Attributes
    ----------
    name : str
        Name of the file.
    columns : sequence of (name, signal, joint)
        Signals ``t q dq tau``, those with ``*`` commanded ones, or the text of a status column; joint from 0, -1: none.
    """

    name: str
    columns: Sequence[tuple[str, str, int]]
    robot: str = "ur10e"
    separator: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    before: Sequence[str] = ()
    units_line: Sequence[str] = ()
    groups_line: Sequence[str] = ()
    no_header: bool = False
    after: Sequence[str] = ()
    scale: Mapping[str, float] = field(default_factory=dict)
    gains: Sequence[float] = ()
    form: Mapping[str, Callable[[float], str]] = field(default_factory=dict)
    end: str = "\n"
    trailing: bool = False
    quoted: bool = False
    start: float = 0.0
    sign: Mapping[int, float] = field(default_factory=dict)
    asked: Answers | None = None
    """Answers, where the log leaves something open; then it has to be asked for."""
    refused: bool = False


@cache
def truth(robot: str) -> tuple[Any, Any]:
    """A robot, and a recording of it with plausible bodies and friction, within its limits, at 100 Hz."""
    loaded = casid.load_robot(robot)
    model = Model(loaded, ("viscous", "coulomb", "offset"))
    values = np.concatenate([plausible_bodies(loaded).parameters.ravel(), np.tile([2.0, 1.5, 0.1], loaded.n)])
    t, q, dq, ddq = motion(loaded.n, 1001, 3, speed=0.8)
    middle = np.where(np.isfinite(loaded.limits.lower), (loaded.limits.lower + loaded.limits.upper) / 2, 0.0)
    stroke = np.where(np.isfinite(loaded.limits.lower), loaded.limits.upper - loaded.limits.lower, 2 * np.pi)
    share = np.minimum(1.0, 0.4 * stroke / np.abs(q).max(axis=0))
    q, dq, ddq = q * share + middle, dq * share, ddq * share
    tau = model.inverse_dynamics(q, dq, ddq, values)
    tau = tau + 0.05 * np.random.default_rng(4).normal(size=tau.shape)
    return loaded, Dataset(t, q, tau, dq)


def content(log: Log) -> bytes:
    """Bytes of the file."""
    robot, data = truth(log.robot)
    rng = np.random.default_rng(1)
    arrays = {"t": data.t[:, None] + log.start, "q": data.q, "dq": data.dq, "tau": data.tau.copy()}
    arrays["tau"] = arrays["tau"] * [log.sign.get(k, 1.0) for k in range(robot.n)]
    arrays |= {"q*": data.q + 0.01 * np.sin(7 * data.t)[:, None], "dq*": data.dq + 0.01, "tau*": 0.9 * data.tau + 1.0}
    if log.gains:
        arrays["tau"] = arrays["tau"] / np.array(log.gains)
    rows = []
    for k in range(len(data)):
        cells = []
        for _, signal, joint in log.columns:
            if signal not in arrays:
                fixed = {"count": str(k), "noise": f"{20 + rng.normal():.2f}"}.get(signal, signal)
                cells.append(fixed.replace(".", log.decimal))
                continue
            value = float(arrays[signal][k, max(joint, 0)]) * log.scale.get(signal.rstrip("*"), 1.0)
            text = log.form.get(signal, lambda one: f"{one:.6f}")(value)
            cells.append(text.replace(".", log.decimal) if signal not in log.form else text)
        rows.append(_line(cells, log))
    names = [_line([name for name, *_ in log.columns], log)] if not log.no_header else []
    extra = [_line(list(cells), log) for cells in (log.units_line,) if cells]
    above = [_line(list(cells), log) for cells in (log.groups_line,) if cells]
    text = log.end.join([*log.before, *above, *names, *extra, *rows, *log.after]) + log.end
    return text.encode(log.encoding)


def _line(cells: Sequence[str], log: Log) -> str:
    if log.quoted:
        cells = [f'"{cell}"' for cell in cells]
    return log.separator.join(cells) + (log.separator if log.trailing else "")


def judged(log: Log) -> tuple[str, str]:
    """``right``, ``asked`` or ``wrong``, and why."""
    robot, data = truth(log.robot)
    with scratch() as folder:
        path = folder / log.name
        path.write_bytes(content(log))
        try:
            found = propose(path, robot)
            open_ = "; ".join(f"{one.option}: {one.text}" for one in found.questions)
            if found.questions and log.asked is not None:
                found = propose(path, robot, log.asked)
            if found.questions:
                more = "; ".join(f"{one.option}: {one.text}" for one in found.questions)
                return ("wrong", f"the answers leave open: {more}") if log.asked is not None else ("asked", more)
            if not open_ and (log.asked is not None or log.refused):
                return "wrong", "not asked"
            made = path.with_name("read.toml")
            made.write_text(found.toml(), encoding="utf-8")
            read = read_dataset(made)
        except CasidError as error:
            return "asked", error.message
    off = [
        f"{name} off by {worst:.2g}"
        for name, got, true in (("t", read.t - read.t[0], data.t - data.t[0]), ("q", read.q, data.q), ("tau", read.tau, data.tau),
                                *((("dq", read.dq, data.dq),) if read.dq is not None else ()))
        if got.shape != true.shape or (worst := float(np.abs(got - true).max())) > 2e-3 * max(1.0, float(np.abs(true).max()))
    ]  # fmt: skip
    if off:
        return "wrong", ", ".join(off)
    return ("asked", open_) if open_ else ("right", "")


def block(pattern: str, signal: str, n: int = 6, first: int = 1) -> list[tuple[str, str, int]]:
    """Columns of one signal, ``#`` for the joint's number."""
    return [(pattern.replace("#", str(k + first)), signal, k) for k in range(n)]


def joints(patterns: Mapping[str, str], n: int = 6, first: int = 1) -> list[tuple[str, str, int]]:
    """Columns joint by joint."""
    return [(p.replace("#", str(k + first)), signal, k) for k in range(n) for signal, p in patterns.items()]


DEG = 180.0 / np.pi
MS, US, NS, RPM = {"t": 1e3}, {"t": 1e6}, {"t": 1e9}, 60 / (2 * np.pi)
KT = (9.9, 10.2, 9.1, 6.0, 5.5, 5.1)
_UR = ("shoulder_pan_joint", "shoulder_lift_joint", "elbow_joint", "wrist_1_joint", "wrist_2_joint", "wrist_3_joint")


def _clock(seconds: float) -> str:
    whole = 12 * 3600 + 59 * 60 + 58 + seconds
    return f"2026-05-01 {int(whole // 3600) % 24:02d}:{int(whole // 60) % 60:02d}:{whole % 60:09.6f}"


def _german(seconds: float) -> str:
    return _clock(seconds).replace("2026-05-01", "01.05.2026").replace(".", ",").replace("01,05,2026", "01.05.2026")


def _named(pattern: str, signal: str) -> list[tuple[str, str, int]]:
    return [(pattern.replace("#", name), signal, k) for k, name in enumerate(_UR)]


LOGS: tuple[Log, ...] = (
    Log("kuka_trace.csv", [("Zeit [ms]", "t", -1), *joints({"q": "A#_Istwert [°]", "q*": "A#_Sollwert [°]", "tau": "A#_Moment [Nm]"}), ("Betriebsart", "AUT", -1)],
        separator=";", decimal=",", encoding="cp1252", before=["KUKA Roboter GmbH", "Trace vom 01.05.2026; Gerät: KR C4", ""], scale={**MS, "q": DEG}, end="\r\n"),
    Log("german_excel.csv", [("Zeit [s]", "t", -1), *block("Position Achse # [Grad]", "q"), *block("Drehmoment Achse # [Nm]", "tau")],
        separator=";", decimal=",", encoding="cp1252", scale={"q": DEG}, end="\r\n", trailing=True),
    Log("rtde.csv", [("timestamp", "t", -1), *block("target_q_#", "q*", first=0), *block("actual_q_#", "q", first=0), *block("actual_qd_#", "dq", first=0),
                     *block("actual_current_#", "tau", first=0), ("robot_mode", "7", -1)],
        separator=" ", start=5321.3, gains=KT, asked=Answers(gains=KT)),
    Log("libfranka.csv", [("time", "t", -1), *block("q_#", "q", 7, 0), *block("q_d_#", "q*", 7, 0), *block("dq_#", "dq", 7, 0), *block("tau_J_#", "tau", 7, 0),
                          *block("tau_J_d_#", "tau*", 7, 0), *block("tau_ext_hat_filtered_#", "noise", 7, 0), ("control_command_success_rate", "noise", -1)], robot="panda"),
    Log("excel_unicode.txt", [("Time", "t", -1), *block("Joint # Position (deg)", "q"), *block("Joint # Torque (Nm)", "tau")], separator="\t", encoding="utf-16", scale={"q": DEG}),
    Log("fri_log.txt", [("% time_us", "t", -1), *block("msrJntPos#", "q", 7), *block("cmdJntPos#", "q*", 7), *block("msrTrq#", "tau", 7), *block("extTrq#", "noise", 7)],
        robot="kuka_iiwa", separator="\t", scale=US),
    Log("egm.csv", [("seq", "count", -1), ("time_ms", "t", -1), *block("feedback_joint_#_deg", "q"), *block("planned_joint_#_deg", "q*"), *block("motor_torque_#", "tau")],
        scale={**MS, "q": DEG}),
    Log("plotjuggler.csv", [("__time", "t", -1), *_named("/joint_states/#/position", "q"), *_named("/joint_states/#/velocity", "dq"), *_named("/joint_states/#/effort", "tau")], start=1.7e9),
    Log("two_lines.csv", [("Time", "t", -1), *block("pos#", "q"), *block("vel#", "dq"), *block("trq#", "tau")],
        units_line=["ms", *["deg"] * 6, *["deg/s"] * 6, *["Nm"] * 6], scale={**MS, "q": DEG, "dq": DEG}),
    Log("groups.csv", [("t", "t", -1), *block("A#", "q"), *block("A#", "dq"), *block("A#", "tau")], separator=";",
        groups_line=["Time", "Position", "", "", "", "", "", "Velocity", "", "", "", "", "", "Torque", "", "", "", "", ""]),
    Log("savetxt.txt", [("# t", "t", -1), *block("q#", "q"), *block("tau#", "tau")], separator=" "),
    Log("pandas.csv", [("", "count", -1), ("timestamp_ns", "t", -1), *block("joint#_pos", "q"), *block("joint#_vel", "dq"), *block("joint#_effort", "tau")], scale=NS, start=1000.0,
        form={"t": lambda one: f"{one:.0f}"}),
    Log("clock.csv", [("Timestamp", "t", -1), *block("J#.ActualPosition", "q"), *block("J#.ActualTorque", "tau")], form={"t": _clock}),
    Log("uhrzeit.csv", [("Datum/Uhrzeit", "t", -1), *block("Winkel_A#", "q"), *block("Moment_A#", "tau"), ("Status", "LÄUFT", -1)], separator=";", decimal=",",
        encoding="cp1252", scale={"q": DEG}, form={"t": _german}),
    Log("plain_degrees.csv", [("t", "t", -1), *block("q#", "q"), *block("dq#", "dq"), *block("tau#", "tau")], scale={"q": DEG, "dq": DEG}),
    Log("milliseconds.csv", [("time", "t", -1), *block("q#", "q"), *block("tau#", "tau")], scale=MS),
    Log("rpm.csv", [("t[s]", "t", -1), *block("q#[rad]", "q"), *block("n#[rpm]", "dq"), *block("M#[Nm]", "tau")], scale={"dq": RPM}),
    Log("millinewton.csv", [("t", "t", -1), *block("q#", "q"), *block("tau# [mNm]", "tau")], scale={"tau": 1e3}),
    Log("fanuc.dt", [("Tick", "count", -1), ("Time(s)", "t", -1), *block("J#(deg)", "q"), *block("J# Torque(Nm)", "tau"), ("Alarm", "-", -1)], scale={"q": DEG},
        before=["DATA MONITOR", "Program: EXCITE", ""]),
    Log("footer.csv", [("t", "t", -1), *block("q#", "q"), *block("tau#", "tau")], after=["", "End of record", "Samples: 900"]),
    Log("cut.csv", [("t", "t", -1), *block("q#", "q"), *block("tau#", "tau")], after=["9.01,0.1,0.2"]),
    Log("quoted.csv", [("Time", "t", -1), *block("Pos #", "q"), *block("Torque #", "tau")], quoted=True, decimal=","),
    Log("decimal_commas.csv", [("t", "t", -1), *block("q#", "q"), *block("tau#", "tau")], decimal=",", refused=True),
    Log("no_header.csv", [("t", "t", -1), *block("q#", "q"), *block("tau#", "tau")], no_header=True),
    Log("no_time.csv", [("sample", "count", -1), *block("q#", "q"), *block("tau#", "tau")], before=["# rate 100 Hz"], asked=Answers(rate=100.0)),
    Log("kilo.csv", [("t", "t", -1), *block("ActPos#", "q"), *block("ActTorque# [kNm]", "tau")], scale={"tau": 1e-3}, form={"tau": lambda one: f"{one:.9f}"}),
    Log("reversed.csv", [("t", "t", -1), *block("q#", "q"), *block("tau#", "tau")], sign={1: -1.0, 4: -1.0}, asked=Answers(reversed=(2, 5))),
    Log("codesys.csv", [("TimeStamp", "t", -1), *block("GVL.Axis[#].fActPosition", "q"), *block("GVL.Axis[#].fActTorque", "tau")], separator=";", scale={**US, "q": DEG}),
    Log("twincat.csv", [("Name", "t", -1), *block("Axis # ActPos", "q"), *block("Axis # ActTorque", "tau")], separator="\t", decimal=",", scale={**MS, "q": DEG},
        before=["File\tC:\\scope\\run.svdx", "Starttime of export\t133000000", ""]),
    Log("staubli.csv", [("temps (s)", "t", -1), *block("position axe # (deg)", "q"), *block("couple axe # (Nm)", "tau")], separator=";", decimal=",", encoding="latin-1",
        before=["Société Stäubli"], scale={"q": DEG}),
    Log("bars.txt", [("t", "t", -1), *block("q#", "q"), *block("dq#", "dq"), *block("tau#", "tau")], separator=" | "),
    Log("crlf_bom.csv", [("time", "t", -1), *block("joint_position_#", "q"), *block("joint_torque_#", "tau")], encoding="utf-8-sig", end="\r\n"),
    Log("shuffled.csv", [("t", "t", -1), *reversed(block("q#", "q")), *block("tau#", "tau")]),
    Log("ros_named.csv", [("stamp", "t", -1), *_named("#_pos", "q"), *_named("#_vel", "dq"), *_named("#_eff", "noise"), *_named("#_torque", "tau")], start=1.6e9),
    Log("external_axis.csv", [("Zeit [s]", "t", -1), *block("AchsIst_A# [deg]", "q"), ("AchsIst_E1 [deg]", "noise", -1), *block("MomentIst_A# [Nm]", "tau"), ("MomentIst_E1 [Nm]", "noise", -1)],
        separator=";", scale={"q": DEG}),
    Log("motor_side.csv", [("t", "t", -1), *block("q#", "q"), *block("motor_speed#", "dq"), *block("tau#", "tau")], scale={"dq": 101.0}),
    Log("temperatures.csv", [("t", "t", -1), *joints({"q": "axis#_angle_rad", "noise": "axis#_temp_C", "tau": "axis#_torque_Nm"})]),
    Log("thousands.csv", [("Zeit [ms]", "t", -1), *block("Position # [rad]", "q"), *block("Moment # [Nm]", "tau")], separator=";", decimal=",", scale=MS,
        form={"t": lambda one: f"{one:,.2f}".replace(",", "_").replace(".", ",").replace("_", ".")}),
    Log("actuators.csv", [("Time (ms)", "t", -1), *block("Actuator # position", "q", 7), *block("Actuator # velocity", "dq", 7), *block("Actuator # torque", "tau", 7)],
        robot="kuka_iiwa", scale={**MS, "q": DEG, "dq": DEG}),
    Log("lab.csv", [("t (s)", "t", -1), *block("th# (rad)", "q"), *block("thd# (rad/s)", "dq"), *block("u# (N.m)", "tau"), ("notes", "ok", -1)]),
)  # fmt: skip


@row("40 messy logs through `casid import`", "36 right without a question, 4 asked, 0 wrong without a word", "0.2: 3")
def _logs() -> tuple[str, bool]:
    found = {log.name: judged(log) for log in LOGS}
    counts = {word: sum(what == word for what, _ in found.values()) for word in ("right", "asked", "wrong")}
    bad = "; ".join(f"{name}: {why}" for name, (what, why) in found.items() if what == "wrong")
    text = ", ".join(f"{count} {word}" for word, count in counts.items())
    return f"{text}{f' ({bad})' if bad else ''}", counts["right"] >= 36 and counts["wrong"] == 0
