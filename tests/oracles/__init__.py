"""Independent answers that tests and acceptance tables compare with: numpy dynamics, other libraries, made-up data."""
