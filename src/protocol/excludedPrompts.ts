/** Prompts that the dataset of a recipe may leave out: more are a matter for the file of rows. */
export const maxExcluded = 10_000;
