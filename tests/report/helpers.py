"""What several tests of reports need."""

from __future__ import annotations

import io
from pathlib import Path

import matplotlib.image
import numpy as np
from matplotlib.figure import Figure
from rich.console import Console

from casid.description import Inertial, Joint, Limits, Link, Robot
from casid.report import png_bytes


def arm(n: int = 3) -> Robot:
    """A chain of n links of 0.3 m with alternating axes; link k weighs k + 1 kg."""
    joints = []
    for k in range(n):
        placement = np.eye(4)
        placement[2, 3] = 0.3
        inertial = Inertial(k + 1.0, [0.0, 0.0, 0.15], np.diag([0.01, 0.01, 0.004]))
        axis = np.array([0.0, 0.0, 1.0]) if k % 2 == 0 else np.array([0.0, 1.0, 0.0])
        joints.append(Joint(f"joint{k + 1}", "revolute", k - 1, Link(f"link{k + 1}", inertial), placement, axis))
    free = np.full(n, np.inf)
    limits = Limits(np.full(n, -1.0), np.append(np.full(n - 1, 2.0), np.inf), free, free, free, free)
    return Robot("arm", tuple(joints), limits=limits, source={"kinematics": "made up", "licence": "BSD-3-Clause"})


def text_of(renderable: object) -> str:
    console = Console(width=150, file=io.StringIO())
    console.print(renderable)
    return console.file.getvalue()


def read_png(figure: Figure, path: Path) -> np.ndarray:
    path.write_bytes(png_bytes(figure))
    return matplotlib.image.imread(path)
