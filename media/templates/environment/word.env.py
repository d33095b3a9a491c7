# @dataset __NAME__.rows.jsonl
"""A word game: uncover a word letter by letter, with a limited number of mistakes.

An environment is a class. Trainers create instances without arguments, call reset with the columns of a dataset row,
offer all other public methods to the model as tools, and call get_reward when the episode is over. The same file works
with TRL: GRPOTrainer(..., environment_factory=__CLASS__).
"""


class __CLASS__:
    # Smallest and largest reward; verification reports values outside this range.
    reward_range = (0, 1)

    def reset(self, word: str, mistakes: int = 6, **row) -> str | None:
        # Instances are reused, so set every attribute here.
        self._word = word.lower()
        self.tried = []
        self.left = mistakes
        self.done = False
        return f"The word is {self._shown()}. You may make {mistakes} mistakes."

    def _shown(self):
        # Names that start with an underscore are not tools.
        return " ".join(letter if letter in self.tried else "_" for letter in self._word)

    def letter(self, letter: str) -> str:
        """
        Tries a letter.

        Args:
            letter: A single letter.

        Returns:
            The word with all letters that are known.
        """
        # The exception message becomes the tool's result, so the model can react to it.
        if self.done:
            raise ValueError("The game is over.")
        letter = str(letter).lower()
        if len(letter) != 1 or not letter.isalpha():
            raise ValueError("letter must be a single letter.")
        if letter in self.tried:
            raise ValueError(f"You have already tried {letter}.")
        self.tried.append(letter)
        if letter not in self._word:
            self.left -= 1
        self.done = self.left == 0 or "_" not in self._shown()
        return f"{self._shown()} ({self.left} mistakes left)"

    def get_reward(self) -> float:
        return 1.0 if self.done and self.left > 0 else 0.0
