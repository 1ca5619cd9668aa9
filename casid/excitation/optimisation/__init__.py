"""The search for the best motion: starts, stages, the nonlinear programme."""
