/**
 * Least-to-most prompts (Zhou et al. 2023), generalized to any problem. Placeholders: {problem}, {k}, {solved},
 * {question}.
 */
export const decomposePrompt = `{problem}

To solve this problem, which simpler questions have to be answered first? List at most {k} of them as a numbered list, from the simplest to the hardest, each one building on those before it. Do not answer them.`;

export const subproblemPrompt = `{problem}

{solved}

Answer this question, in a few words and no other one:
{question}`;

export const finalPrompt = `{problem}

{solved}

With these answers, solve the problem itself.`;
