"""The trainer under Ray: the job submitted by a remote driver, its workers, and what they report."""
