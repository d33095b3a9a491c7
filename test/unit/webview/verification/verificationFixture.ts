import type { TestContext } from 'node:test';
import type { SampledProblem } from '../../../../src/core/reward/verification/rowsToVerify.ts';
import type { AuditReport } from '../../../../src/protocol/audit.ts';
import type { Comparison } from '../../../../src/protocol/comparison.ts';
import type { RolloutLine } from '../../../../src/protocol/rolloutLine.ts';
import type { Verification } from '../../../../src/protocol/verification.ts';
import { compareRewards } from '../../../../src/rewards/compareRewards.ts';
import { RewardVerifier } from '../../../../src/rewards/rewardVerifier.ts';
import type { PlanRequest } from '../../../../src/rewards/verificationPlan.ts';
import { audit, contextOf, openHosts, openRunner, r1 } from '../../rewards/audit/auditHosts.ts';
import { batch, jsonl, recipe, sums, VerifyProject } from '../../rewards/verifyProject.ts';

/**
 * Reward that covers everything the panel shows: fractional values, nulls, errors, dead groups, and an unreached line.
 */
const graded = `
export const graded = ({ completion, answer, trace, row }) => {
	if (trace.answer === null) return null;
	if (row.level === 3 && completion.length % 7 === 0) {
		throw new Error('level three\\nis too hard');
	}
	if (row.level === 2) return 0.5;
	if (trace.answer.trim() !== answer) return Math.max(0, 0.4 - completion.length / 200);
	if (completion.length > 100000) {
		return 0;
	}
	return 1 - completion.length / 400;
};
export const other = ({ completion }) => completion.length % 2;
`;

const cases = [
	'{"completion": "<think>x</think><answer>2</answer>", "row": {"answer": "2"}, "expect": {"min": 0.8}}',
	'{"completion": "no answer", "row": {"answer": "2"}, "expect": null}',
	'{"completion": "<answer>3</answer>", "row": {"answer": "2"}, "expect": 1, "name": "wrong on purpose"}',
	'{"completion": "<answer>3</answer>", "row": {"answer": "2"}, "expect": {"max": 0.4}, "name": "a wrong answer earns little"}',
].join('\n');

export interface ResultsProject {
	readonly made: VerifyProject;
	/** The reward file. */
	readonly file: string;
	verify(changes?: Partial<PlanRequest>): Promise<Verification>;
}

/** Creates a project with a reward file, a recipe and data, verified by the production verifier. */
export async function resultsProject(
	context: TestContext,
	options: { readonly problems?: readonly unknown[]; readonly reward?: string; readonly cases?: string } = {},
): Promise<ResultsProject> {
	const { problems = sums, reward = graded } = options;
	const made = await VerifyProject.make(context, {
		'data/train.jsonl': jsonl(problems),
		'rewards/graded.reward.ts': reward,
		'rewards/graded.cases.jsonl': options.cases ?? cases,
		'sums.recipe.json': recipe({
			rewards: [{ use: 'accuracy' }, { use: 'format', weight: 0.2 }, { file: 'rewards/graded.reward.ts', weight: 0.1 }],
		}),
	});
	const file = made.path('rewards/graded.reward.ts');
	const hosts = await openHosts(context);
	return {
		made,
		file,
		verify: async (changes = {}) => {
			const verifier = new RewardVerifier((source, limits) => hosts.open(source, limits));
			try {
				const plan = await verifier.plan({ file, folders: [made.folder], what: { kind: 'data' }, ...changes });
				const result = await verifier.verify(plan, verifier.open(plan), { coverage: true, rewards: ['graded'] });
				return result.verifications[0] as Verification;
			} finally {
				verifier.dispose();
			}
		},
	};
}

/** Writes a run with recorded values for the reward named after the file; every third one differs. */
export function recordedRun({ made }: ResultsProject, steps = 2, groups = 6, size = 8): Promise<string> {
	const lines = Object.fromEntries(
		Array.from({ length: steps }, (_, i) => [
			i + 1,
			batch(i + 1, groups, size, (n) => ({ accuracy: (n + 1) % 2, graded: n % 3 === 0 ? 0.123 : null })),
		]),
	);
	return made.run('sums-20261120-101010-ab12', lines as Record<number, RolloutLine[]>);
}

/**
 * Audits a reward that is easy to fool and returns the report.
 * @param probes ids of probes; default: all
 */
export async function auditedNaive(
	context: TestContext,
	problems: readonly SampledProblem[],
	probes?: readonly string[],
): Promise<AuditReport> {
	const file = new URL('../../rewards/audit/naive.reward.ts', import.meta.url).pathname;
	const runner = await openRunner(context, { file, context: contextOf(r1) });
	return audit(runner, 'containsAnswer', problems, {
		file,
		data: ['five problems'],
		remarks: ['Two rows have no answer.'],
		...(probes && { probes }),
	});
}

/** Compares two rewards on a run's rollouts: one checks the answer, the other prefers short completions. */
export async function comparedOn(context: TestContext, run: string, made: VerifyProject): Promise<Comparison> {
	const file = await made.write(
		'rewards/sides.reward.ts',
		`export const right = ({ trace, answer }) => (trace.answer === answer ? 1 : 0);
export const mixed = ({ completion, trace, answer, row }) => {
	if (row.a === 3) return 0.5;
	if (row.a === 4 && trace.answer !== answer) return null;
	return trace.answer === answer ? 0.4 - completion.length / 1000 : (completion.length % 5) / 5;
};
`,
	);
	const hosts = await openHosts(context);
	const runner = hosts.open({ file, context: contextOf(r1) });
	return compareRewards({
		run,
		before: { label: 'right', runner, reward: 'right' },
		after: { label: 'mixed', runner, reward: 'mixed' },
	});
}
