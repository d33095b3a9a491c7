/*
 * What a reward is about, by its name: trainers do not say. A name that says nothing is about neither, and rules that need
 * to know are silent.
 */

const judging = /(?<!in)accura|(?<!in)correct|(?<!un)solved|exact|verif|outcome|pass_?rate|(?<![a-z])acc(?![a-z])/i;
const form = /format|\btags?\b|_tags?\b|xml|structure|template|boxed/i;

/** Whether it judges the answer. */
export function judgesAnswer(name: string): boolean {
	return judging.test(name) && !form.test(name);
}

/** Whether it judges the form of a completion. */
export function judgesForm(name: string): boolean {
	return form.test(name);
}
