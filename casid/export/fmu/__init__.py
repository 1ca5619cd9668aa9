"""A robot's forward dynamics as a Functional Mock-up Unit: FMI 3, model exchange and co-simulation."""
