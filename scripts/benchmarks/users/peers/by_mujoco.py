"""The task with mujoco.sysid: the arm under its position servos is simulated until positions and torques agree."""

import json
from functools import partial
from pathlib import Path

import mujoco
import numpy as np
import pandas as pd
from mujoco import sysid
from scipy.signal import savgol_filter

STEP = 0.002
table, servos = pd.read_csv("train.csv"), json.loads(Path("servos.json").read_text())
joints, columns = servos["joints"], range(1, len(servos["joints"]) + 1)


def arm():
    """The robot file with its servos and the two sensors of each joint."""
    spec = mujoco.MjSpec.from_file("robot.urdf")
    spec.option.timestep, spec.option.integrator = STEP, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    for name, stiffness, damping in zip(joints, servos["stiffness"], servos["damping"], strict=True):
        spec.joint(name).solref_friction = [2 * STEP, 1]  # the stiffest Coulomb friction of this time step
        actuator = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        actuator.set_to_position(kp=stiffness, kv=damping)
        joint, drive = mujoco.mjtObj.mjOBJ_JOINT, mujoco.mjtObj.mjOBJ_ACTUATOR
        spec.add_sensor(name=f"{name}_pos", type=mujoco.mjtSensor.mjSENS_JOINTPOS, objtype=joint, objname=name)
        spec.add_sensor(name=f"{name}_torque", type=mujoco.mjtSensor.mjSENS_ACTUATORFRC, objtype=drive, objname=name)
    return spec


def set_body(name, spec, parameter):
    """Sets a body; mujoco 4.0.0's own callback leaves the orientation undefined, and bodies without geoms fail."""
    sysid.apply_body_inertia(spec, name, parameter)
    spec.body(name).iquat[:] = [1, 0, 0, 0]


def set_joint(name, kind, spec, parameter):
    """Sets damping, friction loss or armature of a joint."""
    value = parameter.value[0]
    setattr(spec.joint(name), kind, [value, 0, 0] if kind == "damping" else value)


spec = arm()
model = spec.compile()
parameters = sysid.ParameterDict()
for k in range(1, model.nbody):
    name = model.body(k).name
    kind, setter = sysid.InertiaType.Pseudo, partial(set_body, name)
    parameters.add(sysid.body_inertia_param(spec, model, name, inertia_type=kind, modifier=setter))
for name, damping in zip(joints, servos["damping"], strict=True):
    for kind, unit in (("damping", 1.0), ("frictionloss", 1.0), ("armature", 0.05)):
        values, setter = np.array([0.02, 2e-4, 0.2]) * unit * damping, partial(set_joint, name, kind)
        parameters.add(sysid.Parameter(f"{name}_{kind}", *values, modifier=setter))

times = table["t"].to_numpy()
position, torque = table[[f"q{k}" for k in columns]].to_numpy(), table[[f"tau{k}" for k in columns]].to_numpy()
smooth = savgol_filter(position, 25, 3, axis=0)
speed = savgol_filter(position, 25, 3, deriv=1, delta=STEP, axis=0)
start = sysid.create_initial_state(model, smooth[0], speed[0], np.zeros(0))
control = sysid.TimeSeries.from_control_names(times, table[[f"command{k}" for k in columns]].to_numpy(), model)
sensors = np.stack([position, torque], axis=2).reshape(len(times), -1)
measured = sysid.TimeSeries.from_names(times, sensors, model)
sequences = [sysid.ModelSequences("arm", spec, "train", start, control, measured)]
residual = sysid.build_residual_fn(models_sequences=sequences)
found, result = sysid.optimize(initial_params=parameters, residual_fn=residual, optimizer="mujoco", max_iters=20)
identified = sysid.apply_param_modifiers_spec(found, arm())
identified.compile()
Path("identified.xml").write_text(identified.to_xml())
sysid.save_results("results", sequences, parameters, found, result, residual)
