# @dataset calculator.rows.jsonl
"""Products of two-digit numbers, which a small model cannot compute: it has to call the calculator and copy the result."""

import re


class Calculator:
    # Smallest and largest reward; verification reports values outside this range.
    reward_range = (0, 1)

    def reset(self, expression: str, **row) -> str | None:
        # Instances are reused, so set every attribute here.
        left, right = expression.split("*")
        self._result = int(left) * int(right)
        self.submitted = None
        self.done = False
        return None

    def calc(self, expression: str) -> str:
        """
        Multiplies two numbers.

        Args:
            expression: Two numbers with * between them, such as "12*34".

        Returns:
            Their product.
        """
        numbers = re.fullmatch(r"(\d{1,4})\*(\d{1,4})", str(expression))
        if numbers is None:
            raise ValueError("no product")
        return str(int(numbers[1]) * int(numbers[2]))

    def submit(self, answer: int) -> str:
        """
        Submits the answer. Can be called once.

        Args:
            answer: The product in the task.

        Returns:
            A confirmation.
        """
        if self.done:
            raise ValueError("over")
        self.submitted = answer
        self.done = True
        return "ok"

    def get_reward(self) -> float:
        return 1.0 if self.submitted == self._result else 0.0
