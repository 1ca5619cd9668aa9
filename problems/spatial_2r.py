"""A spatial 2R robot whose centres of mass must lie inside a cylinder and inside one that ends in a truncated cone.

Example of C. Gaz, M. Cognetti, A. Oliva, P. Robuffo Giordano, A. De Luca, "Dynamic Identification of the Franka Emika
Panda Robot With Retrieval of Feasible Parameters Using Penalty-Based Optimization", IEEE RA-L 4(4), 2019,
supplementary material, Sec. V: kinematics of Table VI, bounds and true parameters of Table VII
(``robots/spatial_2r.toml``), total mass 1 to 15 kg. The torques of the true robot on an exciting motion give its base
parameters by least squares; the retrieval finds link parameters that explain them. (The supplement prints the first
shape with c1y in place of c1x; the axis of link 1 is the y axis of its frame, and only so does the true centre of
mass lie inside.) Copy this file to state your own problem.
"""

from __future__ import annotations

from typing import Literal

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from casid.description import Robot, load_robot
from casid.dynamics import Model
from casid.errors import ProblemError
from casid.inertia import to_standard
from casid.retrieval import (
    Coefficients,
    Constraint,
    LinkVariables,
    Problem,
    base_parameter_error,
    com_box,
    link_variables,
    robot_bounds,
)

#: Radii of link 1, link 2 and the end of its cone, and the cone's length [m].
R1, R2, R3, CONE = 0.15, 0.08, 0.02, 0.2
#: Mass [kg], centre of mass [m], diagonal of the inertia about it [kg.m^2] of the simulated robot (Table VII, p_real).
TRUE_BODIES = ((8.0, (0.01, -0.75, -0.02), (0.03, 0.03, 0.01)), (3.0, (-0.1, 0.0, 0.0), (0.01, 0.04, 0.04)))


def true_parameters() -> NDArray[np.float64]:
    """Standard parameters of the simulated robot, shape (20,): what its data are made of, and nothing else."""
    return np.concatenate([to_standard(mass, com, np.diag(inertia)) for mass, com, inertia in TRUE_BODIES])


def exciting_motion(samples: int = 500, period: float = 10.0) -> tuple[NDArray[np.float64], ...]:
    """Positions, velocities and accelerations of a sum of sines, three arrays of shape (samples, 2)."""
    t = np.linspace(0.0, period, samples, endpoint=False)[:, None]
    amplitude = np.array([[[0.9, -0.7]], [[-0.5, 0.6]], [[0.3, 0.4]]])
    pulse = 2 * np.pi / period * np.array([1, 2, 5])[:, None, None]
    angle = pulse * t + np.array([0.0, 0.7])
    return tuple(
        np.asarray((amplitude * wave).sum(axis=0))
        for wave in (np.sin(angle), pulse * np.cos(angle), -(pulse**2) * np.sin(angle))
    )


def identify(robot: Robot) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Base parameters, and their linear forms K, by ordinary least squares from simulated torques of the true robot."""
    model = Model(robot)
    q, dq, ddq = exciting_motion()
    torque = np.array(model.inverse_dynamics.map(len(q))(q.T, dq.T, ddq.T, true_parameters()))
    rows = model.base_regressor.map(len(q))(q.T, dq.T, ddq.T)
    regressor = np.array(rows).reshape(robot.n, len(q), -1).swapaxes(0, 1).reshape(robot.n * len(q), -1)
    return np.linalg.lstsq(regressor, torque.T.ravel(), rcond=None)[0], model.base.K


def exact_shapes(links: LinkVariables) -> tuple[Constraint, ...]:
    """Both centres of mass inside their link's shape (the supplement's g_CoM1 and g_CoM2), with an if-else."""
    link1, link2 = links
    c1, c2 = link1.com, link2.com
    radius = ca.if_else(c2[0] < -CONE, R2, R2 + (R3 - R2) / CONE * (CONE + c2[0]))
    return (
        Constraint("link1 com in its cylinder", R1**2 - c1[0] ** 2 - c1[2] ** 2, lower=0.0),
        Constraint("link2 com in its cylinder or cone", radius**2 - c2[1] ** 2 - c2[2] ** 2, lower=0.0),
    )


def box_shapes(links: LinkVariables) -> tuple[Constraint, ...]:
    """Boxes around the shapes, 1.27 and 1.48 times their volume: beside the exact shapes they only scale the solver."""
    link1, link2 = links
    return (
        com_box(link1, [-R1, -1.42, -R1], [R1, 0.08, R1]),
        com_box(link2, [-0.8, -R2, -R2], [0.0, R2, R2]),
    )


def build(shapes: Literal["exact", "box"] = "exact", margin: float = 1e-6) -> Problem:
    """Distance from the identified base parameters, over physically consistent parameters within bounds and shapes.

    Parameters
    ----------
    shapes
        ``exact``: the if-else set; ``box``: the boxes around it.
    margin
        Smallest eigenvalue of both links' pseudo-inertia (SI units).
    """
    robot = load_robot("spatial_2r")
    links = link_variables(robot)
    values, forms = identify(robot)
    bounds = [c for c in robot_bounds(links) if c.quantity != "centre of mass"]  # the shapes are tighter
    if shapes not in ("exact", "box"):
        raise ProblemError(f"shapes: expected 'exact' or 'box', got '{shapes}'")
    return Problem(
        "spatial_2r",
        links,
        objective=base_parameter_error(links, forms, values),
        constraints=(*bounds, *box_shapes(links), *(exact_shapes(links) if shapes == "exact" else ())),
        margin=margin,
        coefficients=Coefficients(forms, values),
        source="Gaz et al. 2019, supplementary material, Sec. V",
    )
