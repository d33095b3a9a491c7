import { dirname } from 'node:path';
import * as v from 'valibot';
import { Failure } from '../../base/failure.ts';
import { formatAddress } from '../../core/address/dataAddress.ts';
import { noStep } from '../../protocol/rolloutLine.ts';
import type { VerifiedRow } from '../../protocol/verification.ts';
import { auditReward, defaultAuditRows } from '../../rewards/auditReward.ts';
import { compareFiles } from '../../rewards/compareFiles.ts';
import { openRewardHosts } from '../../rewards/openRewardHosts.ts';
import { findRewardData } from '../../rewards/rewardData.ts';
import { isRewardFileName } from '../../rewards/rewardFileName.ts';
import type { RewardHosts } from '../../rewards/rewardHosts.ts';
import { RewardVerifier } from '../../rewards/rewardVerifier.ts';
import { sampleProblems } from '../../rewards/sampleProblems.ts';
import type { WhatToVerify } from '../../rewards/verificationPlan.ts';
import { pageOf, quote } from '../answer.ts';
import * as input from '../inputs.ts';
import type { Runs } from '../runs.ts';
import { type ActionContext, defineAction } from '../tool.ts';

const file = input.text(
	'Reward file (*.reward.ts, *.reward.js or *.reward.py): absolute path, or relative to a server folder.',
);
const reward = v.optional(input.text('Only this reward in the file. Default: all.', 200));
const dataset = v.optional(input.text('Dataset to build rows from. Default: found through the reward or a recipe.'));
const seed = v.optional(input.described(input.whole(0, 2 ** 31), 'Seed for selecting rows.'), 1);
const maxScored = 1000;
const rows = (usual: number) =>
	v.optional(input.described(input.whole(1, maxScored), 'Number of rows to score.'), usual);

async function rewardFile(runs: Runs, path: string): Promise<string> {
	const found = await runs.fileWithin(path);
	if (isRewardFileName(found)) return found;
	throw new Failure('invalid', `${path} is not a reward file.`, 'Use a *.reward.ts, *.reward.js or *.reward.py file.');
}

/** Starts reward hosts for one call and stops them afterward. */
async function withHosts<T>(
	actions: ActionContext,
	python: boolean,
	work: (hosts: RewardHosts) => Promise<T>,
): Promise<T> {
	const hosts = await openRewardHosts({ python: python && actions.python !== null ? actions.python : python });
	try {
		return await work(hosts);
	} finally {
		hosts.dispose();
	}
}

const foldersOf = (runs: Runs, file: string) => [...new Set([...runs.folders, dirname(file)])];

export const verifyRewardTool = defineAction({
	name: 'verify_reward',
	title: 'Verify a reward',
	description:
		'Run a reward file on correct and incorrect answers from its data, on its labeled cases, or on recorded rollouts of a run, and return statistics and rows, failures first. Runs the code of the reward file.',
	effect: 'code',
	input: v.object({
		file,
		on: v.optional(
			input.described(v.picklist(['data', 'cases', 'rollouts']), 'Rows to score. rollouts requires a run.'),
			'data',
		),
		run: v.optional(input.run),
		reward,
		dataset,
		rows: rows(100),
		seed,
		characters: input.characters,
		limit: input.limit(20),
		cursor: input.cursor,
	}),
	async run(
		{ file: path, on, run, reward, dataset, rows, seed, characters, limit, cursor },
		{ runs, signal, actions },
	) {
		const file = await rewardFile(runs, path);
		const what = await rowsOf(on, run, runs);
		const given = dataset === undefined ? {} : { dataset: await runs.fileWithin(dataset) };
		return withHosts(actions, file.endsWith('.py'), async (hosts) => {
			const verifier = new RewardVerifier((source, limits) => hosts.open(source, limits));
			try {
				const plan = await verifier.plan({ file, folders: foldersOf(runs, file), what, rows, seed, signal, ...given });
				const { rewards, verifications } = await verifier.verify(plan, verifier.open(plan), {
					signal,
					...(reward === undefined ? {} : { rewards: [reward] }),
				});
				const scored = verifications.flatMap(({ reward, rows }) => rows.map((row) => ({ reward, row })));
				const page = pageOf(
					scored.toSorted((a, b) => urgency(a.row) - urgency(b.row)),
					cursor,
					limit,
				);
				return {
					file,
					rewards: rewards.map(({ name }) => name),
					data: plan.described,
					invalid_cases: plan.caseFaults.slice(0, 20),
					results: verifications.map(({ reward, statistics, faults, remarks }) => ({
						...{ reward, statistics, remarks },
						faults: faults.map(shownError),
					})),
					...page,
					items: page.items.map(({ reward, row }) => ({ reward, ...shownRow(row, what, run ?? null, characters) })),
				};
			} finally {
				verifier.dispose();
			}
		});
	},
});

async function rowsOf(on: 'data' | 'cases' | 'rollouts', run: string | undefined, runs: Runs): Promise<WhatToVerify> {
	if (on === 'data') return { kind: 'data' };
	if (on === 'cases') return { kind: 'data', dataset: false };
	if (run === undefined) throw new Failure('invalid', 'Verifying rollouts requires a run.', 'Pass run.');
	return { kind: 'rollouts', run: (await runs.find(run)).folder };
}

/** Returns an error with its message as quoted text, because the reward's code controls the message. */
const shownError = ({ kind, message, line }: NonNullable<VerifiedRow['error']>) => ({
	...{ kind, message: quote(message, 1000) },
	...(line === undefined ? {} : { line }),
});

/** Failed cases first, then errors, then the rest. */
const urgency = ({ passed, error }: VerifiedRow) => (passed === false ? 0 : error === undefined ? 2 : 1);

function shownRow(row: VerifiedRow, what: WhatToVerify, run: string | null, characters: number) {
	const { source, label, prompt, completion, answer, value, error, expect, passed, recorded, place, rollout } = row;
	return {
		source,
		label,
		value,
		...(error === undefined ? {} : { error: shownError(error) }),
		...(passed === undefined ? {} : { expected: expect ?? null, passed }),
		...(recorded === undefined ? {} : { recorded }),
		...(place === undefined ? {} : { place }),
		...(rollout === undefined || run === null || what.kind !== 'rollouts'
			? {}
			: {
					address: formatAddress({
						...{ kind: 'completion', run, split: 'train', step: rollout.step, group: rollout.group },
						...{ completion: rollout.index, tokens: null },
					}),
				}),
		prompt: quote(prompt, characters),
		completion: quote(completion, characters),
		answer: answer === null ? null : quote(answer, characters),
	};
}

export const auditRewardTool = defineAction({
	name: 'audit_reward',
	title: 'Audit a reward',
	description:
		'Probe a reward for ways to score without a correct answer, such as listing every candidate. Returns findings with evidence, most severe first. Runs the code of the reward file.',
	effect: 'code',
	input: v.object({
		file,
		reward,
		dataset,
		rows: rows(defaultAuditRows),
		seed,
		limit: input.limit(20),
		cursor: input.cursor,
	}),
	async run({ file: path, reward: only, dataset, rows, seed, limit, cursor }, { runs, signal, actions }) {
		const file = await rewardFile(runs, path);
		const given = dataset === undefined ? {} : { dataset: await runs.fileWithin(dataset) };
		return withHosts(actions, file.endsWith('.py'), async (hosts) => {
			const data = await findRewardData({ file, folders: foldersOf(runs, file), ...given });
			const { problems, remarks } = await sampleProblems(data, { count: rows, seed, signal });
			const runner = hosts.open({ file, context: data.context });
			const names = (await runner.describe(signal)).map(({ name }) => name);
			if (only !== undefined && !names.includes(only)) {
				throw new Failure('missing', `The file has no reward "${only}".`, `Available: ${names.join(', ')}.`);
			}
			const reports = [];
			for (const reward of only === undefined ? names : [only]) {
				reports.push(
					await auditReward(runner, {
						...{ file, reward, problems, seed, signal, template: data.template, verify: data.verify },
						data: problems.length === 0 ? [] : [`${problems.length} problems from ${data.described}`],
						remarks: [...data.remarks, ...remarks],
					}),
				);
			}
			const findings = reports.flatMap(({ reward, findings }) => findings.map((finding) => ({ reward, ...finding })));
			const page = pageOf(findings, cursor, limit);
			return {
				file,
				audits: reports.map(({ reward, rows, honest, probes, remarks }) => ({
					...{ reward, rows, mean_of_correct_answers: honest, remarks },
					probes: probes.map(({ probe, outcome, detail }) => ({
						probe,
						outcome,
						...(detail === undefined ? {} : { detail: quote(detail, 500) }),
					})),
				})),
				...page,
				items: page.items.map(({ evidence, ...finding }) => ({
					...finding,
					evidence: evidence.slice(0, 3).map(({ prompt, answer, completion, value, honest }) => ({
						...{ value, value_of_correct_answer: honest, prompt: quote(prompt), completion: quote(completion) },
						answer: answer === null ? null : quote(answer),
					})),
				})),
			};
		});
	},
});

export const compareRewardsTool = defineAction({
	name: 'compare_rewards',
	title: 'Compare rewards',
	description:
		"Score a run's recorded rollouts with two versions of a reward: two files, or a file and its committed version. Returns the rollouts whose value changes most. Runs the code of the reward files.",
	effect: 'code',
	input: v.object({
		file,
		run: input.run,
		other: v.optional(input.text('Another reward file, used as the new version.')),
		revision: v.optional(
			input.described(
				v.pipe(v.string(), v.regex(/^\w[\w./~^@-]{0,199}$/)),
				'Git revision to compare the file against.',
			),
			'HEAD',
		),
		reward,
		batches: v.optional(
			input.described(input.whole(1, 200), 'How many of the most recent generation batches to use.'),
			10,
		),
		characters: input.characters,
		limit: input.limit(20),
		cursor: input.cursor,
	}),
	async run({ file: path, run: named, other, revision, reward, batches, characters, limit, cursor }, context) {
		const { runs, signal, actions } = context;
		const run = await runs.find(named);
		const file = await rewardFile(runs, path);
		const second = other === undefined ? null : await rewardFile(runs, other);
		const python = [file, second].some((one) => one?.endsWith('.py'));
		return withHosts(actions, python, async (hosts) => {
			const comparison = await compareFiles({
				...{ run: run.folder, steps: batches, signal, file, folders: foldersOf(runs, file) },
				open: (source) => hosts.open(source),
				against: second === null ? { revision } : { file: second },
				...(reward === undefined ? {} : { reward }),
			});
			const { rows, groups, summary, before, after, steps, remarks } = comparison;
			const change = (row: (typeof rows)[number]) => Math.abs((row.after ?? 0) - (row.before ?? 0));
			const changed = rows.filter((row) => row.before !== row.after).toSorted((a, b) => change(b) - change(a));
			const page = pageOf(changed, cursor, limit);
			return {
				...{ run: run.name, before, after, steps, rollouts: rows.length, groups: groups.length, summary, remarks },
				...page,
				items: page.items.map(({ step, group, index, before, after, completion, prompt }) => ({
					address: formatAddress({
						...{ kind: 'completion', run: run.name, split: 'train', step: step ?? noStep },
						...{ group, completion: index, tokens: null },
					}),
					...{ before, after, prompt: quote(prompt, characters), completion: quote(completion, characters) },
				})),
			};
		});
	},
});
