/*
 * Classifies rewards by name, because trainers do not record what a reward is about. A name that matches neither
 * pattern is unclassified, and rules that depend on it stay silent.
 */

const judging = /(?<!in)accura|(?<!in)correct|(?<!un)solved|exact|verif|outcome|pass_?rate|(?<![a-z])acc(?![a-z])/i;
const form = /format|\btags?\b|_tags?\b|xml|structure|template|boxed/i;

/** Whether the reward judges correctness of the answer. */
export function judgesAnswer(name: string): boolean {
	return judging.test(name) && !form.test(name);
}

/** Whether the reward judges the format of a completion. */
export function judgesForm(name: string): boolean {
	return form.test(name);
}
