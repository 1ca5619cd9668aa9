"""The lifted program that IPOPT solves: rows, cones, factors, starting points."""
