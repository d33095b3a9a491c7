/**
 * Least-to-most prompts (Zhou et al. 2023), generalized to any problem. Placeholders: {problem}, {k}, {solved},
 * {question}.
 */
export const decomposePrompt = `{problem}

To solve this problem, which simpler questions have to be answered first? Give a numbered list of at most {k} questions, from the simplest to the hardest, each building on the previous ones. Do not answer them.`;

export const subproblemPrompt = `{problem}

{solved}

Answer only this question, in a few words:
{question}`;

export const finalPrompt = `{problem}

{solved}

With these answers, solve the problem itself.`;
