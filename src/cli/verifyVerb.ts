import { stat } from 'node:fs/promises';
import { dirname, relative, resolve } from 'node:path';
import { Failure } from '../base/failure.ts';
import { formatCounted } from '../base/format.ts';
import { describeExpectation } from '../core/reward/verification/labeledCase.ts';
import { summaryLine } from '../core/reward/verification/verificationSummary.ts';
import type { Verification, VerifiedRow } from '../protocol/verification.ts';
import { LoadFailure } from '../rewards/loadFailure.ts';
import { openRewardHosts } from '../rewards/openRewardHosts.ts';
import { isRewardFileName } from '../rewards/rewardFileName.ts';
import { RewardVerifier } from '../rewards/rewardVerifier.ts';
import type { VerificationPlan, WhatToVerify } from '../rewards/verificationPlan.ts';
import { isSound } from '../rewards/verifyReward.ts';
import { printable } from './cliOutput.ts';
import { findRun } from './findRun.ts';
import { onInterrupt } from './interrupts.ts';
import { integer, type Options, path, text } from './options.ts';
import { defineVerb } from './verb.ts';

/** Maximum number of rows listed per error. */
const errorsShown = 5;

const options = {
	dataset: path(
		'FILE',
		'JSONL rows to build correct and incorrect answers from (default: the file given by @dataset or a recipe).',
	),
	run: path('DIR', "Score the run's latest recorded rollouts."),
	cases: path(
		'FILE',
		'Score these labeled cases (default: NAME.cases.jsonl next to the reward, together with the dataset).',
	),
	reward: text('NAME', 'Verify only this reward (default: all rewards in the file).'),
	rows: integer('N', 'Number of rows to score (default: 200).', 1),
	seed: integer('S', 'Seed for selecting rows and incorrect answers (default: 1).'),
	python: path('PATH', 'Python interpreter for *.reward.py files (default: REASONING_LAB_PYTHON, or python3).'),
} as const satisfies Options;

export const verifyVerb = defineVerb({
	name: 'verify',
	group: 'Rewards',
	arguments: [{ name: 'reward file', phrase: 'a reward file', type: 'path' }],
	summary:
		'Run a reward on data, labeled cases, or recorded rollouts. Exits with status 1 if a case or the reward fails.',
	options,
	async run({ values, positionals, output }) {
		const file = resolve(positionals[0] as string);
		await requireReward(file);
		const what = await whatOf(values);
		const { rows, seed } = values;
		const interrupt = new AbortController();
		const release = onInterrupt(() => interrupt.abort());
		const hosts = await openRewardHosts({ python: values.python ?? file.endsWith('.py') });
		const verifier = new RewardVerifier((source, limits) => hosts.open(source, limits));
		const { signal } = interrupt;
		try {
			const plan = await verifier.plan({
				file,
				folders: [...new Set([process.cwd(), dirname(file)])],
				what,
				signal,
				...(values.dataset === undefined ? {} : { dataset: resolve(values.dataset) }),
				...(rows === undefined ? {} : { rows }),
				...(seed === undefined ? {} : { seed }),
			});
			if (plan.rows.length + plan.cases.length === 0 && (values.dataset ?? values.cases) !== undefined) {
				const named = values.dataset ?? values.cases;
				throw new Failure('invalid', `${named} has no rows to verify. ${plan.remarks.join(' ')}`.trim());
			}
			const { verifications } = await verifier.verify(plan, verifier.open(plan), {
				signal,
				...(values.reward === undefined ? {} : { rewards: [values.reward] }),
			});
			for (const verification of verifications) {
				output.object(verification);
				for (const line of reportOf(verification)) output.line(printable(line));
			}
			for (const line of closingLines(plan, verifications)) output.line(printable(line));
			return plan.caseFaults.length === 0 && verifications.every(isSound) ? 0 : 1;
		} catch (error) {
			// A reward that cannot be loaded fails verification; it is not a usage error.
			if (!(error instanceof LoadFailure)) throw error;
			output.failure(error);
			return 1;
		} finally {
			verifier.dispose();
			hosts.dispose();
			release();
		}
	},
});

async function requireReward(file: string): Promise<void> {
	const info = await stat(file).catch(() => null);
	if (!isRewardFileName(file)) {
		throw new Failure(
			'invalid',
			`${file} is not a reward file.`,
			'Specify a *.reward.ts, *.reward.js, or *.reward.py file.',
		);
	}
	if (!info?.isFile()) throw new Failure('missing', `The reward file ${file} does not exist.`, 'Fix the path.');
}

async function whatOf(values: { dataset?: string; run?: string; cases?: string }): Promise<WhatToVerify> {
	const given = (['dataset', 'run', 'cases'] as const).filter((name) => values[name] !== undefined);
	if (given.length > 1) {
		throw new Failure(
			'invalid',
			`${given.map((name) => `--${name}`).join(' and ')} cannot be combined.`,
			'Use only one of them.',
		);
	}
	if (values.run !== undefined) return { kind: 'rollouts', run: await findRun(values.run) };
	if (values.cases !== undefined) return { kind: 'data', dataset: false, cases: resolve(values.cases) };
	return values.dataset !== undefined ? { kind: 'data', cases: false } : { kind: 'data' };
}

/** Returns the shortest readable path with its line number, in a format that most terminals turn into a link. */
function placeOf(file: string, line: number | undefined): string {
	const near = relative(process.cwd(), file);
	const shown = near.startsWith('..') ? file : near;
	return line === undefined ? shown : `${shown}:${line}`;
}

const shorten = (text: string) => {
	const line = text.replace(/\s+/g, ' ');
	return line.length > 100 ? `${line.slice(0, 99)}…` : line;
};

function failedCase(row: VerifiedRow, verification: Verification): string {
	const place = placeOf(row.place?.file ?? verification.file, row.place?.line);
	const expected = describeExpectation(row.expect ?? null);
	const got = row.error === undefined ? `gives ${row.value}` : `fails (${row.error.kind}: ${row.error.message})`;
	return `${place}: ${row.label}: ${verification.reward} ${got}, expected ${expected}: ${shorten(row.completion)}`;
}

/** Formats errors outside of cases, merging errors with the same location and message. */
function errorLines({ rows, faults, file }: Verification): string[] {
	const errors = new Map<string, string[]>();
	const add = (error: NonNullable<VerifiedRow['error']>, label: string | null) => {
		const text = `${placeOf(file, error.line)}: ${error.kind}: ${error.message}`;
		const labels = errors.get(text) ?? [];
		if (label !== null) labels.push(label);
		errors.set(text, labels);
	};
	for (const fault of faults) add(fault, null);
	for (const { error, label, source } of rows) if (error !== undefined && source !== 'case') add(error, label);
	return [...errors].map(([text, labels]) => {
		const shown = labels.slice(0, errorsShown).join('; ');
		const more = labels.length > errorsShown ? ` and ${formatCounted(labels.length - errorsShown, 'more row')}` : '';
		return labels.length === 0 ? text : `${text} (${shown}${more})`;
	});
}

function reportOf(verification: Verification): string[] {
	const failed = verification.rows.filter(({ passed }) => passed === false);
	return [
		`${verification.reward}: ${summaryLine(verification)}`,
		...failed.map((row) => failedCase(row, verification)),
		...errorLines(verification),
	];
}

/** Formats the closing lines shared by all rewards in the file. */
function closingLines(plan: VerificationPlan, verifications: readonly Verification[]): string[] {
	const remarks = new Set(verifications.flatMap((verification) => verification.remarks));
	const data = plan.described.length === 0 ? [] : [`on ${plan.described.join(' and ')}`];
	const failed = verifications.filter((verification) => !isSound(verification)).map(({ reward }) => reward);
	const verdict =
		failed.length > 0
			? [`Failed: ${failed.join(', ')}.`]
			: plan.caseFaults.length > 0
				? ['Failed: some lines are not valid cases.']
				: [];
	return [...data, ...remarks, ...verdict];
}
