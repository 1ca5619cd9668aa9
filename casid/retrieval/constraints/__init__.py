"""Constraints on link quantities: any CasADi expression with bounds, and bounds on masses, centres of mass, inertias."""
