/**
 * Sequential revision prompt (Snell et al. 2024). Placeholders: {problem}, {attempts} (earlier attempts, numbered,
 * oldest first).
 */
export const revisionPrompt = `{problem}

Earlier attempts, which may be wrong:

{attempts}

Find out where they went wrong, if they did, and solve the problem again from the beginning. Write out the whole solution.`;
