"""Order of the parameters of a model, and what stands for them in its functions."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import casid
from casid.dynamics import Model
from casid.dynamics._structure import Numbers, StandardParameters, Structure, Symbols
from casid.errors import DatasetError, RobotError


def test_terms_stand_behind_the_ten_of_their_link():
    structure = Structure("spatial_2r", ("viscous", "rotor"))
    assert structure.velocity_deadband == 0.0  # every sign counts unless a deadband is asked for
    assert structure.stride == 12 and structure.parameter_names[10:12] == ("fv1", "Ia1")
    assert not structure.motor_inertia and Structure("spatial_2r", ("motor_rotor",)).motor_inertia
    with pytest.raises(RobotError, match="no common stride"):
        _ = Structure("spatial_2r", ("rotor@joint1",)).stride


def test_numbers_leave_no_parameter_input():
    model = Model("spatial_2r")
    inputs, pi = Numbers(np.arange(20.0)).symbols(model)
    assert not inputs and pi.numel() == 20
    assert list(StandardParameters().symbols(model)[0]) == ["pi"]
    with pytest.raises(DatasetError, match="expected 20 parameters"):
        model.parameters(np.ones(3))


def test_models_alike_keep_gravity_and_deadband():
    model = Model(casid.load_robot("spatial_2r"), ("viscous",), "input", 0.01)
    alike = model.like(terms=("coulomb",))
    assert alike.gravity_vector is None and alike.velocity_deadband == 0.01
    assert [term.name for term in alike.terms] == ["coulomb"]


def test_only_inputs_that_are_used_become_inputs():
    model = Model("spatial_2r", ("viscous", "rotor"), gravity="input")
    symbols = model.symbols()
    assert isinstance(symbols, Symbols)
    function = symbols.function("friction", ["dq", "pi"], {"tau": symbols.term_torque(ca.SX(2, 1))})
    assert function.name_in() == ["dq", "pi"]
    gravity = symbols.function("gravity", ["q", "pi"], {"g": symbols.rigid_torque(motion=False)})
    assert gravity.name_in() == ["q", "pi", "gravity"]


def test_rotors_are_part_of_the_mass_matrix():
    model = Model("spatial_2r", ("rotor",))
    symbols = model.symbols()
    inertia = ca.Function("inertia", [symbols.pi], [symbols.rotor_inertia()])
    pi = model.parameters([0.0] * 20, [0.5, 0.25])
    assert inertia(pi).full().tolist() == [[0.5, 0.0], [0.0, 0.25]]
