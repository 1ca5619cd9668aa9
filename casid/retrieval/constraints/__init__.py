"""Constraints on link quantities: any CasADi expression, physical bounds, shapes, physical consistency."""
