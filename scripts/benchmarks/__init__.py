"""What the acceptance tables measure, and the independent oracles that tests share with them."""
