"""Connection to the driver. The trainer sends requests, and the driver replies."""
