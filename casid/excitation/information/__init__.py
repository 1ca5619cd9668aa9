"""What a motion says about parameters: observations, information, criteria."""
