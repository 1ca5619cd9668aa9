"""The friction of an identification: linear, a law by name, or chosen joint by joint where the choice itself holds up.

``auto`` is judged as a whole: for each part of the motion the laws, their shapes, the base parameters and the
consistent links are chosen from the other parts alone, and the part is predicted (nested cross-validation). Linear
friction is kept unless the choice lowers that error surely (`casid.evidence.compared`) and by 5 %, with consistent
links and without.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from casid.arrays import Array
from casid.description import Robot
from casid.description.joint_parameters import symbol_and_joint
from casid.dynamics import Model
from casid.dynamics.terms import Friction, JointTerm, friction_model
from casid.errors import CasidError, ProblemError
from casid.evidence import compared
from casid.identification._options import LINEAR_FRICTION, ModelOptions
from casid.identification._prediction import HeldOut, predicted_parts
from casid.identification._regression import extra_bounds
from casid.measurement import Dataset
from casid.regression import CompressedData, Fit, wls
from casid.regression.friction import CANDIDATES, STATIC, STRETCHES, Candidate, FrictionSearch, fit_jointly

#: Laws that are chosen from: ``auto`` from all of them, those with memory, a spring or signs of their own too; the
#: default from static ones.
CHOSEN = {"auto": CANDIDATES, "static": STATIC}
#: Parts of the motion that are predicted from the others.
PARTS = 4
#: Least ratio of the held-out errors with linear and with chosen friction: simplicity may cost what plausibility may
#: (`casid.identification._share.ABOVE_BEST`); of UR10e, AR5, TX40 and Panda it leaves those whose error falls by half.
FALL = 1.05


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
    consistent: Callable[[Fit], Array],
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
    consistent
        From an unconstrained fit to the consistent base parameters, shape (rank,).

    Raises
    ------
    ProblemError
        For a bound of a parameter that the friction does not have, before anything is computed.
    DatasetError
        As `choose_friction` and `fit_jointly`.
    """
    linear = options.friction in (None, "linear")
    terms = [t for t in options.terms_of(robot) if linear or t not in LINEAR_FRICTION]
    model = Model(robot, terms, options.gravity, options.velocity_deadband)
    if linear:
        return IdentifiedFriction(model)
    laws = _laws(model, str(options.friction), bounds)
    if options.friction not in CHOSEN:
        together = fit_jointly(model, datasets, str(options.friction))
        return IdentifiedFriction(together.fit.data.model, together.friction, name=str(options.friction))
    plain = Model(robot, _plain(robot, options), options.gravity, options.velocity_deadband)
    try:
        return _better(FrictionSearch(model, datasets, laws), plain, consistent, str(options.friction))
    except (CasidError, np.linalg.LinAlgError) as error:
        return IdentifiedFriction(plain, note=f"linear friction is kept, laws could not be compared: {error}")


def check_bounds(robot: Robot, options: ModelOptions, bounds: Mapping[str, tuple[float, float]]) -> None:
    """Refuse bounds of joint terms' parameters that no friction of these options has, before anything is computed.

    Raises
    ------
    ProblemError
        With the parameters, or the symbols of the laws, that there are.
    """
    linear = options.friction in (None, "linear")
    terms = [t for t in options.terms_of(robot) if linear or t not in LINEAR_FRICTION]
    model = Model(robot, terms, options.gravity, options.velocity_deadband)
    if linear:
        extra_bounds(model, bounds)
    else:
        _laws(model, str(options.friction), bounds)


def _plain(robot: Robot, options: ModelOptions) -> list[str | JointTerm]:
    """The terms with linear friction, in the order that linear friction by itself has."""
    given = options.terms_of(robot)
    return [*(t for t in LINEAR_FRICTION if t not in given), *given]


def _laws(model: Model, friction: str, bounds: Mapping[str, tuple[float, float]]) -> list[str]:
    """Laws that have every amplitude that is bounded, of one law or of all candidates."""
    symbols = [_symbol(name, model) for name in bounds if name not in model.parameter_names]
    tried = CHOSEN.get(friction, (friction,))
    laws = [name for name in tried if set(symbols) <= {a.symbol for a in friction_model(name).amplitudes}]
    if not laws:
        known = sorted({a.symbol for name in tried for a in friction_model(name).amplitudes})
        raise ProblemError(
            f"bounds: friction '{friction}' has no parameter {' and '.join(sorted(bounds))}; it has the symbols "
            f"{', '.join(known)}, each followed by the number of a joint"
        )
    return laws


def _symbol(name: str, model: Model) -> str:
    place = symbol_and_joint(name, model.n)
    return name if place is None else place[0]


def _better(search: FrictionSearch, plain: Model, consistent: Callable[[Fit], Array], name: str) -> IdentifiedFriction:
    """Chosen friction where it is surely better than linear friction, consistent links or not; else linear friction."""
    kept = tuple(replace(row, chosen=row.law == "linear") for row in search.table)
    if search.is_linear:
        return IdentifiedFriction(plain, None, kept, None, "linear friction is kept: no joint is explained better")
    ordinary = search.data(search.linear)
    nested = [search.data(search.without(part, PARTS)) for part in range(PARTS)]
    tested: HeldOut | None = None
    words = ""
    for kind, beta in (("unconstrained", _unconstrained), ("consistent", consistent)):
        linear = _held_out([ordinary] * PARTS, search.samples, beta)
        chosen = _held_out(nested, search.samples, beta)
        if linear is None:
            return IdentifiedFriction(plain, None, kept, None, "too little motion to hold a part out: linear friction")
        before = linear[0].tested["consistent"].total
        if chosen is None:
            note = f"linear friction, held-out error {before:.2f} %: no {kind} fit with laws chosen joint by joint"
            return IdentifiedFriction(plain, None, kept, None, note)
        tested, after = chosen[0], chosen[0].tested["consistent"].total
        words = f"held-out error {after:.2f} % with laws chosen joint by joint, {before:.2f} % with linear friction"
        if not compared(linear[1], chosen[1]).better or before <= FALL * after:
            return IdentifiedFriction(plain, None, kept, None, f"linear friction is kept ({kind} fit): {words}")
    choice = search.chosen()
    note = f"friction: {words}"
    return IdentifiedFriction(choice.model, choice.friction, choice.table, tested, note, name)


def _unconstrained(fit: Fit) -> Array:
    return np.asarray(fit.beta)


def _held_out(
    data: Sequence[CompressedData], datasets: Sequence[Dataset], beta_of: Callable[[Fit], Array]
) -> tuple[HeldOut, Array] | None:
    """Each part predicted from the others; ``data[part]``: with the friction chosen without it."""
    parts = []
    for part, own in enumerate(data):
        apart = [i for i, s in enumerate(own.segments) if _stretch(s.spans[0], datasets) % len(data) == part]
        parts += [(own, apart)] if apart else []
    return predicted_parts(parts, wls, beta_of)


def _stretch(span: tuple[int, int, int], datasets: Sequence[Dataset]) -> int:
    """Which of the stretches that the choice is cross-validated on this segment is."""
    recording, first, last = span
    return min(int((first + last) / 2 * STRETCHES / max(len(datasets[recording]), 1)), STRETCHES - 1)
