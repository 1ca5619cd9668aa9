"""Friction from data: the law of each joint by cross-validation, and the shapes of a law by variable projection.

The laws themselves are in `casid.dynamics.terms`; `casid.regression` promises what is called by users.
"""
