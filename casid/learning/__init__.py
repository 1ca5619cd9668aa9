"""Gradient training of parametrisations of the inertial parameters."""
