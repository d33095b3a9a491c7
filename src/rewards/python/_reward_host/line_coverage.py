"""Measures which lines of a file run."""

import sys
import types


def body_lines(path):
    """Returns the 1-based lines inside functions that contain code. Code outside functions runs when the file is loaded.
    """
    with open(path, "rb") as file:
        module = compile(file.read(), path, "exec", dont_inherit=True)
    lines = set()

    def visit(code, inside):
        if inside:
            # The first line is the `def` statement itself.
            lines.update(line for _, _, line in code.co_lines() if line and line != code.co_firstlineno)
            if code.co_name == "<lambda>":
                lines.add(code.co_firstlineno)
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                visit(constant, inside or not _is_class(constant, code))

    visit(module, False)
    return lines


def _is_class(code, parent):
    # A class body runs when the class is defined, and has no fast locals.
    return not code.co_flags & 0x2 or (parent.co_name == "<module>" and code.co_name.startswith("<generic"))


class LineTracer:
    """Context manager that measures coverage, using sys.monitoring if available (Python 3.12) and sys.settrace
    otherwise.
    """

    def __init__(self, path):
        self._path = path
        self.reached = set()

    def __enter__(self):
        if hasattr(sys, "monitoring"):
            self._start_monitoring()
        else:
            self._before = sys.gettrace()
            sys.settrace(self._trace)
        return self

    def __exit__(self, *_):
        if hasattr(sys, "monitoring"):
            monitoring = sys.monitoring
            monitoring.set_events(self._tool, 0)
            monitoring.register_callback(self._tool, monitoring.events.LINE, None)
            monitoring.free_tool_id(self._tool)
        else:
            sys.settrace(self._before)

    def _start_monitoring(self):
        monitoring = sys.monitoring
        self._tool = next(tool for tool in (3, 4, monitoring.COVERAGE_ID) if monitoring.get_tool(tool) is None)
        monitoring.use_tool_id(self._tool, "reasoning-lab")

        def line(code, number):
            if code.co_filename == self._path:
                self.reached.add(number)
            # Report each line only once, and disable events for other code entirely.
            return monitoring.DISABLE

        monitoring.register_callback(self._tool, monitoring.events.LINE, line)
        monitoring.restart_events()
        monitoring.set_events(self._tool, monitoring.events.LINE)

    def _trace(self, frame, event, _argument):
        if frame.f_code.co_filename != self._path:
            return None
        if event == "line":
            self.reached.add(frame.f_lineno)
        return self._trace

    def result(self):
        lines = body_lines(self._path)
        return {"lines": sorted(lines), "reached": sorted(lines & self.reached)}
