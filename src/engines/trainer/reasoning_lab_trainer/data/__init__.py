"""What is trained on: problems, pairs, labelled steps, a teacher's completions."""
