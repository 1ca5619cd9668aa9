"""Friction of a robot whose links are known, from a recording: what their torques leave, joint by joint."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.dynamics import Model
from casid.dynamics.terms._friction import Friction, JointFriction
from casid.dynamics.terms._law import FrictionLaw
from casid.errors import DatasetError
from casid.identification.prediction import predict
from casid.measurement import Dataset
from casid.regression.friction._shape_fits import fit_friction

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Refitted:
    """Links with fitted friction.

    Attributes
    ----------
    model : Model
        The friction is among its joint terms.
    parameters : ndarray, shape (N,)
        Of the model.
    friction : Friction
        Law and shape of every joint.
    """

    model: Model
    parameters: Array
    friction: Friction


def refit_friction(
    model: Model, parameters: ArrayLike, dataset: Dataset, friction: str | FrictionLaw = "sigmoid"
) -> Refitted:
    """The links of a model with friction fitted to a recording (Gaz et al. 2019, Sec. IV-B).

    The joint terms of the model are left out; the residual torque of each joint, over its velocity, is fitted by the
    law alone, so that the links stay what they are.

    Parameters
    ----------
    model
        Any joint terms in it are replaced.
    parameters
        Of the model, shape (N,).
    dataset
        Processed: with velocities and accelerations.
    friction
        A law of the velocity alone.

    Raises
    ------
    DatasetError
        If the recording does not fit the model, or a joint does not move.
    """
    pi = model.parameters(parameters)
    links = model.like(terms=())
    found = predict(links, pi[np.ravel(model.link_columns)], dataset)
    if dataset.dq is None:
        raise DatasetError(f"{dataset.name}: a processed recording is needed to fit friction")
    joints, values = [], dict(zip(links.parameter_names, pi[np.ravel(model.link_columns)], strict=True))
    for k in range(model.n):
        kept = slice(None) if dataset.mask is None else dataset.mask[:, k]
        fit = fit_friction(dataset.dq[kept, k], found.residual[kept, k], friction)
        joints.append(JointFriction(fit.model, tuple(fit.shape.tolist())))
        for amplitude, value in zip(fit.model.amplitudes, fit.amplitudes.tolist(), strict=True):
            values[f"{amplitude.symbol}{k + 1}"] = value
    laws = Friction(tuple(joints))
    made = links.with_friction(laws)
    return Refitted(made, np.array([values[name] for name in made.parameter_names]), laws)
