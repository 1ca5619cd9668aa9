"""Findings about recordings and models: what was found, as data; their texts and remedies follow from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple


class Cause(NamedTuple):
    """One thing that can be wrong, with the text of its findings.

    Attributes
    ----------
    kind : str
        ``gravity``, ``sign``, ``joint order``, ``clock``, ``torque scale``, ``delay``, ``standstill``, ``channel``,
        ``one way`` or ``outliers``.
    text : str
        Evidence; a template of the finding's recording, joint and values.
    remedy : str
        The option that corrects it; a template too.
    wrong : bool
        Whether the result is wrong because of it; otherwise it should be checked.
    """

    kind: str
    text: str
    remedy: str
    wrong: bool = True


_COLUMNS = "columns in the recording's TOML, in the robot's order"
_UNIT = "another unit, or currents without gains"
_REVERSED = (
    "with the {what} of '{joint}' reversed the model leaves {reading:.0f} % of the torques unexplained, as recorded "
    "{recorded:.0f} %"
)

#: Every cause by its name.
CAUSES: Mapping[str, Cause] = MappingProxyType(
    {
        "gravity direction": Cause(
            "gravity",
            "with gravity along {direction} the model leaves {reading:.0f} % of the torques unexplained, with the one "
            "assumed {recorded:.0f} %",
            "--gravity={direction}",
        ),
        "opposite gravity": Cause(
            "gravity",
            "with gravity the other way real bodies of {turned_mass:.3g} kg leave {reading:.1f} % of the residual that "
            "bodies of {mass:.3g} kg leave with the one assumed",
            "--gravity={direction}",
        ),
        "opposite torques": Cause(
            "gravity",
            "torques are {ratio:.2g} times those of the nominal bodies while friction brakes as it should",
            "--gravity={direction}",
        ),
        "reversed joint": Cause("sign", _REVERSED, "gains with a negative entry for '{joint}' in the recording's TOML"),
        "driving friction": Cause(
            "sign",
            "friction drives instead of braking at {joint}: {what}",
            "gains = -1 for these joints in the recording's TOML",
        ),
        "exchanged joints": Cause(
            "joint order",
            "with '{joint}' and '{other}' exchanged the model leaves {reading:.0f} % of the torques unexplained, as "
            "recorded {recorded:.0f} %",
            _COLUMNS,
        ),
        "faster than its limit, another joint is not": Cause(
            "joint order", "{recording}: '{joint}' is faster than it can be, '{other}' could be: exchanged?", _COLUMNS
        ),
        "velocity scale": Cause(
            "clock",
            "with velocities {factor:g} times as large the model leaves {reading:.1f} % of the torques unexplained, as "
            "recorded {recorded:.1f} %: the sampling rate or the time stamps are wrong",
            "time_scale = {scale:.3g} in the recording's TOML",
        ),
        "measured velocities": Cause(
            "clock",
            "{recording}: positions change {factor:.3g} times as fast as the measured velocities: the time stamps or "
            "the sampling rate are wrong by that factor, or the velocities' unit",
            "time_scale = {factor:.3g} in the recording's TOML",
        ),
        "slow motion": Cause(
            "clock",
            "{recording}: no joint is faster than {speed:.2g} rad/s and samples are {period:.3g} s apart: time stamps "
            "in milliseconds?",
            "time_scale = 0.001 in the recording's TOML",
        ),
        "faster than its limit": Cause(
            "clock",
            "{recording}: joint '{joint}' reaches {speed:.3g} rad/s, its limit is {limit:.3g}: wrong sampling rate, "
            "time stamps or unit of position",
            "rate or time_scale in the recording's TOML",
        ),
        "torques of nominal bodies": Cause(
            "torque scale",
            f"torques are {{ratio:.2g}} times those of the nominal bodies: {_UNIT}",
            "gains = {gain:.2g} in the recording's TOML",
        ),
        "torques for the size": Cause(
            "torque scale",
            f"the largest torques, {{torque:.3g}} N.m, are {{what}} for an arm of {{reach:.2g}} m: {_UNIT}",
            "gains in the recording's TOML",
        ),
        "total mass": Cause(
            "torque scale",
            f"a total mass of {{low:g}} to {{high:g}} kg contradicts the torques: {_UNIT}",
            "gains in the recording's TOML, or --total-mass",
        ),
        "late torques": Cause(
            "delay",
            "{recording}: torques lag {what}{lag:.2f} ms ({samples:.1f} samples) behind the positions; taking it out "
            "lowers the residual by {gain:.1f} %",
            "--delay {seconds:.6f}, or --delay auto",
            wrong=False,
        ),
        "standstill": Cause(
            "standstill",
            "{recording}: the robot stands still for {share:.0f} % of the time: friction at rest does not follow from "
            "the velocity",
            "rows or between in the recording's TOML, or Processing(slowest=...)",
        ),
        "dead channel": Cause(
            "channel", "{recording}: the torque of joint '{joint}' never changes: a dead channel", "--only {others}"
        ),
        "noisy channel": Cause(
            "channel",
            "{recording}: the torque of joint '{joint}' does not follow the motion (error {error:.0f} % of it): noise, "
            "or the torque of another joint",
            "--only {others}",
        ),
        "one way": Cause(
            "one way",
            "{recording}: joint '{joint}' moves one way only: its Coulomb friction cannot be separated from an offset; "
            "the smaller sizes were chosen",
            "record it moving both ways",
            wrong=False,
        ),
        "spikes": Cause(
            "outliers",
            "{recording}: {share:.2g} % of the torques of joint '{joint}' are single spikes",
            "--method IRLS",
            wrong=False,
        ),
    }
)


@dataclass(frozen=True)
class Finding:
    """Something that is wrong, or should be checked, in a recording or in how it was read.

    Attributes
    ----------
    cause : str
        Name in `CAUSES`.
    recording, joint : str
        Where; empty where it is all of them.
    values : mapping of str to float or str
        The evidence, by the names in the cause's templates.
    """

    cause: str
    recording: str = ""
    joint: str = ""
    values: Mapping[str, float | str] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """Kind of the cause: ``gravity``, ``sign``, ``clock``, ..."""
        return CAUSES[self.cause].kind

    @property
    def wrong(self) -> bool:
        """Whether the result is wrong because of it; otherwise it should be checked."""
        return CAUSES[self.cause].wrong

    @property
    def text(self) -> str:
        """What was found, with the evidence."""
        return self._filled(CAUSES[self.cause].text)

    @property
    def remedy(self) -> str:
        """The option that corrects it."""
        return self._filled(CAUSES[self.cause].remedy)

    def _filled(self, template: str) -> str:
        return template.format(recording=self.recording, joint=self.joint, **self.values)


@dataclass(frozen=True)
class Verdict:
    """Whether the model is right.

    Attributes
    ----------
    findings : tuple of Finding
    error, held_out : float
        Relative error of the consistent fit on the training and on held-out data [%]; NaN where nothing was held out.
    tried : int
        Readings of the recording that were tried and do not explain it better.
    """

    findings: tuple[Finding, ...]
    error: float
    held_out: float
    tried: int

    @property
    def right(self) -> bool:
        """No finding makes the result wrong."""
        return not any(finding.wrong for finding in self.findings)

    @property
    def line(self) -> str:
        """The verdict in one line."""
        wrong = [finding for finding in self.findings if finding.wrong]
        if wrong:
            more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
            return f"WRONG: {wrong[0].text}; try {wrong[0].remedy}{more}"
        apart = "" if self.held_out != self.held_out else f", {self.held_out:.2f} % on data that were held out"
        doubts = f"; to be checked: {', '.join(sorted({f.kind for f in self.findings}))}" if self.findings else ""
        return (
            f"no finding against the model: error {self.error:.2f} %{apart}; {self.tried} other readings of the "
            f"recording explain it no better{doubts}"
        )

    def record(self) -> dict[str, object]:
        """Plain values."""
        return {
            "line": self.line,
            "right": self.right,
            "findings": [
                {
                    "kind": f.kind,
                    "cause": f.cause,
                    "recording": f.recording,
                    "joint": f.joint,
                    "values": dict(f.values),
                    "text": f.text,
                    "remedy": f.remedy,
                    "wrong": f.wrong,
                }
                for f in self.findings
            ],
        }
