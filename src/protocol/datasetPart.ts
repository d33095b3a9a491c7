/** Problems that are trained on, and those that are held out to measure. */
export const datasetParts = ['training', 'held-out'] as const;
export type DatasetPart = (typeof datasetParts)[number];
