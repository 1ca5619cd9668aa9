"""Bodies added to a robot, and whether its parameters can be those of real bodies."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.dynamics import Model
from casid.errors import DatasetError, InertiaWarning
from casid.inertia import consistency, express_in, to_standard

Array = NDArray[np.float64]


def with_payload(model: Model, parameters: Array, payload: ArrayLike, frame: str) -> Array:
    """Parameters of the robot with a body fixed to one of its frames.

    Parameters
    ----------
    payload
        ``mass, cx, cy, cz`` and optionally the inertia about the centre of mass ``Ixx Ixy Ixz Iyy Iyz Izz``, in the
        axes of the frame [kg, m, kg.m^2].
    frame
        Name of a link or frame.
    """
    values = np.array(payload, dtype=float).ravel()
    if len(values) not in (4, 10) or not np.isfinite(values).all() or values[0] < 0:
        raise DatasetError(
            "payload: give mass,cx,cy,cz or mass,cx,cy,cz,Ixx,Ixy,Ixz,Iyy,Iyz,Izz (kg, m, kg.m^2, finite, mass >= 0), "
            f"got {values.tolist()}"
        )
    six = values[4:] if len(values) == 10 else np.zeros(6)
    inertia = np.array([[six[0], six[1], six[2]], [six[1], six[3], six[4]], [six[2], six[4], six[5]]])
    hung = model.robot.frame(frame)
    joint, placement = hung.joint, hung.placement
    result: Array = parameters.copy()
    if joint >= 0:
        body = express_in(to_standard(values[0], values[1:4], inertia), placement[:3, :3], placement[:3, 3])
        result[list(model.link_columns[joint])] += body
    return result


def warn_if_infeasible(model: Model, parameters: Array) -> None:
    """An InertiaWarning for links that no real body can have: a simulation with them may not behave."""
    for k, link in enumerate(model.robot.links):
        complaint = consistency(parameters[list(model.link_columns[k])]).complaint()
        if complaint:
            warnings.warn(
                f"robot '{model.robot.name}', link '{link.name}': {complaint}; the mass matrix M(q) may not be "
                "positive definite, and forward dynamics and everything else with its inverse may diverge",
                InertiaWarning,
                stacklevel=3,
            )
