"""The connection to the driver: the trainer asks, the driver answers."""
