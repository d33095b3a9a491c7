"""Runs an answer that is a program, with the names that its benchmark's grader provides."""

import given_names

with open("answer.py", encoding="utf-8") as _file:
    _code = _file.read()
given_names.give(_code, globals())
exec(compile(_code, "answer.py", "exec"), globals())
