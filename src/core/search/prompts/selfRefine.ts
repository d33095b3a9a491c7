/**
 * Self-Refine prompts (Madaan et al. 2023), generalized to any problem. Placeholders: {problem}, {answer}, {feedback},
 * {stop}.
 */
export const feedbackPrompt = `Here is a problem and an answer to it.

Problem:
{problem}

Answer:
{answer}

Check the answer step by step. Point out everything that is wrong, missing or unclear, and explain how to fix it. If there is nothing left to improve, write one line that says: {stop}`;

export const refinePrompt = `Improve your answer with this feedback:

{feedback}

Write out the whole improved answer, in the same format as before.`;

export const stopPhrase = 'Nothing to improve.';
