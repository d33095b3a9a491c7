/** Runs a task on the learner while training is not using it. */
export type LearnerAccess = <T>(task: () => Promise<T>) => Promise<T>;
