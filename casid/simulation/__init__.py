"""The identified robot in motion: integrators, controllers, rollouts, energy."""
