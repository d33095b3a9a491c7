# @dataset guess.rows.jsonl
"""Number guessing with hints, in words that are short enough for a small model."""


class Guess:
    # Smallest and largest reward; verification reports values outside this range.
    reward_range = (0, 1)

    def reset(self, number: int, **row) -> str | None:
        # Instances are reused, so set every attribute here.
        self._number = number
        self.done = False
        return None

    def guess(self, number: int) -> str:
        """
        Guesses the number.

        Args:
            number: Your guess, from 1 to 15.

        Returns:
            "up" if the number is larger, "down" if it is smaller, "yes" if it is right.
        """
        if self.done:
            raise ValueError("over")
        self.done = number == self._number
        return "yes" if self.done else "up" if number < self._number else "down"

    def get_reward(self) -> float:
        return 1.0 if self.done else 0.0
