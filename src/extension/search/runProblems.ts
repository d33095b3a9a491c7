import type { DatasetPart } from '../../protocol/datasetPart.ts';
import type { PolicySpec } from '../../protocol/policySpec.ts';
import type { ProblemsSpec } from '../../protocol/strategyComparison.ts';
import { runOfCheckpoint } from '../../runs/prepareRun.ts';
import { isForeign, nameOf, type RunView } from '../runView.ts';
import type { Choice } from './questions.ts';

/** Maximum number of runs to list problems from. */
const maxRuns = 30;

/**
 * Returns problem sets from runs for evaluating a policy. Problems from the policy's own run come first: a small model
 * may be unable to tokenize any others, and a comparison on those would fail on every problem.
 */
export function runProblems(runs: readonly RunView[], policy: PolicySpec | null): Choice<ProblemsSpec>[] {
	const own = ownRun(policy);
	const known = runs.filter((run) => !isForeign(run) && run.record !== null);
	const first = known.find(({ folder }) => folder === own);
	const others = known.filter((run) => run !== first).slice(0, maxRuns);
	const choice = (run: RunView, part: DatasetPart, description: string): Choice<ProblemsSpec> => ({
		label: `$(beaker) ${nameOf(run)}`,
		description,
		value: { from: 'run', run: run.folder, part },
	});
	return [
		...(first === undefined
			? []
			: [
					choice(first, 'held-out', "the policy's own held-out problems"),
					choice(first, 'training', "the policy's own training problems"),
				]),
		...others.map((run) => choice(run, 'held-out', 'held-out problems')),
	];
}

/** Returns the folder of the run that produced the policy, or null if the policy does not come from a run. */
function ownRun(policy: PolicySpec | null): string | null {
	if (policy?.kind === 'engine') return policy.run;
	return policy?.kind === 'checkpoint' ? runOfCheckpoint(policy.folder) : null;
}
