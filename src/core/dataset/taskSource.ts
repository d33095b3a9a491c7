import { Random } from '../../base/random.ts';
import type { Problem, Task } from './problem.ts';
import type { ProblemSource } from './problemSource.ts';
import { heldOutProblems, sampleTraining } from './split.ts';

/** Creates an unlimited source from a generator. Held-out problems are never used for training. */
export function taskSource(task: Task): ProblemSource {
	// Shorter lists are prefixes of longer ones, so it is enough to keep the longest.
	let longest: readonly Problem[] = [];
	let asked = 0;
	const text = task.text?.bind(task);
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
		verify: (question, answer) => task.verify(question, answer),
	};
}
