"""What a Python environment has: looked at without the trainer's own packages."""
