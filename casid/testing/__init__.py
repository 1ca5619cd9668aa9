"""Independent answers that tests and acceptance tables compare with: numpy dynamics and other libraries."""
