"""The connection to the driver: the trainer sends requests, the driver replies."""
