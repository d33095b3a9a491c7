import { Random } from '../../base/random.ts';
import type { Problem, Task } from './problem.ts';
import type { ProblemSource } from './problemSource.ts';
import { heldOutProblems, isHeldOut, sampleTraining, taskHeldOutShare } from './split.ts';

/** Creates an unlimited source from a generator. Held-out problems are never used for training. */
export function taskSource(task: Task): ProblemSource {
	// Shorter lists are prefixes of longer ones, so it is enough to keep the longest.
	let longest: readonly Problem[] = [];
	let asked = 0;
	const text = task.text?.bind(task);
	const { proposals } = task;
	return {
		name: task.name,
		symbols: task.symbols,
		maxPromptLength: task.maxPromptLength,
		maxSolutionLength: task.maxSolutionLength,
		maxAnswerLength: task.maxAnswerLength,
		hasSolutions: true,
		training: (seed, index) => sampleTraining(task, Random.of(seed, 'problem', index)),
		heldOut(n) {
			if (n > asked) {
				longest = heldOutProblems(task, n);
				asked = n;
			}
			return longest.slice(0, n);
		},
		...(text === undefined ? {} : { text: (seed: number, index: number) => text(Random.of(seed, 'text', index)) }),
		...(proposals === undefined
			? {}
			: {
					proposals: {
						ask: (seed, index) => proposals.ask(Random.of(seed, 'proposal', index)),
						read(asked, answer) {
							const problem = proposals.read(asked, answer);
							return problem !== null && isHeldOut(problem.key, taskHeldOutShare) ? 'held-out' : problem;
						},
					},
				}),
		verify: (question, answer) => task.verify(question, answer),
	};
}
