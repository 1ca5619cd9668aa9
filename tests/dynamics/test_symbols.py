"""Symbols of one function of a model."""

import casadi as ca

from casid.dynamics import Model
from casid.dynamics._symbols import Symbols


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
