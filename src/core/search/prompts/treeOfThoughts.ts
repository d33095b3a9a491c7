import type { ValueForm } from './readReply.ts';

/**
 * Tree of Thoughts prompts for any problem; the originals (Yao et al. 2023, figure 2) are task-specific. Placeholders:
 * {problem}, {steps} (so far), {k} (number of thoughts), {form} (final answer format), {choices} (numbered).
 */
export const proposePrompt = `{problem}

Steps so far:
{steps}

Propose up to {k} different possible next steps. Each is one small step of reasoning that follows from the steps so far; do not solve the whole problem at once. If a step finishes the problem, end it with {form}. Write them as a numbered list with one step per line, and nothing else.`;

export const valuePrompt = `{problem}

Steps so far:
{steps}

Judge whether these steps can still lead to a correct solution. First, look for errors in them. Then end with one line "Value: " and one word: sure (they are correct and lead to a solution), likely, or impossible (they contain an error or lead nowhere).`;

export const votePrompt = `{problem}

Several people have started to solve it:

{choices}

Analyze each choice, then decide which is the most promising. End with one line: "The best choice is N", where N is its number.`;

/**
 * Word values in the same ratio as in the original code (20, 1, 0.001: src/tot/tasks/game24.py), so that one "sure"
 * outweighs many "likely" votes. Numbers from 1 to 10 are also accepted.
 */
export const valueForm: ValueForm = {
	words: { sure: 1, likely: 0.05, impossible: 0.00005 },
	scale: [0, 10],
};
