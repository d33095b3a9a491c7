"""Runs the trainer under Ray: the job submitted by a remote driver, its workers, and their reports."""
