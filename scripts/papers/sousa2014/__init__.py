"""Items of the thesis."""

from __future__ import annotations

from papers.item import drawing
from papers.sousa2014 import (
    base_parameters,
    contact,
    control,
    earlier_methods,
    estimates,
    example_robot,
    extra_constraints,
    free_fall,
    infeasibility,
    kinematics,
    methods_compared,
    model_reduction,
    motions,
    planar_arm,
    predictions,
    three_link,
    timing,
)

ITEMS = (
    drawing("Fig. 2.1", "links, joints and frames of a serial manipulator"),
    drawing("Fig. 2.2", "adaptive force control with an active observer"),
    *contact.ITEMS,
    drawing("Fig. 2.3", "feasible sets in two parameter spaces (sketch)"),
    earlier_methods.ITEM,
    planar_arm.ITEM,
    drawing("Fig. 3.1", "feasible sets with base-dependent parameters (sketch)"),
    drawing("Fig. 3.2", "nearest and best feasible solutions (sketch)"),
    drawing("Fig. 4.1", "the WAM arm"),
    kinematics.ITEM,
    drawing("Fig. 4.2", "geometry of the WAM"),
    base_parameters.ITEM,
    *motions.ITEMS,
    drawing("Fig. 4.3", "control scheme of the data collection"),
    *estimates.ITEMS,
    extra_constraints.ITEM,
    *predictions.ITEMS,
    *free_fall.ITEMS,
    drawing("Fig. 5.5", "control scheme of the assessment"),
    *control.ITEMS,
    infeasibility.ITEM,
    three_link.ITEM,
    *methods_compared.ITEMS,
    model_reduction.ITEM,
    drawing("Fig. 7.1", "classes of the author's package"),
    example_robot.ITEM,
    timing.ITEM,
)
