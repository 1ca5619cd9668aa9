"""Findings about recordings and models, as data from which texts and remedies follow; the verdict made of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, NamedTuple, get_args

from casid import evidence
from casid.files import open_end

#: What a finding means, the gravest first; "fault": the recording is wrong and was corrected.
Level = Literal["wrong", "fault", "check", "corrected", "note"]
LEVELS: tuple[Level, ...] = get_args(Level)
#: Share of the samples from which a saturated torque makes a recording wrong [%].
TOUCHED = 1.0
#: Error of a joint that the headline names beside a smaller one of all joints together [%].
NAMED = 10.0
#: Share of the residual from which a delay makes the result, or the recording that it is taken out of, wrong: half of
#: its squares [%].
MOST_OF_RESIDUAL = 100.0 * (1.0 - math.sqrt(0.5))


class Cause(NamedTuple):
    """One thing that can be wrong, with the text of its findings.

    Attributes
    ----------
    kind : str
        ``gravity``, ``sign``, ``unit``, ``joint order``, ``zero position``, ``clock``, ``torque scale``, ``delay``,
        ``standstill``, ``gaps``, ``saturation``, ``channel``, ``one way``, ``outliers``, ``spring``, ``model``,
        ``masses`` or ``links``.
    text : str
        Evidence; a template of the finding's recording, joint and values.
    remedy : str
        What corrects it, where it has been tried; a template too. Empty: nothing.
    level : {"wrong", "check", "corrected", "note"}
        The result is wrong because of it; it should be checked; the recording has it and it was taken out, which
        leaves the result right; no headline says it.
    about : {"torques", "links"}
        Which of the two headlines it belongs to.
    severe : tuple of str and float, optional
        A value of the finding, and from where on what was taken out makes the recording (not the result) wrong.
    """

    kind: str
    text: str
    remedy: str = ""
    level: Level = "wrong"
    about: Literal["torques", "links"] = "torques"
    severe: tuple[str, float] | None = None


class Trial(NamedTuple):
    """A remedy as it was tried.

    Attributes
    ----------
    measure : {"held-out error", "total mass", "negative log posterior"}
        What was compared: the error of predicted parts of the motion [%], every joint alike; where torques cannot tell,
        the mass of the links [kg]; of the scale of a torque the negative log posterior of plausible links over its
        least.
    before, after : float
    sure : float
        Improvement in standard errors over the stretches of the motion; NaN where it has none.
    """

    measure: Literal["held-out error", "total mass", "negative log posterior"]
    before: float
    after: float
    sure: float = float("nan")

    @property
    def text(self) -> str:
        """The comparison in words."""
        unit = {"held-out error": " %", "total mass": " kg"}.get(self.measure, "")
        sure = "" if self.sure != self.sure else f", by {self.sure:.1f} standard errors"
        return f"tried: {self.measure} {self.before:.3g}{unit} -> {self.after:.3g}{unit}{sure}"

    def record(self) -> dict[str, object]:
        """Plain numbers; without ``sure`` where the trial was not on held-out parts."""
        known = {name: value for name, value in self._asdict().items() if value == value}
        return {name: value if isinstance(value, str) else open_end(value) for name, value in known.items()}


_COLUMNS = "columns in the recording's TOML, in the robot's order"
_LAG = (
    "{recording}: torques lag {what}{lag:.2f} ms ({samples:.1f} samples) behind the positions; taking it out lowers "
    "the residual by {gain:.1f} %"
)
_UNIT = "another unit, or currents without gains"


def _reading(kind: str, change: str, remedy: str, further: str = "") -> Cause:
    """Another reading of a recording, with which the model explains it better."""
    text = "the model leaves {reading:.3g} % of the torques unexplained, as recorded {recorded:.3g} %"
    return Cause(kind, f"with {change} {text}{further}", remedy)


def _contradiction(kind: str, change: str, further: str = "") -> Cause:
    """A controller's numbers that links have with a change of them."""
    return Cause(
        kind,
        f"{further}mass matrices and gravity torques contradict each other: with {change} links leave "
        "{reading:.2g} % of them unexplained, as given {recorded:.2g} %",
    )


#: Every cause by its name.
CAUSES: Mapping[str, Cause] = MappingProxyType(
    {
        "gravity direction": _reading("gravity", "gravity along {direction}", "--gravity={direction}"),
        "gravity of lighter links": Cause(
            "gravity",
            "torques alone do not tell gravity along {direction} from the one assumed; the most plausible links "
            "weigh {turned_mass:.3g} kg with it, {mass:.3g} kg with the one assumed, and leave {reading:.1f} % of its "
            "residual",
            "--gravity={direction}",
        ),
        "gravity or a joint": Cause(
            "gravity",
            "torques alone do not tell gravity along {direction} from another reading; the most plausible links weigh "
            "{turned_mass:.3g} kg with it, {mass:.3g} kg with the one assumed; the other reading, {alternative}, "
            "predicts no better for certain, concerns one of many joints or pairs, and needs links of "
            "{other_mass:.3g} kg",
            "--gravity={direction}",
        ),
        "opposite torques": Cause(
            "gravity",
            "torques are {ratio:.2g} times those of the nominal bodies while friction brakes as it should",
            "--gravity={direction}",
        ),
        "reversed joint": _reading(
            "sign",
            "the {what} of '{joint}' reversed",
            "gains with a negative entry for '{joint}' in the recording's TOML",
        ),
        "driving friction": Cause(
            "sign",
            "friction drives instead of braking at {joint}: {what}",
            "gains = -1 for these joints in the recording's TOML",
        ),
        "exchanged joints": _reading("joint order", "'{joint}' and '{other}' exchanged", _COLUMNS),
        "exchanged torques": _reading(
            "joint order", "the torques of '{joint}' and '{other}' exchanged", f"the torques' {_COLUMNS}"
        ),
        "reversed gravity": _contradiction("sign", "all gravity torques reversed"),
        "degrees": _contradiction("unit", "the positions taken as degrees", "positions, "),
        "reversed gravity of a joint": _contradiction("sign", "the gravity torque of '{joint}' reversed"),
        "reversed position": _contradiction("sign", "the position of '{joint}' reversed", "positions, "),
        "exchanged positions": _contradiction(
            "joint order", "the positions of '{joint}' and '{other}' exchanged", "positions, "
        ),
        "exchanged gravity": _contradiction("joint order", "the gravity torques of '{joint}' and '{other}' exchanged"),
        "opposite gravity": Cause(
            "sign",
            "gravity torques have the opposite sign of those of plausible links, which leave {recorded:.2g} % of them, "
            "{reading:.2g} % with all of them reversed",
        ),
        "coefficients of no links": Cause(
            "links",
            "no physically consistent links within the bounds have these coefficients, which they miss by {missed:.3g} "
            "standard deviations ({allowed:.3g} are expected at most): numbers of another robot or unit, or too narrow "
            "bounds",
        ),
        "shifted zero": _reading(
            "zero position",
            "the zero of '{joint}' shifted by {shift:.3g} rad",
            "position_offset with {shift:.3g} for '{joint}' in the recording's TOML",
        ),
        "faster than its limit, another joint is not": Cause(
            "joint order", "{recording}: '{joint}' is faster than it can be, '{other}' could be: exchanged?", _COLUMNS
        ),
        "velocity scale": _reading(
            "clock",
            "velocities {factor:g} times as large",
            "time_scale = {scale:.3g} in the recording's TOML",
            ": the sampling rate or the time stamps are wrong",
        ),
        "measured velocities": Cause(
            "clock",
            "{recording}: positions change {factor:.3g} times as fast as the measured velocities{of}: the time stamps "
            "or the sampling rate are wrong by that factor, or the velocities' unit",
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
        "torque of another scale": Cause(
            "torque scale",
            "with the torque of '{joint}' times {factor:.2g}{springs} plausible links explain the torques better: "
            "another gear ratio or torque constant",
            "gains times {factor:.2g} for '{joint}' in the recording's TOML",
        ),
        "torques of nominal bodies": Cause(
            "torque scale",
            f"torques are {{ratio:.2g}} times those of the nominal bodies: {_UNIT}",
            "gains = {gain:.2g} in the recording's TOML",
        ),
        "torques for the size": Cause(
            "torque scale",
            f"links of an arm's proportions explain the torques with {{mass:.3g}} kg, arms of such a reach weigh "
            f"{{low:.3g}} to {{high:.3g}} kg: {_UNIT}",
            "gains in the recording's TOML",
        ),
        "torques of no links": Cause(
            "torque scale",
            "no links of an arm's proportions explain any of the torques, whatever they weigh: another unit, scale, "
            "sign or order of them, or another gravity",
        ),
        "total mass": Cause(
            "torque scale",
            f"a total mass of {{low:g}} to {{high:g}} kg contradicts the torques: {_UNIT}",
            "gains in the recording's TOML, or --total-mass",
        ),
        "late torques": Cause("delay", _LAG, "--delay {seconds:.6f}, or --delay auto", "check"),
        "unproven delay": Cause(
            "delay", f"{_LAG}, but parts of the motion are predicted no better: it is kept", level="note"
        ),
        "torques of another time": Cause(
            "delay",
            "{recording}: torques lag {what}{lag:.2f} ms ({samples:.1f} samples) behind the positions, and this lag is "
            "{gain:.0f} % of the residual",
            "--delay {seconds:.6f}, or --delay auto",
        ),
        "delay taken out": Cause(
            "delay",
            "{recording}: torques lag {lag:.2f} ms ({samples:.1f} samples) behind the positions, {gain:.0f} % of the "
            "residual: taken out ({tried}; --delay 0 keeps it)",
            level="corrected",
            severe=("gain", MOST_OF_RESIDUAL),
        ),
        "standstill": Cause(
            "standstill",
            "{recording}: no joint moves for {share:.2g} % of the time, where friction does not follow from the "
            "velocity: {done}",
            level="corrected",
        ),
        "gaps": Cause(
            "gaps",
            "{recording}: gaps in time ({count:.0f} samples lost, the longest {longest:.3g} s), {share:.2g} % of the "
            "samples: {done}",
            level="corrected",
        ),
        "saturation": Cause(
            "saturation",
            "{recording}: the torque of joint '{joint}' stays at its extreme {level:.3g} N.m for {share:.2g} % of the "
            "samples: saturated, {done}",
            level="corrected",
            severe=("share", TOUCHED),
        ),
        "repeats": Cause(
            "gaps",
            "{recording}: {count:.0f} samples repeat the one before, for up to {longest:.3g} s: {done}",
            level="corrected",
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
        "unexplained joint": Cause(
            "model",
            "the model leaves {error:.0f} % of the torque of joint '{joint}' unexplained, at the other joints "
            "{usual:.0f} % (median): coupled drives (transmission in the robot's file), other friction, or a torque of "
            "another origin",
            level="check",
        ),
        "unexplained torque": Cause(
            "model",
            "the model leaves {error:.0f} % of the torque of joint '{joint}' unexplained: other friction, or a torque "
            "of another origin",
            level="check",
        ),
        "motionless": Cause(
            "standstill", "{joint}: no motion in any recording, so that friction there is not determined", level="check"
        ),
        "one way": Cause(
            "one way",
            "{joint}: motion in one direction only, which hardly separates Coulomb friction from an offset: their sum "
            "is determined, each alone may not be",
            level="check",
        ),
        "spikes": Cause(
            "outliers",
            "{recording}: {share:.2g} % of the samples{of} are single spikes: {done}",
            "--method IRLS",
            level="corrected",
        ),
        "mass at a bound": Cause(
            "links",
            "the mass of {joint} lies on a bound that is assumed by default, {most:.3g} kg: without it these data "
            "leave {low:.3g} kg to {end}",
            about="links",
        ),
        "more than any arm": Cause(
            "links",
            "the links weigh {mass:.3g} kg; no arm of {reach:.2g} m whose joints hold {torque:.3g} N.m weighs more "
            "than {most:.3g} kg",
            about="links",
        ),
        "torques against bodies": Cause(
            "links",
            "no physically consistent bodies come near the torques: the best ones leave {ratio:.3g} times the residual "
            "of the unconstrained fit, and predict what was held out worse, {held:.3g} against {free:.3g} %",
            about="links",
        ),
        "bodies cost residual": Cause(
            "links",
            "the best physically consistent bodies leave {ratio:.3g} times the residual of the unconstrained fit, and "
            "nothing was held out to say which of them is wrong",
            level="check",
            about="links",
        ),
        "not the most plausible": Cause(
            "links", "the search for the most plausible links failed; these are those of the best fit", about="links"
        ),
        "open masses": Cause(
            "masses",
            "masses are not determined by these data: {mass:.3g} kg in all is the most plausible, with 95 % "
            "{low:.3g} to {high:.3g} kg",
            level="check",
            about="links",
        ),
        "masses without interval": Cause(
            "masses",
            "masses are not determined by this fit: {mass:.3g} kg in all is without an interval, because {why}",
            level="check",
            about="links",
        ),
        "given bounds": Cause(
            "links",
            "bounds that are reached: {what}; without them other links would be chosen",
            level="check",
            about="links",
        ),
        "spring": Cause("spring", "{what}", "", "check", "links"),
        "not certified": Cause("links", "the fit is not certified: relative gap {gap:.1e}", "", "check", "links"),
    }
)


@dataclass(frozen=True, init=False)
class Finding(evidence.Finding):
    """Something that is wrong, or should be checked, in a recording or in how it was read.

    Attributes
    ----------
    cause : str
        Name in `CAUSES`; with it kind, texts and level.
    recording, joint : str
        Where; empty where it is all of them.
    values : mapping of str to float or str
        The evidence, by the names in the cause's templates.
    trial : Trial or None
        Of the remedy, which is stated where it was tried and is better.
    level : {"wrong", "fault", "check", "corrected", "note"}
        That of the cause; "check" where nothing was taken out, "fault" where what was taken out is severe.
    about : {"torques", "links"}
        Headline that it belongs to.
    """

    kind: str = field(init=False)
    text: str = field(init=False)
    remedy: str = field(init=False)
    wrong: bool = field(init=False)
    cause: str = ""
    recording: str = ""
    values: Mapping[str, float | str] = field(default_factory=dict)
    trial: Trial | None = None
    level: Level = field(init=False)
    about: Literal["torques", "links"] = field(init=False)

    def __init__(
        self,
        cause: str,
        recording: str = "",
        joint: str = "",
        values: Mapping[str, float | str] | None = None,
        trial: Trial | None = None,
    ) -> None:
        entry, known = CAUSES[cause], dict(values or {})
        own = {"recording": recording, "joint": joint, **known}
        remedy = "" if trial is None else entry.remedy.format(**own)
        level: Level = "check" if known.get("treatment") == "kept" and entry.level == "corrected" else entry.level
        if entry.severe is not None and float(known[entry.severe[0]]) >= entry.severe[1]:
            level = "fault" if level == "corrected" else "wrong"
        super().__init__(entry.kind, joint, entry.text.format(**own), remedy, level == "wrong")
        self.__dict__.update(cause=cause, recording=recording, values=known, trial=trial, level=level)
        self.__dict__.update(about=entry.about)

    @property
    def advice(self) -> str:
        """The remedy with what it changed when it was tried, or nothing."""
        return f"{self.remedy} ({self.trial.text})" if self.trial is not None and self.remedy else ""

    def record(self) -> dict[str, object]:
        """Plain values; an end that is open is null."""
        return {
            **super().record(),
            "cause": self.cause,
            "level": self.level,
            "recording": self.recording,
            "values": {name: v if isinstance(v, str) else open_end(v) for name, v in self.values.items()},
            "about": self.about,
            "trial": None if self.trial is None else self.trial.record(),
        }


@dataclass(frozen=True)
class Verdict:
    """Whether the model is right.

    Attributes
    ----------
    findings : tuple of Finding
    error, held_out : float
        Relative error of the consistent fit on the training and on held-out data [%]; NaN where nothing was held out.
    tried : int
        Readings of the recording that were tried.
    joints : mapping of str to float
        Error of each joint, held out where anything was [%]; the headline names those of 10 % and more beside a total
        below.
    """

    findings: tuple[Finding, ...]
    error: float
    held_out: float
    tried: int
    joints: Mapping[str, float] = field(default_factory=dict)

    @property
    def right(self) -> bool:
        """No finding makes the torques or the links wrong."""
        return not any(finding.wrong for finding in self.findings)

    @property
    def torques(self) -> str:
        """Headline about the torques."""
        tested = self.held_out == self.held_out
        apart = f", {self.held_out:.2f} % on held-out parts of the same motion" if tested else ""
        total = self.held_out if tested else self.error
        large = ", ".join(f"{name} {error:.0f} %" for name, error in self.joints.items() if total < NAMED <= error)
        named = f" ({large})" if large else ""
        clean = (
            f"no finding against the model: error {self.error:.2f} %{apart}{named}; {self.tried} other readings "
            "(gravity, signs, order, zeros, scales, clock) were checked, none explains the recording better"
        )
        return self._headline("torques", clean)

    @property
    def links(self) -> str:
        """Headline about the links; of masses that the data leave open it says so first."""
        open_masses = next((f.text for f in self.findings if f.kind == "masses"), "")
        return self._headline("links", open_masses or "no finding against the links")

    @property
    def line(self) -> str:
        """Both headlines in one line."""
        return f"{self.torques}; links: {self.links}"

    def about(self, what: Literal["torques", "links"]) -> tuple[Finding, ...]:
        """Findings of a headline, the gravest first.

        In the order of `LEVELS`; then those with a remedy that was tried and is better, and by what they touch.
        """
        own = (f for f in self.findings if f.about == what and f.kind != "masses" and f.level != "note")
        return tuple(sorted(own, key=_place))

    def _headline(self, about: Literal["torques", "links"], clean: str) -> str:
        own = self.about(about)
        if not own:
            return clean
        first, open_ = own[0], [f for f in own[1:] if f.level != "corrected"]
        corrected = [f for f in own[1:] if f.level == "corrected"]
        advice = f"; try {first.advice}" if first.advice else ""
        found = f"{first.text}{advice}"
        if first.level == "corrected":
            return f"{clean}; corrected in the recording: {found}{_others(corrected)}"
        done = f"; corrected in the recording: {_kinds(corrected)}" if corrected else ""
        found += f"{_others(open_)}{done}"
        if first.level == "fault":
            return f"WRONG in the recording, and corrected: {found}; with that {clean}"
        return f"WRONG: {found}" if first.wrong else f"{clean}; to be checked: {found}"

    @property
    def further(self) -> tuple[Finding, ...]:
        """Findings that no headline gives in full."""
        return tuple(f for f in self.findings if f.text not in self.line)

    def record(self) -> dict[str, object]:
        """Plain values."""
        return {
            "line": self.line,
            "right": self.right,
            "torques": self.torques,
            "links": self.links,
            "findings": [finding.record() for finding in self.findings],
        }


def _kinds(findings: Sequence[Finding]) -> str:
    return ", ".join(dict.fromkeys(finding.kind for finding in findings))


def _others(findings: Sequence[Finding]) -> str:
    return f" (and {len(findings)} more: {_kinds(findings)})" if findings else ""


def _place(finding: Finding) -> tuple[int, bool, float]:
    """Place of a finding in its headline: level, remedy, share of the samples or of the residual."""
    if finding.wrong:  # as found: what times alone contradict goes first
        return 0, False, 0.0
    touched = float(finding.values.get("share", finding.values.get("gain", 100.0)))
    return LEVELS.index(finding.level), not finding.advice, -touched
