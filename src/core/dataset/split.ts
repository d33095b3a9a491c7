import { Failure } from '../../base/failure.ts';
import { hashText, Random } from '../../base/random.ts';
import type { Task, TaskProblem } from './problem.ts';

/** Fraction of a task's problems that are held out. */
export const taskHeldOutShare = 0.1;

const splitSeed = 0x5eed;
const maxDraws = 20_000;

/** Returns whether a problem is held out, based on a hash of its canonical form. Identical across runs and machines. */
export function isHeldOut(key: string, share: number): boolean {
	return hashText(key, splitSeed) < share * 4294967296;
}

/** Samples a training problem from the task's distribution. */
export function sampleTraining(task: Task, random: Random, share = taskHeldOutShare): TaskProblem {
	for (let i = 0; i < maxDraws; i++) {
		const problem = task.sample(random);
		if (!isHeldOut(problem.key, share)) return problem;
	}
	throw tooSmall(task);
}

/**
 * Returns the first n distinct held-out problems from a fixed list that depends only on the task settings. Returns
 * fewer if the task is too small, and throws `invalid` if it has none.
 */
export function heldOutProblems(task: Task, n: number, share = taskHeldOutShare): TaskProblem[] {
	const random = Random.of('held-out', task.name);
	const seen = new Set<string>();
	const problems: TaskProblem[] = [];
	for (let idle = 0; problems.length < n && idle < maxDraws; ) {
		const problem = task.sample(random);
		idle++;
		// Almost any answer to a prompt that asks for a problem is correct, so such prompts would measure nothing.
		if (problem.row.proposes === true || !isHeldOut(problem.key, share) || seen.has(problem.key)) continue;
		seen.add(problem.key);
		problems.push(problem);
		idle = 0;
	}
	if (problems.length === 0) throw tooSmall(task);
	return problems;
}

function tooSmall(task: Task): Failure {
	return new Failure(
		'invalid',
		`The task "${task.name}" has too few distinct problems to hold any out.`,
		'Increase its digits, terms, or length.',
	);
}
