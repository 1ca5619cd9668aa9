"""Design of exciting motions: many starts, each driven from a smooth problem to the exact criterion."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from casid.arrays import Array
from casid.errors import ProblemError, checked_seed
from casid.excitation.information._criteria import ConditionNumber, Criterion
from casid.excitation.information._observation import Observation
from casid.excitation.limits._constraints import StateConstraint
from casid.excitation.limits._motion_limits import MotionLimits, Rows, certify_limits, limit_rows
from casid.excitation.optimisation._nlp import Nlp, StateRows
from casid.excitation.optimisation._result import Best, Design, Progress, Request, Start, requests
from casid.excitation.optimisation._starts import (
    Objective,
    Stage,
    explain_singular,
    largest_swing,
    pinned,
    standing_pose,
)
from casid.files import numeric_array
from casid.motion import Basis, Motion, Trajectory

#: From smooth and easy to nearly exact.
STAGES = (Stage(0.2, 2.0, 200, 0.2), Stage(0.06, 6.0, 200, 0.3), Stage(0.02, 20.0, 300, 0.5))
#: Rows of state constraints nearer to their bound than this, in units of the constraint, are optimised with.
WINDOW = 0.25
#: At most so many rows of one state constraint.
MOST_ROWS = 500
#: State constraints are checked on a grid this much finer than the samples.
FINER = 10
#: Optimisation keeps this distance from the bounds of state constraints, in units of the constraint.
BACKOFF = 3e-4
#: Solves that add violated instants.
ROUNDS = 6
#: Iterations between two attempts to keep an iterate that violates limits, pulled towards the standing pose.
EVERY = 20
#: How far motions are pulled.
PULLS = (0.0, 1e-6, 1e-5, 1e-4, 1e-3, 3e-3, 0.01, 0.03, 0.06, 0.1, 0.15, 0.2, 0.3)
#: The same back towards a motion that keeps all limits.
BACK = (0.003, 0.01, 0.03, 0.06, 0.1, 0.2, 0.4, 0.6)
#: What a motion may miss of a limit: rounding of its coefficients.
FEASIBLE = 1e-8
#: Part of the limits that a random first motion uses; of commands, so that the joints stay within them too.
FILL = 0.9


@dataclass(eq=False, repr=False)
class Designer:
    """A design problem: observation, basis of the motion, limits and constraints.

    Attributes
    ----------
    observation : Observation
    basis : Basis
    limits : MotionLimits
    criterion : Criterion, optional
        Default: condition number.
    constraints : sequence of StateConstraint
        Torque limits, collision, workspace, or any CasADi function.
    prior : array_like, shape (r, r), optional
        Information matrix of data that are there already (`Observation.information` of what was recorded).
    samples : int
        Samples of the observation matrix, uniform over one period (or the motion).
    pose : array_like, shape (n,), optional
        First and last pose of the motion.
    rest : bool
        Begin (and, if periodic, end) with zero velocity and acceleration.
    density : int, optional
        Samples for the joint limits; default 12 a coefficient.

    Raises
    ------
    ProblemError
        If the problem is not well posed; the message has the remedy.

    Examples
    --------
    >>> robot = casid.load_robot("panda")
    >>> model = casid.Model(robot, terms=("viscous", "coulomb", "offset"))
    >>> limits = MotionLimits.of_robot(robot)
    >>> best = Designer(Observation.of_model(model), Fourier(0.15 * np.pi, 5), limits).run()
    """

    observation: Observation
    basis: Basis
    limits: MotionLimits
    criterion: Criterion = field(default_factory=ConditionNumber)
    constraints: Sequence[StateConstraint] = ()
    prior: Array | None = None
    samples: int = 160
    pose: Array | None = None
    rest: bool = False
    density: int | None = None

    def __post_init__(self) -> None:
        observation, basis, limits, prior = self.observation, self.basis, self.limits, self.prior
        r = len(observation.names)
        if limits.n != observation.n:
            raise ProblemError(f"design: limits of {limits.n} joints for an observation of {observation.n}")
        instants = basis.samples(self.samples)
        if prior is None and len(instants) * observation.rows < r:
            raise ProblemError(
                f"design: {len(instants)} samples give {len(instants) * observation.rows} equations for {r} "
                "parameters; take more samples or poses"
            )
        if prior is None and 2 * limits.n * basis.size < r:
            raise ProblemError(
                f"design: {basis.size} coefficients for each of {limits.n} joints are too few to distinguish {r} "
                "parameters; use more harmonics, control points or poses"
            )
        if prior is not None:
            self.prior = numeric_array(prior, "design: prior information", ProblemError, finite=True, shape=(r, r))
        self.criterion.value(np.eye(r))  # a user's criterion of wrong shapes is refused here, not within the solver
        self.criterion.objective(np.eye(r), 1.0)
        basis.check()
        self.constraints = tuple(self.constraints)
        self.pose = None if self.pose is None else limits.check_pose(self.pose, "home pose")
        pins, self.projector = pinned(basis, limits.n, self.pose, self.rest)
        self.rows = limit_rows(basis, limits, self.density or max(40, 12 * basis.size))
        self.all_rows = self.rows if pins is None else Rows.stack([self.rows, pins])
        self.objective = Objective(observation, basis, self.criterion, self.samples, self.prior)
        self.coarse = np.unique(np.concatenate([instants, basis.grid(2 * len(instants))]))
        self.fine = np.unique(np.concatenate([instants, basis.grid(FINER * len(instants) + 1)]))

    # ------------------------------------------------------------------ one design

    def run(
        self,
        starts: int = 1,
        seed: int = 0,
        stages: Sequence[Stage] = STAGES,
        progress: Callable[[Progress], None] | None = None,
        max_seconds: float = np.inf,
        robot: str = "",
        iterations: float = np.inf,
    ) -> Design:
        """Optimise from several random starts and keep the best motion.

        Parameters
        ----------
        seed
            Of the first start; the others take the numbers after it.
        progress
            Called after every iteration.
        max_seconds
            For each start; its best motion until then counts. The result then depends on the machine and its load.
        iterations
            For each start, shared among the stages; its best motion until then counts.

        Returns
        -------
        Design
            Interrupting with Ctrl-C ends the optimisation and returns the best motion so far.

        Raises
        ------
        KeyboardInterrupt
            On Ctrl-C before there is a motion.
        """
        if starts < 1:
            raise ProblemError(f"design: at least one start is needed, got {starts}")
        done: list[Start] = []
        whole = sum(stage.share for stage in stages)
        stages = [
            replace(stage, iterations=int(min(stage.iterations, max(1, stage.share / whole * iterations))))
            for stage in stages
        ]
        with requests() as request:
            for k in range(starts):
                limits = (time.perf_counter() + max_seconds, iterations, request)
                start = self._start(checked_seed(seed) + k, (k + 1, starts), stages, progress, limits)
                if start is None:
                    break
                done.append(start)
                if request.made:
                    break
            interrupted = request.made
        if not done:
            raise KeyboardInterrupt
        done.sort(key=lambda start: start.value)
        best = Trajectory(self.basis, done[0].coefficients, self.limits.joints, robot)
        return self.judge(best, done, interrupted)

    def _start(
        self,
        seed: int,
        number: tuple[int, int],
        stages: Sequence[Stage],
        progress: Callable[[Progress], None] | None,
        limits: tuple[float, float, Request],
    ) -> Start | None:
        """One start; None where Ctrl-C came before its first motion."""
        began, request = time.perf_counter(), limits[2]
        rng = np.random.default_rng(seed)
        centre = standing_pose(self.limits, self.constraints, rng, self.pose)
        x = self._random_start(centre, rng, request)
        if request.made:
            return None
        initial = self.objective.exact(x)
        if not np.isfinite(initial):
            explain_singular(self.observation, self.observation.matrix(self.objective.motion(x)), self.prior)
        best = Best(x, initial, *limits)
        middle = np.array([self.basis.constant(value) for value in centre])
        status = "not run"

        def report(at: int) -> Callable[[Array], None]:
            def iterated(X: Array) -> None:
                best.iterations += 1
                value = self.objective.exact(X)
                enough = 0.98 if self.constraints else 1.0  # checking state constraints takes longer than an iteration
                better = value < enough * best.value and not request.made
                if better and self._keeps_all(X):
                    best.coefficients, best.value = X.copy(), value
                elif better and best.iterations % EVERY == 0:
                    self._offer(best, X, middle)
                if progress is not None:
                    progress(Progress(*number, at, len(stages), best.iterations, value, best.value))
                best.check()

            return iterated

        states = self._select(x)
        for at, stage in enumerate(stages, start=1):
            x, status, states, stopped = self._stage(x, stage, states, report(at), at == len(stages), request)
            if not request.made:
                self._offer(best, x, middle)
            if stopped:
                break
        if status == "Maximum_Iterations_Exceeded" and not best.limited:
            best.limited = f"{best.iterations} iterations"
        best.coefficients, best.value = self._certified(best.coefficients, middle)
        seconds = time.perf_counter() - began
        return Start(best.coefficients, best.value, initial, seconds, best.iterations, status, best.limited)

    def _stage(
        self,
        x: Array,
        stage: Stage,
        states: list[StateRows],
        report: Callable[[Array], None],
        last: bool,
        request: Request,
    ) -> tuple[Array, str, list[StateRows], bool]:
        """One solve, and, where instants in between violate a constraint, more with these added."""
        velocity = x @ self.basis.matrix(self.basis.samples(160), 1).T
        speed = float(np.sqrt(np.mean(velocity**2))) or 1.0
        status, stopped = "not run", False
        for attempt in range(ROUNDS if last else 2):
            settings = (stage.width * speed, stage.sharpness)
            nlp = Nlp(self.objective, self.all_rows, states, x.shape, settings, report, request)
            iterations = stage.iterations if attempt == 0 else max(30, stage.iterations // 3)
            x, status = nlp.solve(x, iterations, 1e-4, 1e-2 if attempt == 0 else 1e-4)
            stopped = nlp.stopped
            if stopped or not self.constraints:
                break
            states, broken = self._refine(x, states)
            if not broken:
                break
        return x, status, states, stopped

    def _random_start(self, centre: Array, rng: np.random.Generator, request: Request, tries: int = 10) -> Array:
        """The best of some random motions about a pose, as large as the limits allow, coefficients (n, size).

        Joint limits are kept by scaling each joint; state constraints by shrinking all joints towards the pose.
        """
        middle, matrices = np.array([self.basis.constant(value) for value in centre]), self.basis.matrices(self.coarse)
        best, best_value = middle, np.inf
        for _ in range(tries):
            swing = np.array([self.basis.random(rng) @ self.projector for _ in centre])
            swing *= FILL * largest_swing(self.rows, middle, swing)[:, None]
            for _ in range(40):
                if request.made:
                    return best
                motion = Motion.of_coefficients(middle + swing, matrices)
                if all(constraint.slack(motion).min() > 0 for constraint in self.constraints):
                    break
                swing *= 0.8
            value = self.objective.exact(middle + swing)
            if value < best_value:
                best, best_value = middle + swing, value
        return best

    # ------------------------------------------------------------------ feasibility

    def _motion(self, X: Array, instants: Array) -> Motion:
        return Motion.of_coefficients(X, self.basis.matrices(instants))

    def _keeps_all(self, X: Array) -> bool:
        if self.all_rows.violation(X) > FEASIBLE:
            return False
        if not self.constraints:
            return True
        motion = self._motion(X, self.fine)
        return all(self._lowest(constraint, motion).min() >= 0.0 for constraint in self.constraints)

    def _lowest(self, constraint: StateConstraint, motion: Motion) -> Array:
        """Slack on the fine grid less twice what a parabola through neighbours can dip between them."""
        slack = np.minimum(constraint.slack(motion), 1e6 * constraint.unit[:, None])  # free components are infinite
        bend = np.zeros_like(slack)
        if slack.shape[1] > 2 and not self.basis.static:
            bend[:, 1:-1] = np.abs(np.diff(slack, 2, axis=1)) / 4
            bend[:, 0], bend[:, -1] = bend[:, 1], bend[:, -2]
        return np.asarray(slack - bend)

    def _offer(self, best: Best, x: Array, middle: Array) -> None:
        """Take the end of a stage where it keeps all limits, if it is better then.

        It is pulled towards the standing pose, and back towards the best motion so far, until it does.
        """
        for target, shares in ((middle, PULLS), (best.coefficients, BACK)):
            for share in shares:
                if best.request.made:
                    return
                X = x + share * (target - x)
                if self._keeps_all(X):
                    value = self.objective.exact(X)
                    if value < best.value:
                        best.coefficients, best.value = X, value
                    break

    def _certified(self, x: Array, middle: Array) -> tuple[Array, float]:
        """Pull a motion towards the standing pose until its joint limits are certified at every instant.

        Nothing changes for a Fourier series, whose rows are tight; splines and ramps may exceed their limits a little
        between samples. Joint limits are convex, so pulling always helps; state constraints are checked again.
        """
        for share in PULLS:
            X = x + share * (middle - x)
            checks = certify_limits(Trajectory(self.basis, X), self.limits)
            if max((check.excess for check in checks), default=0.0) <= 0.0 and self._keeps_all(X):
                return X, self.objective.exact(X)
        return x, self.objective.exact(x)

    def _select(self, x: Array) -> list[StateRows]:
        """Rows of the state constraints that are near their bounds."""
        selected = []
        for constraint in self.constraints:
            component, instants, slack = self._near(constraint, x, WINDOW)
            if len(component) > MOST_ROWS:
                tightest = np.argsort(slack)[:MOST_ROWS]
                component, instants = component[tightest], instants[tightest]
            selected.append(StateRows(constraint, component, instants, self.basis, BACKOFF))
        return selected

    def _refine(self, x: Array, states: list[StateRows]) -> tuple[list[StateRows], bool]:
        """Add the instants at which a component is violated most, between those that are already rows."""
        motion = self._motion(x, self.fine)
        refined, broken = [], False
        for part in states:
            slack = self._lowest(part.constraint, motion)
            padded = np.pad(slack, ((0, 0), (1, 1)), constant_values=np.inf)
            lowest = (
                (slack <= padded[:, :-2]) & (slack <= padded[:, 2:]) & (slack < BACKOFF * part.constraint.unit[:, None])
            )
            broken |= bool((slack < 0.0).any())
            component, at = np.nonzero(lowest)
            near = self._near(part.constraint, x, WINDOW / 2)[:2]
            chosen = (near, (part.component, part.instants), (component, self.fine[at]))
            pairs = np.unique(np.hstack(chosen), axis=1)
            refined.append(StateRows(part.constraint, pairs[0].astype(int), pairs[1], self.basis, BACKOFF))
        return refined, broken

    def _near(self, constraint: StateConstraint, x: Array, window: float) -> tuple[np.ndarray, Array, Array]:
        """Components and instants that are within a window of their bounds, and their slack."""
        slack = constraint.slack(self._motion(x, self.coarse)) / constraint.unit[:, None]
        component, at = np.nonzero(slack < window)
        return component, self.coarse[at], slack[component, at]

    # ------------------------------------------------------------------ results

    def judge(self, trajectory: Trajectory, starts: Sequence[Start] = (), interrupted: bool = False) -> Design:
        """Return a given trajectory with its criterion, information and violations by this problem's measure."""
        W = self.observation.matrix(trajectory.motion(self.basis.samples(len(self.objective.matrices[0]))))
        F = W.T @ W + (0.0 if self.prior is None else self.prior)
        motion = trajectory.motion(self.fine)
        value = self.criterion.value(F)
        return Design(
            trajectory,
            self.criterion.name,
            value,
            float(np.linalg.cond(W)),
            F,
            self.observation,
            {constraint.name: constraint.violation(motion) for constraint in self.constraints},
            tuple(starts) or (Start(trajectory.coefficients, value, value, 0.0, 0, "given"),),
            interrupted,
        )
