"""Two identifications of one robot, e.g. before and after service: which parameters differ beyond their deviations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from casid.arrays import Array
from casid.errors import DatasetError
from casid.evidence import CONFIDENCE, robust_sd
from casid.identification._identification import Identification, read_record

#: Base parameters from which the spread of the differences can be judged.
_ENOUGH = 8


@dataclass(frozen=True)
class Difference:
    """One base parameter in both identifications.

    Attributes
    ----------
    name, expression : str
        Of the base parameter.
    before, after : float
        Unconstrained estimates (SI).
    sd : float
        Standard deviation of ``after - before``, widened by `Comparison.inflation`.
    p : float
        Probability of a difference at least as large by chance, corrected for the number of parameters (Holm 1979).
    torque : float
        Torque that the difference makes [N.m]: ``|after - before|`` times the root mean square of its column of the
        regressor, at the joint where it is largest; NaN where the records are of an earlier version.
    joint : str
        That joint.
    """

    name: str
    expression: str
    before: float
    after: float
    sd: float
    p: float
    torque: float
    joint: str

    @property
    def change(self) -> float:
        """``after - before``."""
        return self.after - self.before

    @property
    def significant(self) -> bool:
        """Whether chance explains the difference with less than ``1 - CONFIDENCE``."""
        return self.p < 1.0 - CONFIDENCE


@dataclass(frozen=True, eq=False)
class Comparison:
    """Differences of two identifications.

    Attributes
    ----------
    before, after : dict
        Their records, see `Identification.record`.
    names : tuple of str
        What to call them.
    differences : tuple of Difference
        Of the base parameters that both have, most significant first.
    inflation : float
        Factor, at least 1, by which the deviations were widened so that the bulk of the differences agrees with
        chance: median of ``|d| / sd`` over 0.6745 (empirical null, Efron 2004). What the model leaves out acts on two
        motions differently, which the deviations of one recording do not show.
    unmatched : tuple of str
        Base parameters that only one has; its joint terms or its masked joints are others.
    notes : tuple of str
    """

    before: dict[str, Any]
    after: dict[str, Any]
    names: tuple[str, str]
    differences: tuple[Difference, ...]
    inflation: float
    unmatched: tuple[str, ...]
    notes: tuple[str, ...]

    @cached_property
    def significant(self) -> tuple[Difference, ...]:
        """Differences that chance does not explain."""
        return tuple(one for one in self.differences if one.significant)

    @property
    def line(self) -> str:
        """Result in one line."""
        found, total = self.significant, len(self.differences)
        if not found:
            return f"no difference beyond chance among {total} base parameters (5 %, corrected for their number)"
        joints = list(dict.fromkeys(one.joint for one in found if one.joint))
        where = f"; largest torques at {', '.join(joints)}" if joints else ""
        return f"{len(found)} of {total} base parameters differ beyond chance (5 %, corrected for their number){where}"


def compare(
    before: Identification | Mapping[str, Any] | str | Path, after: Identification | Mapping[str, Any] | str | Path
) -> Comparison:
    """Significant differences between two identifications of one robot.

    The base parameters beta are compared, since only they are determined by torques: ``z = (b - a) / sqrt(sd_a^2 +
    sd_b^2)``, widened as `Comparison.inflation` states, with probabilities corrected for their number (Holm 1979).

    Parameters
    ----------
    before, after
        Results of `identify`, their records, or the files ``identification.json``.

    Raises
    ------
    DatasetError
        If a file is not a record, or the two have other numbers of joints or less than half of their base parameters
        in common.
    """
    from scipy.special import ndtr  # slow to import

    records, names = [_record(one) for one in (before, after)], (_name(before, "before"), _name(after, "after"))
    a, b = ({entry["expression"]: entry for entry in record["base_parameters"]} for record in records)
    shared = [key for key in a if key in b and a[key]["sd"] is not None and b[key]["sd"] is not None]
    fewer = min(len(a), len(b))
    if not shared or 2 * len(shared) < fewer or len(records[0]["joints"]) != len(records[1]["joints"]):
        robots = " and ".join(f"'{record['robot']}'" for record in records)
        count = f"only {len(shared)} of {fewer} base parameters" if shared else "no determined base parameter"
        raise DatasetError(
            f"{names[0]} and {names[1]}, of {robots}, have {count} in common: identify both with the same robot file "
            "and terms"
        )
    change = np.array([b[key]["unconstrained"] - a[key]["unconstrained"] for key in shared])
    sd = np.array([np.hypot(a[key]["sd"], b[key]["sd"]) for key in shared])
    size = np.divide(np.abs(change), sd, out=np.zeros_like(sd), where=sd > 0)
    inflation = max(1.0, float(robust_sd(size))) if len(shared) >= _ENOUGH else 1.0
    p = holm(2.0 * ndtr(-size / inflation))
    found = [
        Difference(
            a[key]["name"], key, float(a[key]["unconstrained"]), float(b[key]["unconstrained"]),
            float(inflation * sd[k]), float(p[k]), *_torque(abs(float(change[k])), a[key], b[key]),
        )
        for k, key in enumerate(shared)
    ]  # fmt: skip
    order = np.lexsort((-size, p))
    unmatched = tuple(key for key in (*a, *b) if (key in a) != (key in b))
    notes = tuple(_notes(records, names, len(unmatched)))
    return Comparison(records[0], records[1], names, tuple(found[k] for k in order), inflation, unmatched, notes)


def holm(p: Array) -> Array:
    """Probabilities corrected for their number M: ``max_{j <= k} (M - j + 1) p_(j)``, increasing (Holm 1979)."""
    order = np.argsort(p)
    steps = np.maximum.accumulate((len(p) - np.arange(len(p))) * p[order])
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(steps, 1.0)
    return corrected


def _record(given: Identification | Mapping[str, Any] | str | Path) -> dict[str, Any]:
    if isinstance(given, Identification):
        return given.record()
    if not isinstance(given, Mapping) and not Path(given).is_file():
        raise DatasetError(
            f"there is no file '{given}'; `casid identify --out FOLDER` writes identification.json there"
        )
    record = dict(given) if isinstance(given, Mapping) else read_record(given)
    needed = ("robot", "parameters", "links", "base_parameters", "joints", "recordings")
    missing = [key for key in needed if key not in record]
    if missing:
        what = "the mapping" if isinstance(given, Mapping) else f"'{given}'"
        raise DatasetError(f"{what} is not the record of an identification: it has no '{missing[0]}'")
    return record


def _name(given: object, default: str) -> str:
    return str(given) if isinstance(given, str | Path) else default


def _torque(change: float, *entries: Mapping[str, Any]) -> tuple[float, str]:
    """Largest torque of a difference over both motions, and its joint."""
    sizes = [(change * entry["torque_per_unit"], entry["joint"]) for entry in entries if entry.get("joint")]
    return max(sizes, default=(float("nan"), ""))


def _notes(records: list[dict[str, Any]], names: tuple[str, str], unmatched: int) -> list[str]:
    """What limits the comparison."""
    one, other = records
    notes = []
    if one["robot"] != other["robot"]:
        notes.append(f"the robots are '{one['robot']}' and '{other['robot']}': equal names of parameters are compared")
    same = sorted(set(one["recordings"]) & set(other["recordings"]))
    if same:
        notes.append(f"both were identified from '{same[0]}': their deviations are not independent")
    shaped = [any("." in name for name in record.get("parameters", ())) for record in records]  # as stribeck.width2
    if shaped[0] != shaped[1]:
        notes.append("only one has a nonlinear friction law: friction parameters of the two mean different things")
    for record, name in zip(records, names, strict=True):
        verdict = record.get("verdict")
        if verdict is not None and not verdict.get("right", True):
            notes.append(f"the verdict of {name} has findings against its model; differences may come from these")
    if unmatched:
        notes.append(f"{unmatched} base parameters exist in only one of them and are not compared")
    return notes
