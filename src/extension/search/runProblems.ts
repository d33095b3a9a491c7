import type { DatasetPart } from '../../protocol/datasetPart.ts';
import type { PolicySpec } from '../../protocol/policySpec.ts';
import type { ProblemsSpec } from '../../protocol/strategyComparison.ts';
import { runOfCheckpoint } from '../../runs/prepareRun.ts';
import { isForeign, nameOf, type RunView } from '../runView.ts';
import type { Choice } from './questions.ts';

/** Runs whose problems are offered. */
const maxRuns = 30;

/**
 * Problems of runs to try a policy on. Those of the run that the policy comes from stand first: a small model can read no
 * others, and a comparison on them fails problem by problem.
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

/** The folder of the run that a policy comes from; null: of none. */
function ownRun(policy: PolicySpec | null): string | null {
	if (policy?.kind === 'engine') return policy.run;
	return policy?.kind === 'checkpoint' ? runOfCheckpoint(policy.folder) : null;
}
