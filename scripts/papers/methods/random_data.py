"""Random regression data for any number of links (Sousa 2014, Sec. 6.3.2).

"The regressor matrix data is generated randomly considering 10 parameters per link and 1000 measurement points, thus
leading to a matrix of size 1000*10 x 10 N. The regressand vector data is generated from the regressor matrix using a
randomly generated parameter vector, and adding a normally distributed noise."

The thesis leaves distributions open. Here: entries of W are standard normal; each link is a uniform box of 0.5-5 kg
with edges of 0.05-0.4 m, one of them in three times thinner, its centre up to 0.2 m off the link frame and turned by
up to 0.3 rad (so its axis-aligned box, which the point-mass method needs, fits it well but not perfectly); the noise
has 10 % of the standard deviation of the noise-free torque, the relative error of a real identification.
"""

from __future__ import annotations

import numpy as np

from casid.arrays import Array
from casid.inertia import to_standard
from papers.methods.regression import Kind, Regression

#: Measurement points and rows each gives, as in the thesis.
POINTS, OUTPUTS = 1000, 10
#: Standard deviation of the noise as a share of that of the torque.
NOISE = 0.1
MARGIN = 1e-6


def random_link(rng: np.random.Generator) -> tuple[Array, Array]:
    """Standard parameters of a random uniform box, shape (10,), and the box that encloses it, shape (3, 2)."""
    mass = rng.uniform(0.5, 5.0)
    edges = rng.uniform(0.05, 0.4, 3)
    edges[rng.integers(3)] /= 3.0
    com = rng.uniform(-0.2, 0.2, 3)
    axis = rng.standard_normal(3)
    rotation = _rotation(axis / np.linalg.norm(axis), rng.uniform(0.0, 0.3))
    spread = rotation @ np.diag(edges**2 / 12.0) @ rotation.T * mass
    half = np.abs(rotation) @ edges / 2.0
    return to_standard(mass, com, np.trace(spread) * np.eye(3) - spread), np.column_stack([com - half, com + half])


def random_regression(
    links: int, seed: int = 0, points: int = POINTS, kind: Kind = "full", margin: float = MARGIN
) -> Regression:
    """Random data about ``links`` links; the same seed and number of links always give the same data."""
    rng = np.random.default_rng([seed, links])
    bodies = [random_link(rng) for _ in range(links)]
    truth = np.concatenate([parameters for parameters, _ in bodies])
    W = rng.standard_normal((points * OUTPUTS, 10 * links))
    torque = W @ truth
    tau = torque + NOISE * torque.std() * rng.standard_normal(torque.size)
    return Regression(W, tau, OUTPUTS, np.stack([box for _, box in bodies]), kind, margin, truth)


def _rotation(axis: Array, angle: float) -> Array:
    """Rodrigues's formula."""
    x, y, z = axis
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.asarray(np.eye(3) + np.sin(angle) * cross + (1.0 - np.cos(angle)) * cross @ cross)
