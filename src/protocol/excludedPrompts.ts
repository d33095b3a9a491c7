/** Maximum number of prompts that a recipe can exclude. To exclude more, edit the dataset file. */
export const maxExcluded = 10_000;
