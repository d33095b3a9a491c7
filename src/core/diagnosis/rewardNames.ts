/*
 * Classifies rewards by name, because trainers do not record what a reward measures. A name that matches neither
 * pattern is unclassified, and rules that depend on its class do not fire.
 */

const judging = /(?<!in)accura|(?<!in)correct|(?<!un)solved|exact|verif|outcome|pass_?rate|(?<![a-z])acc(?![a-z])/i;
const form = /format|\btags?\b|_tags?\b|xml|structure|template|boxed/i;

/** Returns whether the reward measures answer correctness. */
export function judgesAnswer(name: string): boolean {
	return judging.test(name) && !form.test(name);
}

/** Returns whether the reward measures completion format. */
export function judgesForm(name: string): boolean {
	return form.test(name);
}
