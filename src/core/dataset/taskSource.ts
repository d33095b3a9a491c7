import { Random } from '../../base/random.ts';
import type { Task } from './problem.ts';
import type { ProblemSource } from './problemSource.ts';
import { heldOutProblems, sampleTraining } from './split.ts';

/** Problems from a generator: they never run out, and the held-out ones are never trained on. */
export function taskSource(task: Task): ProblemSource {
	return {
		name: task.name,
		symbols: task.symbols,
		maxPromptLength: task.maxPromptLength,
		maxSolutionLength: task.maxSolutionLength,
		maxAnswerLength: task.maxAnswerLength,
		hasSolutions: true,
		training: (seed, index) => sampleTraining(task, Random.of(seed, 'problem', index)),
		heldOut: (n) => heldOutProblems(task, n),
		verify: (question, answer) => task.verify(question, answer),
	};
}
