"""Joint terms of an identification: friction, springs and counterbalances by held-out error; what rotors the data show.

*Friction* is linear, a law by name, or chosen joint by joint where the choice itself holds up. The choice is judged as
a whole: for each part of the motion the laws, their shapes, the base parameters and the consistent links are chosen
from the other parts alone, and the part is predicted (nested cross-validation). Linear friction is kept unless the
choice lowers that error surely (`casid.evidence.compared`) and by 5 %, with consistent links and without.

*Springs.* A hydraulic or spring counterbalance holds part of what gravity holds, ``a sin q + b cos q`` of its joint's
position; a torsion spring is ``k (q - q0)`` with k >= 0 (q0 by the joint's offset). Consistent links that miss either
must be heavy where they are not. The model with counterbalances at all joints, and that with springs at all, is
therefore tried on parts of the motion that a fit did not see. One is accepted where the held-out error falls surely
(`casid.evidence.compared`, on the logarithms of the stretches' errors: one that falls alike on loud and quiet ones is a
sure one; the best of both kinds, or of several joints, must be surer) and by more than an eighth, which was set on
KR300, UR10, AR5, Rokae and Kinova's currents. Joints are then added one by one, until all of them are not surely
better: of those that lower the error surely, and than which the best is not surely better, the one with the most
plausible links (KR300: with a counterbalance at joint 3 the divergence is 72 and held-out errors 4.5 %, at joint 2,
which has it, 12 and 5.0 %; without one 69 and 5.2 %). The error that is stated is nested: on each part of the motion
with the joints chosen on the others.

Where consistent links are free enough to take the counterbalance's place, the held-out error does not show it, but the
masses do: without it, the bodies that the kinematics suggest explain the torques best with next to no mass. A
counterbalance is therefore accepted too where those bodies (`casid.identification._bounds.explained`) weigh more
with it than `HEAVIER` times what they weigh without it, where their error falls as surely and by as
much as is asked above, and where it takes gravity's load off its joint: a wrong sign or misplaced bodies lower the
mass, and move it by less than a third on the sixteen real and simulated recordings without a counterbalance. The
held-out error of consistent links must not rise surely.

All candidates are columns of one compressed regressor: those that are not tried are zero. A trial is the most plausible
set at the price of the residual that the model without springs has (`DivergenceProgram.priced`), found from its answer
within a few Newton steps on the Gram matrices of the stretches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.arrays import Array
from casid.description import Robot
from casid.description.joint_parameters import symbol_and_joint
from casid.dynamics import Model
from casid.dynamics.terms import Friction, JointTerm, friction_model
from casid.errors import DatasetError, ProblemError, SolveError
from casid.evidence import NOTICEABLE, PARTS, Comparison, compared
from casid.identification._accuracy import HeldOut, Part, determined, held_out
from casid.identification._bounds import HEAVIER, Explained, expected_rotors, explained, known_rotors
from casid.identification._consistent_fits import ConsistentFits, Priced
from casid.identification._regression import FeasibleFit, extra_bounds
from casid.measurement import Dataset
from casid.regression import CompressedData, Fit, compress, wls
from casid.regression.friction import CANDIDATES, STATIC, STRETCHES, Candidate, FrictionSearch, fit_jointly
from casid.retrieval import LeastSquares
from casid.retrieval.plausible import PlausibleBodies

#: Linear friction of a joint, the default.
LINEAR_FRICTION = ("viscous", "coulomb", "offset")
#: Joint terms of an identification: a geared drive's rotor inertia would else be put into the links.
DEFAULT_TERMS = (*LINEAR_FRICTION, "rotor")
#: Terms of a motor that turns several joints (`Robot.transmission`): its friction and rotor act on all of them.
MOTOR_TERMS = ("motor_viscous", "motor_coulomb", "motor_rotor")


@dataclass(frozen=True)
class ModelOptions:
    """The dynamic model that is fitted.

    Attributes
    ----------
    terms : sequence of str or JointTerm, optional
        Joint terms; default: `DEFAULT_TERMS`, and `MOTOR_TERMS` of the motors that turn several joints. With nonlinear
        ``friction``, viscous, coulomb and offset are left out of them.
    friction : str, optional
        ``linear``; ``static``: chosen joint by joint by cross-validation from laws without memory; ``auto``: likewise
        from all laws (`casid.identification._joint_terms`), which takes longer; or the name of a law, fitted jointly
        with the inertial parameters (`casid.regression.fit_jointly`). Default: ``static`` where a least squares fit
        holds parts of the motion out and ``terms`` are the default ones, else ``linear``.
    velocity_deadband : float
        Speed below which Coulomb friction counts as zero [rad/s].
    gravity : array_like, shape (3,), optional
        In the base frame [m/s^2]; default: the robot's.
    springs : bool
        Look for springs and counterbalances by held-out error (`casid.identification._joint_terms`), where friction is
        no law by name and ``terms`` have none.
    """

    terms: Sequence[str | JointTerm] | None = None
    friction: str | None = None
    velocity_deadband: float = 0.0
    gravity: ArrayLike | None = None
    springs: bool = True

    def decided(self, comparing: bool) -> ModelOptions:
        """The same with its friction named; ``comparing``: whether laws can be compared by held-out error."""
        default = "static" if comparing and self.terms is None else "linear"
        return replace(self, friction=self.friction or default)

    def terms_of(self, robot: Robot) -> tuple[str | JointTerm, ...]:
        """Joint terms that a robot gets: as given, or the default."""
        if self.terms is not None:
            return tuple(self.terms)
        T = np.eye(robot.n) if robot.transmission is None else np.asarray(robot.transmission)
        coupled = [joint.name for joint, turned in zip(robot.coordinates, T.T, strict=True) if (turned != 0).sum() > 1]
        return (*DEFAULT_TERMS, *(f"{term}@{joint}" for term in MOTOR_TERMS for joint in coupled))


#: Laws that are chosen from: ``auto`` from all of them, those with memory, a spring or signs of their own too; the
#: default from static ones.
CHOSEN = {"auto": CANDIDATES, "static": STATIC}
#: Terms of a counterbalance and of a spring, by their names in `casid.dynamics.terms._terms.JOINT_TERMS`.
COUNTERBALANCE, SPRING = ("spring_sine", "spring_cosine"), ("spring",)
#: Held-out error before over that after from which a spring is accepted.
SPRING_FALL = 1.15


#: Kind and joint.
Key = tuple[str, str]
#: Share of the expected rotor inertia below which a joint has none.
NO_ROTOR = 0.1


@dataclass(frozen=True, eq=False)
class IdentifiedFriction:
    """The model with its friction, and what the choice rests on.

    Attributes
    ----------
    model : Model
    law : Friction or None
        ``None``: linear.
    candidates : tuple of Candidate
        Laws that were compared.
    held_out : HeldOut or None
        Of the friction that was taken, with everything chosen from the other parts; ``None`` where nothing was chosen.
    note : str
    name : str
        ``linear``, ``static``, ``auto``, or that of the law.
    """

    model: Model
    law: Friction | None = None
    candidates: tuple[Candidate, ...] = ()
    held_out: HeldOut | None = None
    note: str = ""
    name: str = "linear"


def identified_friction(
    robot: Robot,
    datasets: Sequence[Dataset],
    options: ModelOptions,
    bounds: Mapping[str, tuple[float, float]],
    fits: ConsistentFits,
) -> IdentifiedFriction:
    """The model of an identification with its friction.

    Parameters
    ----------
    robot
    datasets
        Processed recordings.
    options
    bounds
        Of joint terms' parameters, by name: a friction chosen by data has these amplitudes.
    fits
        How a fit is made consistent.

    Raises
    ------
    ProblemError
        For a bound of a parameter that the friction does not have, before anything is computed.
    DatasetError
        As `choose_friction` and `fit_jointly`.
    """
    check_bounds(robot, options, bounds)
    if options.friction in (None, "linear"):
        return IdentifiedFriction(plain_model(robot, options))
    model = _frictionless(robot, options)
    laws = _laws(model, str(options.friction), bounds)
    if options.friction not in CHOSEN:
        together = fit_jointly(model, datasets, str(options.friction))
        return IdentifiedFriction(together.model, together.friction, name=str(options.friction))
    plain = plain_model(robot, options)
    try:
        return _better(FrictionSearch(model, datasets, laws), plain, fits, str(options.friction))
    except (DatasetError, SolveError, np.linalg.LinAlgError) as error:
        return IdentifiedFriction(plain, note=f"linear friction is kept, laws could not be compared: {error}")


def check_bounds(robot: Robot, options: ModelOptions, bounds: Mapping[str, tuple[float, float]]) -> None:
    """Refuse bounds of joint terms' parameters that no friction of these options has, before anything is computed.

    Raises
    ------
    ProblemError
        With the parameters, or the symbols of the laws, that there are.
    """
    if options.friction in (None, "linear"):
        extra_bounds(plain_model(robot, options), bounds)
    else:
        _laws(_frictionless(robot, options), str(options.friction), bounds)


def _frictionless(robot: Robot, options: ModelOptions) -> Model:
    """The model without friction."""
    terms = [term for term in options.terms_of(robot) if term not in LINEAR_FRICTION]
    return Model(robot, terms, options.gravity, options.velocity_deadband)


def plain_model(robot: Robot, options: ModelOptions) -> Model:
    """The model with linear friction, its terms in the order that linear friction by itself has."""
    given = options.terms_of(robot)
    added = () if options.friction in (None, "linear") else (t for t in LINEAR_FRICTION if t not in given)
    return Model(robot, [*added, *given], options.gravity, options.velocity_deadband)


def _laws(model: Model, friction: str, bounds: Mapping[str, tuple[float, float]]) -> list[str]:
    """Laws that have every amplitude that is bounded, of one law or of all candidates."""
    unknown = [name for name in bounds if name not in model.parameter_names]
    symbols = {(symbol_and_joint(name, model.n) or (name,))[0] for name in unknown}
    tried = CHOSEN.get(friction, (friction,))
    laws = [name for name in tried if symbols <= {a.symbol for a in friction_model(name).amplitudes}]
    if not laws:
        known = sorted({a.symbol for name in tried for a in friction_model(name).amplitudes})
        raise ProblemError(
            f"bounds: friction '{friction}' has no parameter {' and '.join(sorted(bounds))}; it has the symbols "
            f"{', '.join(known)}, each followed by the number of a joint"
        )
    return laws


def _better(search: FrictionSearch, plain: Model, fits: ConsistentFits, name: str) -> IdentifiedFriction:
    """Chosen friction where it is surely better than linear friction, consistent links or not; else linear friction."""
    kept = tuple(replace(row, chosen=row.law == "linear") for row in search.table)
    if search.is_linear:
        return IdentifiedFriction(plain, None, kept, None, "linear friction is kept: no joint is explained better")
    nested = [search.data(search.without(part, PARTS)) for part in range(PARTS)]
    linear, chosen = (_parts(data, search.samples) for data in ([search.data(search.linear)] * PARTS, nested))
    if min(len(linear), len(chosen)) < 2:
        return IdentifiedFriction(plain, None, kept, None, "too little motion to hold a part out: linear friction")
    estimates = [[wls(part.training) for part in parts] for parts in (linear, chosen)]
    tested, words = None, ""
    for kind in ("unconstrained", "consistent"):
        before, after = (
            held_out(parts, [{"unconstrained": fit.beta, "consistent": _beta(fit, fits, kind)} for fit in own])
            for parts, own in zip((linear, chosen), estimates, strict=True)
        )
        tested, errors = after, [one.tested["consistent"].total for one in (before, after)]
        words = (
            f"held-out error {errors[1]:.2f} % with laws chosen joint by joint, {errors[0]:.2f} % with linear friction"
        )
        if (
            not compared(before.squares["consistent"], after.squares["consistent"]).better
            or errors[0] <= NOTICEABLE * errors[1]
        ):
            return IdentifiedFriction(plain, None, kept, None, f"linear friction is kept ({kind} fit): {words}")
    choice = search.chosen()
    return IdentifiedFriction(choice.model, choice.friction, choice.table, tested, f"friction: {words}", name)


def _beta(fit: Fit, fits: ConsistentFits, kind: str) -> Array:
    """Base parameters of a fit, or of the consistent one."""
    return np.asarray(fit.beta) if kind == "unconstrained" else fits.fitted(fit)[0].beta


def _parts(data: Sequence[CompressedData], datasets: Sequence[Dataset]) -> list[Part]:
    """Parts of the motion; ``data[part]``: with the friction chosen without it."""
    found = []
    for part, own in enumerate(data):
        apart = [i for i, s in enumerate(own.segments) if _stretch(s.spans[0], datasets) % len(data) == part]
        found += [Part(own, tuple(apart))] if apart else []
    return found


def _stretch(span: tuple[int, int, int], datasets: Sequence[Dataset]) -> int:
    """Which of the stretches that the choice is cross-validated on this segment is."""
    recording, first, last = span
    return min(int((first + last) / 2 * STRETCHES / max(len(datasets[recording]), 1)), STRETCHES - 1)


@dataclass(frozen=True)
class FoundSpring:
    """A spring or counterbalance that is part of the model.

    Attributes
    ----------
    joint, kind : str
        ``counterbalance`` or ``spring``.
    before, after : float
        Held-out error without and with it, chosen from the other parts of the motion [%].
    sure : float
        Standard errors between the two.
    torque, held : float
        Largest torque that it makes in the recordings, and largest one of the joint without it [N.m].
    masses : tuple of float, optional
        Of the bodies that explain the torques best, without and with it [kg], where the masses show it; ``before``,
        ``after`` and ``sure`` are then of the errors of these bodies.
    """

    joint: str
    kind: str
    before: float
    after: float
    sure: float
    torque: float
    held: float
    masses: tuple[float, float] | None = None

    @property
    def terms(self) -> tuple[str, ...]:
        """Its joint terms."""
        return _terms(self.kind, self.joint)

    @property
    def text(self) -> str:
        """What was found, in words."""
        what = f"a {self.kind} at {self.joint} is part of the model, up to {self.torque:.3g} N.m:"
        fall = f"{self.before:.2f} -> {self.after:.2f} %, by {self.sure:.1f} standard errors"
        if self.masses is None:
            return f"{what} held-out error {fall}"
        without, own = self.masses
        return (
            f"{what} links of an arm's proportions explain the torques with {own:.4g} kg, {without:.4g} kg without it; "
            f"their error {fall}"
        )


def search(
    base: Fit, datasets: Sequence[Dataset], fits: ConsistentFits, price: float, folds: int
) -> tuple[FoundSpring, ...]:
    """Springs and counterbalances that lower the held-out error, or without which the links would weigh too little.

    Parameters
    ----------
    base
        Unconstrained fit of the model without them.
    datasets
        Processed.
    fits, price
        How a fit is made consistent, at this price of the residual.
    folds
        Parts of the motion that are held out in turn.
    """
    model = base.data.model
    joints = model.robot.coordinates
    every: list[Key] = [("spring", joint.name) for joint in joints]
    every += [("counterbalance", joint.name) for joint in joints if joint.type == "revolute"]
    terms = [term for key in every for term in _terms(*key)]
    try:
        extended = compress(model.like(terms=(*model.terms, *terms)), datasets)
        priced = fits.priced(wls(extended), spring_bounds(extended), price)
        trial = _Trials.of(extended, np.asarray(base.weights), datasets, priced, folds)
        bare = trial.errors(())
        both = [[key for key in every if key[0] == kind] for kind in ("counterbalance", "spring")]
        kinds = [keys for keys in both if keys]
        whole = min(kinds, key=lambda keys: float(trial.errors(keys).sum()))
        found = _located(trial, bare, whole) if _falls(bare, trial.errors(whole), len(kinds)) else ()
        return found or _weighed(trial, extended, fits.template, both[0])
    except (DatasetError, SolveError):  # of a part that holds too little, or has no consistent fit
        return ()


def _terms(kind: str, joint: str) -> tuple[str, ...]:
    """Joint terms of a spring or counterbalance."""
    return tuple(f"{name}@{joint}" for name in (COUNTERBALANCE if kind == "counterbalance" else SPRING))


def _located(trial: _Trials, bare: Array, whole: Sequence[Key]) -> tuple[FoundSpring, ...]:
    """The joints that have one; none where joints chosen on other parts of the motion do not lower the error."""
    parts = np.arange(len(bare)) % trial.folds
    nested = np.zeros(len(bare))
    for part in range(trial.folds):
        chosen = _forward(trial, whole, parts != part)
        nested[parts == part] = trial.errors(chosen)[parts == part]
    fall = _fall(bare, nested)
    chosen = _forward(trial, whole, parts >= 0)
    if not fall.better or not _falls(bare, trial.errors(chosen), len(whole)):
        return ()
    before, after = (100.0 * float(np.sqrt(errors.sum())) for errors in (bare, nested))
    values = trial.values(chosen)
    return tuple(FoundSpring(key[1], key[0], before, after, fall.gain, *trial.torques(values, key)) for key in chosen)


def _forward(trial: _Trials, whole: Sequence[Key], seen: NDArray[np.bool_]) -> list[Key]:
    """Joints added one by one until all of them are not surely better, on what is seen."""
    taken: list[Key] = []
    while len(taken) < len(whole):
        errors = {key: trial.errors([*taken, key])[seen] for key in whole if key not in taken}
        before, best = trial.errors(taken)[seen], min(errors, key=lambda key: float(errors[key].sum()))
        alike = [k for k, e in errors.items() if _fall(before, e).better and not _fall(e, errors[best]).better]
        taken.append(min(alike or [best], key=lambda key: trial.divergence([*taken, key])))
        if not _fall(trial.errors(taken)[seen], trial.errors(whole)[seen]).better:
            break
    return taken


def _weighed(
    trial: _Trials, data: CompressedData, bodies: PlausibleBodies, every: Sequence[Key]
) -> tuple[FoundSpring, ...]:
    """Counterbalances without which the bodies that explain the torques weigh too little, the clearest first."""

    def of(keys: Sequence[Key]) -> tuple[Explained, Array]:
        made = explained(bodies, data, trial.left_out(keys))
        errors = [float(data.plain.only([k]).squared_errors(made.beta).sum()) for k in range(len(data.segments))]
        return made, np.array(errors)

    found: list[FoundSpring] = []
    whole = float(data.plain.squared_torques.sum())
    now, before = of(())
    while len(found) < len(every):
        taken = [(spring.kind, spring.joint) for spring in found]
        tried = {key: of([*taken, key]) for key in every if key not in taken}
        heavier = [key for key, (made, _) in tried.items() if made.mass > HEAVIER * now.mass]
        if not heavier:
            break
        best = min(heavier, key=lambda key: float(tried[key][1].sum()))
        made, after = tried[best]
        fall = _fall(before, after)
        risen = compared(trial.errors([*taken, best]), trial.errors(taken))
        if not _falls(before, after, len(heavier)) or risen.better:
            break
        percent = [100.0 * float(np.sqrt(errors.sum() / whole)) for errors in (before, after)]
        torques = trial.torques(made.terms, best)
        masses = now.mass, made.mass
        found.append(FoundSpring(best[1], best[0], percent[0], percent[1], fall.gain, *torques, masses))
        now, before = made, after
    return tuple(found)


def _fall(before: Array, after: Array, tried: int = 1) -> Comparison:
    """Comparison of the logarithms of the stretches' errors."""
    return compared(np.log(np.maximum(before, 1e-300)), np.log(np.maximum(after, 1e-300)), tried)


def _falls(before: Array, after: Array, tried: int = 1) -> bool:
    """Whether the stretches' errors fall surely, and enough; with the best of so many accounts."""
    return _fall(before, after, tried).better and float(before.sum()) > SPRING_FALL**2 * float(after.sum())


@dataclass(frozen=True, eq=False)
class _Trials:
    """Squares of all but one part of the motion, of a model with every spring, and the answers without springs."""

    model: Model
    priced: Priced
    squares: tuple[LeastSquares, ...]
    held: Array
    datasets: tuple[Dataset, ...]
    near: list[Array] = field(default_factory=list)
    known: dict[frozenset[Key], tuple[Array, float]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        data: CompressedData,
        weights: Array,
        datasets: Sequence[Dataset],
        priced: Priced,
        folds: int,
    ) -> _Trials:
        """The motion has a stretch at least for each part."""
        count, rank = len(data.segments), data.base.rank
        folds = min(folds, count)
        columns = data.base.K[:, priced.problem.columns]
        parts = np.arange(count) % folds
        pulled = np.array([gram(segment.factors, weights, rank + 1) for segment in data.segments])
        held = np.array([gram(segment.factors, np.ones(data.n), rank + 1) for segment in data.segments])
        squares = tuple(gram_squares(pulled[parts != part].sum(axis=0), columns) for part in range(folds))
        made = cls(data.model, priced, squares, held, tuple(datasets))
        made.near.extend(priced.found(one, made.left_out(()), None) for one in squares)
        return made

    @property
    def folds(self) -> int:
        """Number of parts."""
        return len(self.squares)

    def errors(self, keys: Sequence[Key]) -> Array:
        """Squared held-out error of each stretch with these springs, over the squares of all torques."""
        return self._of(frozenset(keys))[0]

    def divergence(self, keys: Sequence[Key]) -> float:
        """Divergence of the links from plausible bodies with these springs, the mean over the parts."""
        return self._of(frozenset(keys))[1]

    def left_out(self, keys: Sequence[Key]) -> list[str]:
        """Names of the springs' parameters that are not tried."""
        tried = {term for key in keys for term in _terms(*key)}
        names = [joint.name for joint in self.model.robot.coordinates]
        return [
            self.model.parameter_names[column]
            for column, (term, joint) in self.model.term_columns.items()
            if term.name in (*SPRING, *COUNTERBALANCE) and f"{term.name}@{names[joint]}" not in tried
        ]

    def values(self, keys: Sequence[Key]) -> dict[int, float]:
        """Parameters of the joint terms by their columns, with these springs, the first part left out."""
        values = self.priced.problem.values(self.priced.found(self.squares[0], self.left_out(keys), self.near[0]))
        return {column: float(values[column]) for column in self.model.term_columns}

    def torques(self, values: Mapping[int, float], key: Key) -> tuple[float, float]:
        """Largest torque of a spring, and of its joint without it [N.m], with these parameters of the joint terms."""
        names = [joint.name for joint in self.model.robot.coordinates]
        shapes: dict[str, Callable[[Array], Array]] = {
            "spring": np.positive, "spring_sine": np.sin, "spring_cosine": np.cos,
        }  # fmt: skip
        own, held = 0.0, 0.0
        for data in self.datasets:
            q, tau = (a[:, names.index(key[1])] for a in (data.q, data.tau))
            counted = data.counted[:, names.index(key[1])]
            made = np.zeros(len(q))
            for column, (term, joint) in self.model.term_columns.items():
                if f"{term.name}@{names[joint]}" in _terms(*key):
                    made = made + values[column] * shapes[term.name](q)
            own = max(own, float(np.abs(made[counted]).max(initial=0.0)))
            held = max(held, float(np.abs((tau - made)[counted]).max(initial=0.0)))
        return own, held

    def _of(self, keys: frozenset[Key]) -> tuple[Array, float]:
        if keys in self.known:
            return self.known[keys]
        left_out, errors, apart = self.left_out(tuple(keys)), np.zeros(len(self.held)), 0.0
        for part, (squares, near) in enumerate(zip(self.squares, self.near, strict=True)):
            x = self.priced.found(squares, left_out, near)
            direction = np.append(-self.model.base.values(self.priced.problem.values(x)), 1.0)
            errors[part :: self.folds] = [direction @ one @ direction for one in self.held[part :: self.folds]]
            apart += self.priced.program.divergence(x, 1.0) / self.folds
        self.known[keys] = errors / max(float(self.held[:, -1, -1].sum()), 1e-300), apart
        return self.known[keys]


def gram(factors: Sequence[Array], weights: Array, size: int) -> Array:
    """Gram matrix of ``[W_b, tau]`` of one stretch, joints weighted."""
    of = [w * factor[:, :size] for w, factor in zip(weights, factors, strict=True)]
    return np.asarray(sum((one.T @ one for one in of), np.zeros((size, size))))


def gram_squares(matrix: Array, columns: Array) -> LeastSquares:
    """``||R K x - rho||^2`` of a Gram matrix of base parameters and torque."""
    values, vectors = np.linalg.eigh(matrix[:-1, :-1])
    roots = np.sqrt(np.maximum(values, 1e-14 * values[-1]))
    return LeastSquares((vectors * roots).T @ columns, vectors.T @ matrix[:-1, -1] / roots)


def spring_bounds(data: CompressedData) -> dict[str, tuple[float, float]]:
    """Stiffness is not negative; springs and offsets stay within a hundred roots of a joint's summed squares."""
    model = data.model
    most = 100.0 * float(np.sqrt(data.squared_torques.max()))
    return {
        model.parameter_names[column]: (0.0 if term.name in SPRING else -most, most)
        for column, (term, _) in model.term_columns.items()
        if term.name in (*SPRING, *COUNTERBALANCE) or not term.nonnegative
    }


def _refused_rotors(fits: ConsistentFits, feasible: FeasibleFit) -> list[str]:
    """Rotor inertias of the description with which the best consistent fit is worse than plausible links may make it.

    In words. Each in turn is held at its value; the others are free.
    """
    best, values = feasible.solution.objective, feasible.parameters
    joints = {f"Ia{k}": joint.name for k, joint in enumerate(fits.robot.coordinates, start=1)}
    found = []
    for name, known in known_rotors(fits.robot).items():
        if name not in feasible.model.parameter_names or not best > 0:
            continue
        try:
            growth = float(np.sqrt(fits.best(feasible.fit, {name: (known, known)}).solution.objective / best)) - 1.0
        except SolveError:
            continue  # no answer is no contradiction
        if growth > fits.share:
            grown = f"residual +{100 * growth:.0f} % with it"
            found.append(f"{joints[name]}: {known:.4g} kg.m^2, chosen {values[name]:.4g}, {grown}")
    return found


def _behind_the_gear(feasible: FeasibleFit, expected: Mapping[str, float]) -> tuple[str, ...]:
    """Joints without rotor inertia by the data alone, where they are most of those whose rotor these determine.

    The 95 % interval of the unconstrained fit ends below a tenth of the expected inertia.
    """
    ends = {entry.name: entry.high for entry in determined(feasible.fit, feasible.values)}
    told = [name for name in expected if np.isfinite(ends[name])]
    without = [name for name in told if ends[name] < NO_ROTOR * expected[name]]
    names = [joint.name for joint in feasible.model.robot.coordinates]
    return tuple(names[int(name[2:]) - 1] for name in without) if 2 * len(without) > len(told) else ()


def rotor_notes(fits: ConsistentFits, feasible: FeasibleFit) -> tuple[str, ...]:
    """Both as notes of a result."""
    notes = []
    refused = _refused_rotors(fits, feasible)
    if refused:
        notes.append(
            f"the data refuse rotor inertias of the robot's file ({'; '.join(refused)}): check the "
            "torques' gains, the gear ratios, and whether a spring is missing"
        )
    none = _behind_the_gear(feasible, expected_rotors(feasible.model, fits.largest[0], known=False))
    if none:
        chosen = "; the values chosen are the plausible ones" if feasible.believable is not None else ""
        notes.append(
            f"these data alone show no rotor inertia at {', '.join(none)}, with 95 % less than a tenth of what geared "
            f"drives of such torques have: torques measured behind the gear, or direct drives{chosen}"
        )
    return tuple(notes)
