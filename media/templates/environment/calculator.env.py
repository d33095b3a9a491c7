# @dataset __NAME__.rows.jsonl
"""Arithmetic with a calculator: the expressions are too long to solve without the tool.

An environment is a class. Trainers create instances without arguments, call reset with the columns of a dataset row,
offer all other public methods to the model as tools, and call get_reward when the episode is over. The same file works
with TRL: GRPOTrainer(..., environment_factory=__CLASS__).
"""

import ast
import operator

OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.USub: operator.neg}


def evaluate(expression):
    """Evaluates an integer expression. Never use eval on model-written text."""
    if len(expression) > 200:
        raise ValueError("The expression is too long.")

    def value(node):
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return node.value
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            return OPERATORS[type(node.op)](value(node.left), value(node.right))
        if isinstance(node, ast.UnaryOp) and type(node.op) in OPERATORS:
            return OPERATORS[type(node.op)](value(node.operand))
        raise ValueError("Only integers, +, -, * and parentheses are allowed.")

    return value(ast.parse(expression, mode="eval").body)


class __CLASS__:
    # Smallest and largest reward; verification reports values outside this range.
    reward_range = (0, 1)

    def reset(self, expression: str, **row) -> str | None:
        # Instances are reused, so set every attribute here. The text is appended to the prompt.
        self._result = evaluate(expression)
        self.answer = None
        self.done = False
        return f"What is {expression}?"

    def calculate(self, expression: str) -> str:
        """
        Evaluates an arithmetic expression.

        Args:
            expression: Integers with +, -, * and parentheses, such as "12 * (3 + 4)".

        Returns:
            The value of the expression.
        """
        return str(evaluate(expression))

    def submit(self, answer: int) -> str:
        """
        Submits the final answer. Can be called once.

        Args:
            answer: The value of the whole expression.

        Returns:
            A confirmation.
        """
        # The exception message becomes the tool's result, so the model can react to it.
        if self.done:
            raise ValueError("An answer has already been submitted.")
        self.answer = int(answer)
        self.done = True
        return "Submitted."

    def get_reward(self) -> float:
        return 1.0 if self.answer == self._result else 0.0
