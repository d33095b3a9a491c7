"""The trainer under Ray: the job that a driver elsewhere submits, its workers, and what they tell."""
