# @dataset __NAME__.rows.jsonl
"""Number guessing with hints: seven guesses are enough for 1 to 100, but only for a model that halves the range.

An environment is a class. Trainers create instances without arguments, call reset with the columns of a dataset row,
offer all other public methods to the model as tools, and call get_reward when the episode is over. The same file works
with TRL: GRPOTrainer(..., environment_factory=__CLASS__).
"""


class __CLASS__:
    # Smallest and largest reward; verification reports values outside this range.
    reward_range = (0, 1)

    def reset(self, number: int, high: int = 100, guesses: int = 7, **row) -> str | None:
        # Everything comes from the row: the completions of a group must face the same number. Instances are reused, so
        # set every attribute here.
        self._number = number
        self.left = guesses
        self.won = False
        self.done = False
        return f"I am thinking of a number from 1 to {high}. You have {guesses} guesses."

    def guess(self, number: int) -> str:
        """
        Guesses the number.

        Args:
            number: Your guess.

        Returns:
            Whether the number is higher or lower than your guess.
        """
        # The exception message becomes the tool's result, so the model can react to it.
        if self.done:
            raise ValueError("The game is over.")
        number = int(number)
        self.left -= 1
        self.won = number == self._number
        self.done = self.won or self.left == 0
        if self.won:
            return "Correct!"
        hint = "higher" if number < self._number else "lower"
        return f"The number is {hint}. " + ("No guesses left." if self.done else f"{self.left} left.")

    def get_reward(self) -> float:
        return 1.0 if self.won else 0.0
