"""What is made of TRL."""
