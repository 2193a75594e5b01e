"""Commands of boards on a desk."""
