"""Simulation: plants, closed loops, rollouts, energy balance; the integrators are in `casid.simulation.integrators`."""

# Plants
from casid.simulation._contact import ExternalForce as ExternalForce
from casid.simulation._contact import Wall as Wall
from casid.simulation._plant import ExactCoulomb as ExactCoulomb
from casid.simulation._plant import Plant as Plant
from casid.simulation._plant import SmoothCoulomb as SmoothCoulomb

# Closed loops
from casid.simulation._simulate import simulate_many as simulate_many
from casid.simulation._plant import Sensor as Sensor
from casid.simulation._simulate import record as record
from casid.simulation._simulate import simulate as simulate
from casid.simulation._result import Stops as Stops

# Results
from casid.simulation._result import Simulation as Simulation
