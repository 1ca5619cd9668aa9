"""Random kinematic trees."""

from __future__ import annotations

import numpy as np

from casid.description import Joint, Link, Robot
from casid.testing._rigid_body import rotation_about


def random_placement(rng: np.random.Generator) -> np.ndarray:
    """A random rotation and a translation of up to half a metre an axis."""
    direction = rng.normal(size=3)
    placement = np.eye(4)
    placement[:3, :3] = rotation_about(direction / np.linalg.norm(direction), rng.uniform(-np.pi, np.pi))
    placement[:3, 3] = rng.uniform(-0.5, 0.5, 3)
    return placement


def random_robot(seed: int, n: int = 6, chain: bool = False, shifted_links: bool = False) -> Robot:
    """A tree of n revolute and prismatic joints with random placements and axes.

    Parameters
    ----------
    seed
        The same seed gives the same robot.
    chain
        A serial chain in place of a random tree.
    shifted_links
        Give links a frame that differs from the joint frame, as standard DH does.
    """
    rng = np.random.default_rng(seed)
    joints = []
    for k in range(n):
        axis = rng.normal(size=3)
        joints.append(
            Joint(
                name=f"joint{k + 1}",
                type="prismatic" if rng.random() < 0.3 else "revolute",
                parent=k - 1 if chain else int(rng.integers(-1, k)) if k else -1,
                link=Link(f"link{k + 1}"),
                placement=random_placement(rng),
                axis=axis / np.linalg.norm(axis),
                link_placement=random_placement(rng) if shifted_links else np.eye(4),
            )
        )
    return Robot(f"random{seed}", tuple(joints), gravity=rng.normal(scale=6.0, size=3))
