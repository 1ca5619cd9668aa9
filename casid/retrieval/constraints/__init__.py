"""Constraints on link quantities: any CasADi expression, bounds on physical quantities, shapes, physical consistency."""
