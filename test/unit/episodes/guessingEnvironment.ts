/** A number-guessing environment with a counter that follows TRL's contract. */
export const guessing = `
class Guess:
    reward_range = (0, 1)

    def __init__(self):
        self.number = None

    def reset(self, number=7, **row) -> str | None:
        self.number = number
        self.tries = 0
        self.done = False
        return f" Guess my number from 1 to {number * 2}."

    def guess(self, value: int) -> str:
        """
        Guesses the number.

        Args:
            value: Your guess.

        Returns:
            A hint.
        """
        if self.done:
            raise ValueError("The game is over.")
        self.tries += 1
        self.done = value == self.number
        return "correct" if self.done else "higher" if value < self.number else "lower"

    def get_reward(self):
        return 1.0 if self.done else 0.0
`;
