"""Feasible link parameters of the Franka Emika Panda from its identified base parameters.

The problem of C. Gaz, M. Cognetti, A. Oliva, P. Robuffo Giordano, A. De Luca, "Dynamic Identification of the Franka
Emika Panda Robot With Retrieval of Feasible Parameters Using Penalty-Based Optimization", IEEE RA-L 4(4), 2019, Sec.
V: coefficients of Table III of its supplementary material, bounds of Tables VIII and IX (in ``robots/panda.toml``),
total mass 16 to 20 kg, physically consistent inertias. Copy this file to state your own problem.
"""

from __future__ import annotations

import numpy as np

from casid.description import load_robot
from casid.dynamics import Model
from casid.retrieval import Coefficients, Problem, base_parameter_error, link_variables, robot_bounds

#: Table III, columns pi_RE and its standard deviation [%], by the leading parameter of each grouping.
TABLE_III = {
    "Lzz1": (0.0292, 0.3735), "Lxx2": (0.9818, 0.0176), "Lxy2": (-0.0052, 1.5625), "Lxz2": (0.0284, 0.2698),
    "Lyz2": (-0.0035, 2.3330), "Lzz2": (1.0428, 0.0091), "Lxx3": (0.0106, 1.2664), "Lxy3": (-0.0002, 30.3622),
    "Lxz3": (-0.0104, 0.4874), "Lyz3": (-0.0048, 1.2379), "Lzz3": (0.1169, 0.0691), "Lxx4": (0.5324, 0.0202),
    "Lxy4": (0.1501, 0.0274), "Lxz4": (0.0048, 0.9079), "Lyz4": (-0.0027, 1.6177), "Lzz4": (0.6369, 0.0103),
    "Lxx5": (0.0322, 0.2739), "Lxy5": (-0.0037, 0.9578), "Lxz5": (-0.0061, 0.4932), "Lyz5": (0.0077, 0.4345),
    "Lzz5": (0.0181, 0.3169), "Lxx6": (-0.0065, 1.0591), "Lxy6": (0.0054, 0.5331), "Lxz6": (-1.2901e-05, 218.6430),
    "Lyz6": (0.0008, 3.3084), "Lzz6": (0.0250, 0.1773), "Lxx7": (-0.0018, 2.7378), "Lxy7": (0.0012, 2.0320),
    "Lxz7": (0.0018, 1.2299), "Lyz7": (-0.0006, 3.6756), "Lzz7": (0.0013, 2.6129), "lx2": (-0.0054, 0.1551),
    "ly2": (-3.1026, 0.0003), "lx3": (0.6874, 0.0014), "ly3": (0.0234, 0.0353), "lx4": (-0.4888, 0.0016),
    "ly4": (1.7185, 0.0005), "lx5": (-0.0100, 0.0644), "ly5": (0.0771, 0.0074), "lx6": (0.1657, 0.0034),
    "ly6": (-0.0677, 0.0083), "lx7": (0.0062, 0.0744), "ly7": (-0.0005, 0.9490),
}  # fmt: skip
#: Coefficients with a larger standard deviation are not reliable and are left out (Sec. VI) [%].
LARGEST_SD = 30.0


def build(largest_sd: float = LARGEST_SD, margin: float = 1e-6) -> Problem:
    """Distance from the reliable coefficients, over all physically consistent parameters within the bounds.

    Parameters
    ----------
    largest_sd
        Coefficients with a larger standard deviation are left out [%].
    margin
        Smallest eigenvalue of every link's pseudo-inertia (SI units).
    """
    robot = load_robot("panda")
    base = Model(robot).base
    values = np.array([TABLE_III[name][0] for name in base.names])
    sd_percent = np.array([TABLE_III[name][1] for name in base.names])
    reliable = sd_percent <= largest_sd

    variables = link_variables(robot)
    return Problem(
        "panda_retrieval",
        variables,
        objective=base_parameter_error(variables, base.K[reliable], values[reliable]),
        constraints=robot_bounds(variables),
        margin=margin,
        coefficients=Coefficients(base.K, values, np.abs(values) * sd_percent / 100.0, reliable),
        source="Gaz et al. 2019, supplementary material, Table III, column R-E",
    )
