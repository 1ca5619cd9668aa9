"""Train with the ladder's own published code, in an environment of its own (PyTorch, differentiable-robot-model).

    python diffnea.py robot.urdf data.npz seconds out.npz

As its examples do: Adam with rate 1e-2 on batches of 256 samples in the order of the data, mean squared error over the
variance of each joint's torque; mass, centre of mass and covariance-parametrised inertia of every moving link are
learnt. ``data.npz`` holds q, dq, ddq, tau and the links' names; ``out.npz`` gets the CPU seconds and the loss on every
fiftieth sample 24 times, evenly over the time. Nothing of casid is imported.
"""

from __future__ import annotations

import importlib
import sys
import time
from typing import Any

import numpy as np

BATCH, RATE, LOOKS, CHECK = 256, 1e-2, 24, 50


def main(urdf: str, data: str, seconds: str, out: str) -> None:
    torch: Any = importlib.import_module("torch")
    parts: Any = importlib.import_module("differentiable_robot_model.rigid_body_params")
    models: Any = importlib.import_module("differentiable_robot_model.robot_model")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    given = np.load(data)
    q, dq, ddq, tau = (torch.tensor(given[name], dtype=torch.float32) for name in ("q", "dq", "ddq", "tau"))
    model = models.DifferentiableRobotModel(urdf, "robot", device="cpu")
    for link in given["links"]:
        model.make_link_param_learnable(str(link), "mass", parts.PositiveScalar())
        model.make_link_param_learnable(str(link), "com", parts.UnconstrainedTensor(dim1=1, dim2=3))
        model.make_link_param_learnable(str(link), "inertia_mat", parts.CovParameterized3DInertiaMatrixNet())
    optimiser = torch.optim.Adam(model.parameters(), lr=RATE)
    variance = tau.var(dim=0)
    check = slice(None, None, CHECK)

    def loss(rows: slice) -> Any:
        found = model.compute_inverse_dynamics(q[rows], dq[rows], ddq[rows], include_gravity=True)
        return ((found - tau[rows]) ** 2 / variance).mean()

    used, steps, budget = 0.0, 0, float(seconds)
    times, values = [0.0], [float(loss(check).detach())]
    while used < budget:
        first = steps * BATCH % len(q)
        began = time.process_time()
        optimiser.zero_grad()
        value = loss(slice(first, first + BATCH))
        value.backward()
        optimiser.step()
        used += time.process_time() - began
        steps += 1
        if used >= budget * len(times) / LOOKS:
            times.append(used)
            values.append(float(loss(check).detach()))
    np.savez(out, seconds=times, losses=values, steps=steps)


if __name__ == "__main__":
    main(*sys.argv[1:])
