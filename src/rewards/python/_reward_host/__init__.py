"""Parts of the Python reward host; standard library only."""
