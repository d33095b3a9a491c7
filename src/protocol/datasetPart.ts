/** Dataset splits: problems to train on, and held-out problems for evaluation. */
export const datasetParts = ['training', 'held-out'] as const;
export type DatasetPart = (typeof datasetParts)[number];
