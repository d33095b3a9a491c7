import { Failure } from '../../base/failure.ts';
import type { ComparedProblem, ComparedProblemsSpec } from '../../protocol/strategyComparison.ts';
import { openProblemSet } from '../problemSet.ts';
import { createVerdict } from '../verdicts.ts';
import type { ComparedProblems } from './comparedProblems.ts';

/**
 * Opens a comparison's questions, whose answers are compared with the gold answers. Fails with the same errors as
 * `openProblemSet`, and with `invalid` for environment rows. @param folder base for relative paths
 */
export async function openComparedQuestions(problems: ComparedProblemsSpec, folder: string): Promise<ComparedProblems> {
	if (problems.from === 'environment') {
		throw new Failure('invalid', 'The comparison has no environment.', 'Set one with "environment".');
	}
	const set = await openProblemSet(problems, folder);
	return {
		environment: null,
		async read(onFault) {
			const problems: ComparedProblem[] = [];
			for await (const { key, prompt, answer, row } of set.problems(onFault)) {
				problems.push({ key, prompt, answer, row: { ...row } });
			}
			if (problems.length === 0) throw new Failure('invalid', `${set.name} has no problems.`);
			return problems;
		},
		async judge(tags, folder) {
			const verdict = await createVerdict(tags, set.task, folder);
			return (problem, tree, node) => verdict(problem, node === undefined ? '' : tree.textOf(node.id));
		},
		dispose: () => undefined,
	};
}
