import type { ProblemSource } from '../../../../core/dataset/problemSource.ts';
import { parseTrace, soleAnswer } from '../../../../core/trace/parseTrace.ts';
import type { TraceTags } from '../../../../core/trace/trace.ts';
import type { PosedProblem } from '../problemFeed.ts';
import type { Completion } from '../rollout.ts';

/** Problems parsed from completions of prompts that ask for problems. */
export interface ReadProposals {
	/**
	 * For each completion, the index of its problem, `invalid` if it poses none, or `held-out` if the problem must not be
	 * trained on.
	 */
	readonly of: readonly (number | 'invalid' | 'held-out')[];
	/** Distinct problems, in order of first proposal. */
	readonly problems: readonly PosedProblem[];
}

/**
 * Parses the problems posed in completions. Duplicates count once, so that each problem is sampled only once.
 * @param pose returns the problem as presented to the policy, or null if it does not leave room for an answer
 */
export function readProposals(
	completions: readonly Pick<Completion, 'posed' | 'completion'>[],
	proposals: NonNullable<ProblemSource['proposals']>,
	tags: TraceTags,
	pose: (problem: PosedProblem['problem']) => PosedProblem | null,
): ReadProposals {
	const places = new Map<string, number>();
	const problems: PosedProblem[] = [];
	const of = completions.map(({ posed, completion }): number | 'invalid' | 'held-out' => {
		const answer = soleAnswer(parseTrace(completion, tags), tags);
		const problem = answer === null ? null : proposals.read(posed.problem, answer);
		if (problem === null || problem === 'held-out') return problem ?? 'invalid';
		const known = places.get(problem.prompt);
		if (known !== undefined) return known;
		const asked = pose(problem);
		if (asked === null) return 'invalid';
		places.set(problem.prompt, problems.length);
		return problems.push(asked) - 1;
	});
	return { of, problems };
}
