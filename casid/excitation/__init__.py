"""Excitation: the motions and poses that make identification good.

A motion is written in a `Basis` (Fourier series, quintic spline, with ramps, or static poses), judged by a
`Criterion` on the information its `Observation` carries, and kept within `MotionLimits` and `StateConstraint`s by a
`Designer`.
"""

from casid.excitation.information.criteria import (
    CRITERIA,
    AOptimality,
    ConditionNumber,
    Criterion,
    DOptimality,
    LargestDeviation,
    criterion,
)
from casid.excitation.information.observation import Observation
from casid.excitation.information.weak import Parameter, recorded_information, weak_parameters
from casid.excitation.limits.capsule_fit import fit_capsule, fit_capsules
from casid.excitation.limits.collision import ClearanceCheck, CollisionConstraint, certify_clearance
from casid.excitation.limits.constraints import FunctionConstraint, StateConstraint, torque_limits, workspace_box
from casid.excitation.limits.motion_limits import LimitCheck, MotionLimits, certify_limits
from casid.excitation.limits.segments import segment_distance
from casid.excitation.motions.basis import Basis
from casid.excitation.motions.files import read_trajectory, trajectory_csv, trajectory_ros2, trajectory_toml
from casid.excitation.motions.fourier import Fourier
from casid.excitation.motions.poses import Poses
from casid.excitation.motions.ramps import Ramped
from casid.excitation.motions.spline import QuinticSpline
from casid.excitation.motions.trajectory import Motion, Trajectory
from casid.excitation.optimisation.designer import STAGES, Designer, design
from casid.excitation.optimisation.objective import Objective, Stage
from casid.excitation.optimisation.result import Design, Progress, Start
from casid.excitation.study import Study, evaluate_trajectory

__all__ = [
    "CRITERIA", "STAGES", "AOptimality", "Basis", "ClearanceCheck", "CollisionConstraint", "ConditionNumber",
    "Criterion", "DOptimality", "Design", "Designer", "Fourier", "FunctionConstraint", "LargestDeviation",
    "LimitCheck", "Motion", "MotionLimits", "Objective", "Observation", "Parameter", "Poses", "Progress",
    "QuinticSpline", "Ramped", "Stage", "Start", "StateConstraint", "Study", "Trajectory", "certify_clearance",
    "certify_limits", "criterion", "design", "evaluate_trajectory", "fit_capsule", "fit_capsules",
    "read_trajectory", "recorded_information", "segment_distance", "torque_limits", "trajectory_csv",
    "trajectory_ros2", "trajectory_toml", "weak_parameters", "workspace_box",
]  # fmt: skip
