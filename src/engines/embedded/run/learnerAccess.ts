/** Runs a task on the learner when training does not use it. */
export type LearnerAccess = <T>(task: () => Promise<T>) => Promise<T>;
