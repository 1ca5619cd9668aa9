"""Identification by simulation: from commands and encoders to the parameters of drives, with what is known of each."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import Array
from casid.description import Robot
from casid.display import Displayed
from casid.drives._choice import TERMS, folds_of, friction_sizes, held_out, usual_terms, with_terms
from casid.drives._contacts import has_play, shaken, softened
from casid.drives._profile import Profile, Profiles
from casid.drives._recording import CommandRecording
from casid.drives._runs import FreeRuns, Parameter, Point
from casid.drives._search import AGAIN, Normal, Progress, Search, compared_errors, silent
from casid.drives._servo import QUANTITIES, STIFF, Servo, Unknown
from casid.drives._start import CUTOFFS, LINEAR, REACHED, ConvexStart, convex_start
from casid.drives._statistics import Estimate, estimates, gain_ratios
from casid.drives._verdict import TRIAL, check_recordings, further, judge, with_remedy
from casid.errors import DatasetError
from casid.evidence import NOTICEABLE, Finding
from casid.files import listed, near, shown
from casid.regression import one_thread

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Weak priors: standard deviation as a multiple of the value's size, so that what the data leave open stays in place; a
#: value that they know to 10 % is moved by (0.1 / 3)^2 = 0.1 % of its distance from the start.
_WEAK = 3.0
#: Pieces are not made shorter than this to hold some out [s]: each has an initial state, which explains the more of its
#: motion the shorter it is.
_SHORTEST = 2.0


@dataclass(frozen=True)
class SimulationOptions:
    """How free runs are made and searched.

    Attributes
    ----------
    step : float
        Longest integration step of the search [s].
    refined : float
        The last iterations take the errors of steps so many times shorter.
    longest : float
        Longest piece that is run from one initial state [s].
    coarse : float
        The search goes over about so many seconds of pieces first, then over all [s].
    iterations : int
        Of Gauss-Newton.
    budget : float
        Runs through all recordings that the search may spend before its last steps, one with derivatives counted as
        `FreeRuns.cost`.
    robust : float
        Errors beyond so many deviations count linearly.
    folds : int
        Groups of motions that are held out in turn; 0: none.
    terms : tuple of str, optional
        What is tried where nothing is given, and kept where it lowers the error held out by more than its standard
        error: ``"load_friction"``, ``"warm_up"``, ``"stiffness"``, ``"backlash"``, ``"presliding"``, ``"asymmetry"``
        (friction that differs by direction), ``"drift"`` (of the constant torque). Empty: none; default: the first
        five, and the last two where every kp is known to be 0: where a servo holds a joint, both do little.
    level : float
        Confidence level of profile intervals.
    threads : int

    Raises
    ------
    DatasetError
        If a term is none of these, or the level is not between 0 and 1.
    """

    step: float = 5e-3
    refined: float = 4.0
    longest: float = 10.0
    coarse: float = 200.0
    iterations: int = 25
    budget: float = 36.0
    robust: float = 4.0
    folds: int = 4
    threads: int = 2
    level: float = 0.95
    terms: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if not 0.0 < self.level < 1.0:
            raise DatasetError(f"simulation options: level is between 0 and 1, got {self.level:g}")
        for term in self.terms or ():
            if term not in TERMS:
                raise DatasetError(f"simulation options: {shown(term)} is no term that can be tried{near(term, TERMS)} "
                                   f"(terms: {listed(TERMS)})")  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class CommandIdentification(Displayed):
    """Result of `identify_from_commands`.

    Attributes
    ----------
    robot : Robot
    servo : Servo
    recordings : tuple of CommandRecording
    estimates : tuple of Estimate
        Each unknown with interval, partner and words.
    covariance : ndarray, shape (unknowns, unknowns)
    errors : ndarray, shape (n,)
        Free-run error of each joint [rad or m], root mean square.
    held_out : float
        The same over motions that a fit did not see; NaN without.
    start : ConvexStart
        Best of the convex starts.
    start_error : float
        Free-run error there.
    rollouts, seconds, simulated : float
        Runs through all recordings, time taken [s], simulated time of one run [s].
    findings : tuple of Finding
    ratios : mapping of str to (float, float)
        Ratios to kp with half widths of 95 %.
    runs : FreeRuns
    profiles : tuple of Profile
        Intervals by re-optimisation of what was asked for.
    options : SimulationOptions
    """

    robot: Robot
    servo: Servo
    recordings: tuple[CommandRecording, ...]
    estimates: tuple[Estimate, ...]
    covariance: Array
    errors: Array
    held_out: float
    start: ConvexStart
    start_error: float
    rollouts: float
    seconds: float
    simulated: float
    findings: tuple[Finding, ...]
    ratios: dict[str, tuple[float, float]]
    runs: FreeRuns
    profiles: tuple[Profile, ...] = ()
    options: SimulationOptions = SimulationOptions()

    @property
    def theta(self) -> Array:
        """Values of the unknowns."""
        return np.array([e.value for e in self.estimates])

    @property
    def error(self) -> float:
        """Free-run error over all joints [rad or m]."""
        return float(np.sqrt(np.mean(self.errors**2)))

    @property
    def table(self) -> dict[str, Array]:
        """Values of all joints by attribute, known ones included."""
        return self.runs.values(self.theta)

    @property
    def headline(self) -> str:
        """The verdict in one line."""
        wrong = [f for f in self.findings if f.wrong]
        if wrong:
            return f"not to be trusted: {wrong[0].kind}{f' of {wrong[0].joint}' if wrong[0].joint else ''}"
        opened = sum(not e.determined for e in self.estimates)
        left = f"; {opened} of {len(self.estimates)} parameters not determined by these data" if opened else ""
        noted = ", ".join(dict.fromkeys(f"{f.kind}{f' of {f.joint}' if f.joint else ''}" for f in self.findings))
        return f"explains the motion to {1e3 * self.error:.3g} mrad{left}{f'; check: {noted}' if noted else ''}"

    def simulate(self, recording: CommandRecording) -> Array:
        """Free run of a recording from its commands, shape (N, n); gaps are left out; see `beyond`."""
        runs = self.runs.of([recording])
        return np.concatenate(runs.simulate(runs.point(self.theta)))

    def error_of(self, recordings: Sequence[CommandRecording]) -> float:
        """Free-run error of recordings, root mean square over samples and joints [rad or m]."""
        runs = self.runs.of(recordings)
        return runs.error(runs.point(self.theta))

    def beyond(self, recording: CommandRecording) -> tuple[str, ...]:
        """In words, where a recording asks more of the servos than those of the fit, which do not tell what then is.

        Torques that servos are asked for, speeds, and the share of samples at which they are fully on.
        """
        seen, new = [self._asked(data) for data in self.recordings], self._asked(recording)
        made, full = [], np.mean([one["full"] for one in seen], axis=0)
        for k, joint in enumerate(self.robot.coordinates):
            words = [f"full voltage for {100 * new['full'][k]:.0f} % of the samples ({100 * full[k]:.0f} % in the fit)"
                     ] * bool(new["full"][k] > NOTICEABLE * full[k])  # fmt: skip
            for name in ("torque", "speed"):
                most = max(float(one[name][k]) for one in seen)
                if new[name][k] > NOTICEABLE * most:
                    words.append(f"{name} {new[name][k] / max(most, 1e-300):.2g} x what the fit has seen")
            made += [f"{joint.name}: {', '.join(words)}"] * bool(words)
        return tuple(made)

    def _asked(self, data: CommandRecording) -> dict[str, Array]:
        """Largest torque that servos are asked for, largest mean speed over 0.1 s, share of samples fully on, (n,)."""
        table, width = self.table, min(max(1, round(0.1 / data.period)), len(data) - 1)
        error = np.abs(data.on() * (data.q_des + table["bias"] - data.q))
        moved = np.abs(data.q[width:] - data.q[:-width]) / (data.t[width:] - data.t[:-width])[:, None]
        torque = np.minimum(table["kp"] * np.minimum(error, table["duty"]), table["limit"])
        return {"torque": torque.max(axis=0), "speed": moved.max(axis=0), "full": (error >= table["duty"]).mean(axis=0)}

    def without(self, terms: Mapping[str, str]) -> tuple[CommandIdentification, tuple[str, ...]]:
        """What replays the recordings best without some terms: everything else that was unknown is fitted again.

        Parameters
        ----------
        terms
            Attributes of `Servo`, and what they are in words.

        Returns
        -------
        found : CommandIdentification
        notes : tuple of str
            What was left out, with the free-run error before and after.
        """
        none: dict[str, Any] = {key: getattr(Servo(), key) for key in terms}
        has = {key: self.table[key] <= STIFF if none[key] == np.inf else self.table[key] != 0.0 for key in terms}
        lost = {key: words for key, words in terms.items() if np.any(has[key])}
        if not lost:
            return self, ()
        servo = replace(self.runs.servo, **{key: none[key] for key in lost})
        made = identify_from_commands(self.robot, self.recordings, servo, replace(self.options, terms=()))
        note = (f"left out: {', '.join(lost.values())}; everything else is what replays the recordings best without "
                f"({1e3 * made.error:.3g} mrad, with it {1e3 * self.error:.3g})")  # fmt: skip
        return made, (note,)

    def plot_free_runs(self, recording: int | CommandRecording = 0) -> tuple[Axes, ...]:
        """Commands, encoders and free runs of a recording: one of `recordings` by its number, or another."""
        return self._plot("free_runs", recording=recording)

    def record(self) -> dict[str, object]:
        """Plain numbers and text."""
        return {
            "robot": self.robot.name,
            "recordings": [data.name for data in self.recordings],
            "headline": self.headline,
            "free_run_error": self.error,
            "joint_errors": self.errors.tolist(),
            "held_out_error": None if np.isnan(self.held_out) else self.held_out,
            "start": {"error": self.start_error, "gap": self.start.gap, "cutoff": self.start.cutoff},
            "rollouts": self.rollouts,
            "seconds": self.seconds,
            "simulated_seconds": self.simulated,
            "parameters": [asdict(e) for e in self.estimates],
            "profiles": [one.plain() for one in self.profiles],
            "ratios_to_kp": {name: list(pair) for name, pair in self.ratios.items()},
            "findings": [f.record() for f in self.findings],
        }  # fmt: skip

    def __repr__(self) -> str:
        return f"CommandIdentification({self.robot.name}: {self.headline})"


@one_thread()  # pieces run beside one another
def identify_from_commands(
    robot: Robot,
    recordings: Sequence[CommandRecording],
    servo: Servo | None = None,
    options: SimulationOptions | None = None,
    start: ArrayLike | None = None,
    progress: Progress | None = None,
    profile: Sequence[str] = (),
) -> CommandIdentification:
    """Identify drives and servos from commands and encoders, without torques.

    Convex starts (`casid.drives._start`) are compared by a free run, the best are improved by Gauss-Newton on
    free runs. Whatever start is given, the convex ones are tried too, so that the answer does not hang on it.

    Parameters
    ----------
    robot
        With inertial values, on a fixed base.
    recordings
        One or more, of all joints of the robot.
    servo
        What is known; default: what the recordings have (`CommandRecording.known`), else gains, drives and one delay
        unknown.
    options
    start
        Further start, one value an unknown (`FreeRuns.parameters`).
    progress
        Called with a text, a number and a total.
    profile
        Unknowns by name or attribute, or ``"all"``, whose intervals are found by re-optimisation too (`Profiles`).

    Raises
    ------
    DatasetError
        If recordings do not fit the robot, nothing moves, nothing is unknown, or ``profile`` is no unknown.
    ExportError
        Without a C compiler.
    """
    began, options, progress = time.perf_counter(), options or SimulationOptions(), progress or silent
    names = [joint.name for joint in robot.coordinates]
    longest = options.longest
    if options.folds >= 2:  # one short recording: pieces enough to hold some out
        total = sum(float(data.t[-1] - data.t[0]) for data in recordings)
        longest = min(longest, max(_SHORTEST, total / options.folds))
    servo = _known_servo(recordings) if servo is None else servo
    runs = FreeRuns(robot, servo, recordings, options.step, longest, options.threads)
    if not runs.parameters:
        raise DatasetError("everything about the servos is given: nothing is left to find")
    findings = list(check_recordings(recordings, robot))
    runs.named(profile)
    search, fine, best, at_first, point, normal, weak = _fitted(runs, options, start, progress)
    asked, profiles = search.runs.named(profile), list[Profile]()
    if asked:
        made = Profiles(search, point, normal, weak, fine, options.level)
        for number, i in enumerate(asked):
            progress(f"profile of {search.runs.parameters[i].name}", number, len(asked))
            profiles.append(made.of(i))
    listed, C = estimates(search, point, normal, weak, best.ratios)
    group, size = folds_of(search.runs, options.folds), sum(piece.measured.size for piece in search.runs.pieces)
    held = float(np.sqrt(held_out(search, point, normal, group).sum() / size)) if group else float("nan")
    part = search.runs.thinned(TRIAL, each=False)
    if not any(f.wrong for f in findings):
        findings += further(fine, point, names, part)
    findings += judge(fine, point, listed, names, part)
    errors = np.sqrt(normal.squares / normal.count)
    findings = [with_remedy(f, runs, names, float(np.sqrt(np.mean(errors**2)))) for f in findings]
    rollouts, fine.rollouts = search.runs.rollouts, 0.0
    ratios = gain_ratios(fine.parameters, point.theta, C, 1.96)
    return CommandIdentification(
        robot, runs.servo, tuple(recordings), listed, C, errors, held, best, at_first, rollouts,
        time.perf_counter() - began, runs.seconds, tuple(findings), ratios, fine,
        tuple(profiles), options,
    )  # fmt: skip


def _known_servo(recordings: Sequence[CommandRecording]) -> Servo:
    """Servo with the values that the files have."""
    rows = [{key: np.asarray(value).tolist() for key, value in data.known.items()} for data in recordings]
    other = next((k for k, row in enumerate(rows) if row != rows[0]), None)
    if other is not None:
        raise DatasetError(f"{recordings[0].name} and {recordings[other].name} have different gains kp, kd: describe "
                           "the servo ([servo] in a TOML) and the setting of each (gain)")  # fmt: skip
    given: dict[str, Any] = rows[0] if rows else {}
    return Servo(**given)


def _fitted(
    runs: FreeRuns, options: SimulationOptions, start: ArrayLike | None, progress: Progress
) -> tuple[Search, FreeRuns, ConvexStart, float, Point, Normal, Array]:
    """Best point of all starts, and the error at that start."""
    progress("convex start", 0, 1)
    whole, runs = runs, runs.thinned(options.coarse)
    convex = [convex_start(runs, cutoff) for cutoff in CUTOFFS if cutoff * 2 * runs.period < 1.0]
    candidates = [(one, one.theta) for one in convex]
    limits = np.array([p.attribute == "limit" and p.unknown.value is None for p in runs.parameters])
    if limits.any():  # reached, or not
        candidates += [(one, np.where(limits, one.theta / REACHED, one.theta)) for one in convex]
    if start is not None:
        theta = np.asarray(start, dtype=float)
        if theta.shape != (len(runs.parameters),) or not np.isfinite(theta).all():
            raise DatasetError(f"start: expected {len(runs.parameters)} finite numbers, got {theta.shape}")
        candidates.append((convex[0], np.clip(theta, *runs.bounds)))
    extra = np.array([p.attribute in ("load_friction", "stribeck") for p in runs.parameters])
    if extra.any():  # never worse than without them
        plain = runs.under(replace(runs.servo, load_friction=0.0, stribeck=0.0))
        for one in convex:
            theta = np.array([p.lower for p in runs.parameters])
            theta[~extra] = convex_start(plain, one.cutoff).theta
            candidates.append((one, theta))
    points = [runs.point(theta) for _, theta in candidates]
    shown, missed, reached = _run(runs, points)
    finest = options.step / options.refined
    still = np.mean(np.concatenate(runs.standing) ** 2)
    if min(reached) ** 2 > still:  # worse than joints that stand: is the step too long for the start?
        finer = runs.stepped(finest)
        refined = _run(finer, points)
        runs.rollouts += options.refined * len(points)
        if min(refined[2]) < min(reached):
            runs, whole = finer, whole.stepped(finest)
            shown, missed, reached = refined
    order = list(np.argsort(reached))
    base = convex[int(np.argmin(reached[: len(convex)]))]
    runs.parameters, weak = _weakly(runs, base)
    first, *others = order[:2]
    search = Search(runs, options.iterations, threshold=options.robust, budget=options.budget, progress=progress)
    point, normal = search.run(points[first], shown=shown[first])
    for k in others:  # unless the best is surely better, or nothing is left to search it with
        if compared_errors(missed[k], missed[first]).better:
            break
        if runs.rollouts + runs.cost > options.budget and reached[k] >= normal.rms:
            break
        again, tried = search.descended(points[k], search.normal(points[k]), AGAIN, wanted=normal.cost / NOTICEABLE**2)
        if tried.cost < normal.cost:
            first, point, normal = k, again, tried
    best, at_first = candidates[first][0], reached[first]
    terms = usual_terms(runs) if options.terms is None else options.terms
    search, point, normal, more = with_terms(search, point, normal, options.folds, terms, finest)
    weak, runs = np.append(weak, more), search.runs
    if len(more):  # what was taken is searched from the convex start too, as long as it may end noticeably lower
        linear = [p.kind in LINEAR for p in runs.parameters]
        again = runs.point(np.where(linear, convex_start(runs, best.cutoff).theta, point.theta))
        again, tried = search.descended(again, search.normal(again), AGAIN, wanted=normal.cost / NOTICEABLE**2)
        if tried.cost < normal.cost:
            point, normal = again, tried
    play = has_play(runs, point.theta)
    if runs.step < whole.step or play:
        whole = whole.stepped(min(runs.step, finest) if play else runs.step)
    whole.rollouts = runs.rollouts * len(runs.pieces) / len(whole.pieces)
    whole.parameters, whole.servo = runs.parameters, runs.servo
    search = Search(whole, 3, threshold=options.robust, budget=options.budget, progress=progress)
    point = whole.point(point.theta) if len(runs.pieces) < len(whole.pieces) else point
    if play or whole.rollouts <= options.budget:
        point, normal = search.run(point)
    fine = whole.of(whole.recordings, finest)
    if play:
        point, search.scatter = shaken(search, point)
        normal = softened(search, point)
    else:
        point, normal = search.polished(point, fine)
    whole.rollouts += options.refined * fine.rollouts
    return search, fine, best, at_first, point, normal, weak


def _run(runs: FreeRuns, points: Sequence[Point]) -> tuple[list[list[Array]], list[list[Array]], list[float]]:
    """Positions of each point's free runs, what they miss, and the root mean square of that."""
    shown = [runs.simulate(point) for point in points]
    missed = [runs.missed(point, one) for point, one in zip(points, shown, strict=True)]
    return shown, missed, [float(np.sqrt(np.mean(np.concatenate(errors) ** 2))) for errors in missed]


def _weakly(runs: FreeRuns, start: ConvexStart) -> tuple[tuple[Parameter, ...], Array]:
    """The parameters with weak priors around a start where the user gave none, and those priors' deviations.

    Gains that nothing fixes are held at what is assumed, to what does not count as a difference, so that their joints'
    other values are those for that gain.
    """
    parameters, theta = runs.parameters, start.theta
    viscous, dry = friction_sizes(runs, theta)
    span = max(float(data.t[-1]) for data in runs.recordings)
    signed = {"viscous_asymmetry": viscous, "offset": dry, "offset_drift": dry / span}  # may be zero, and no smaller
    sizes: dict[str, list[float]] = {}
    for p, value in zip(parameters, theta, strict=True):
        sizes.setdefault(p.attribute, []).append(abs(float(value)))
    made, weak = [], np.full(len(parameters), np.inf)
    for i, p in enumerate(parameters):
        if p.unknown.value is not None and np.isfinite(p.unknown.sd):
            made.append(p)
            continue
        size = max(abs(float(theta[i])), float(np.median(sizes[p.attribute])), 1e-3)
        size = max(size, float(signed[p.attribute][p.joints[0]])) if p.attribute in signed else size
        sd = QUANTITIES[p.attribute].weak or _WEAK * size
        if p.attribute == "kp" and p.joints[0] in start.ratios:
            sd = (NOTICEABLE - 1.0) * size
        weak[i] = sd
        mean = 0.0 if p.attribute == "bias" else float(theta[i])
        made.append(replace(p, unknown=Unknown(mean, sd, p.lower, p.upper)))
    return tuple(made), weak
