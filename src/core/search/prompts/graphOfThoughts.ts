import type { ValueForm } from './readReply.ts';

/**
 * Graph of Thoughts prompts (Besta et al. 2024), generalized to any problem. Placeholders: {problem}, {thoughts}
 * (numbered), {thought}.
 */
export const aggregatePrompt = `{problem}

Here are several solutions, each of which may be partly correct:

{thoughts}

Combine their correct parts into one solution that is better than any of them. Write out the whole solution.`;

export const improvePrompt = `{problem}

Here is a solution that may have errors:

{thought}

Find its errors and correct them. Write out the whole solution.`;

export const scorePrompt = `{problem}

Here is a solution:

{thought}

Check it, then end with one line "Score: " and a number from 0 (useless) to 10 (certainly correct).`;

export const scoreForm: ValueForm = { words: {}, scale: [0, 10] };
