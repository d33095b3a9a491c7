import type { ValueForm } from './readReply.ts';

/**
 * Graph of Thoughts prompts (Besta et al. 2024), generalized to any problem. Placeholders: {problem}, {thoughts}
 * (numbered), {thought}.
 */
export const aggregatePrompt = `{problem}

Here are several solutions, each of which may be right in part:

{thoughts}

Combine what is right in them into one solution that is better than each. Give the whole solution.`;

export const improvePrompt = `{problem}

Here is a solution that may have errors:

{thought}

Find its errors and mend them. Give the whole solution.`;

export const scorePrompt = `{problem}

Here is a solution:

{thought}

Check it, then end with one line "Score: " and a number from 0 (useless) to 10 (certainly right).`;

export const scoreForm: ValueForm = { words: {}, scale: [0, 10] };
