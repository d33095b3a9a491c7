import { parseBoundedJson } from '../../../base/boundedJson.ts';
import { rolloutSplits } from '../../../protocol/rolloutSplit.ts';
import type { FolderView } from '../folderView.ts';
import type { ForeignMetrics } from '../foreignRecord.ts';
import { boundedValue, fieldsOf, integerOf, numberOf, scoresOf, textOf } from '../foreignValues.ts';
import type { CompanionFile, RecordContext, RolloutFiles, RunFormat } from '../runFormat.ts';
import { topKeys } from '../topKeys.ts';
import { evaluationRow } from './evaluationRow.ts';
import { episodeRollouts, type TraceCredit, traceCredit, workOf } from './traceRecord.ts';

/*
 * There are three layouts (prime_rl/monitors/file.py and its predecessors):
 * rollouts/step_N/{train,eval}_rollouts.jsonl: rows from verifiers, later traces
 * rollouts/step_N/{train,eval}/{all,effective}/traces.jsonl: episodes; `effective` repeats the ones that were trained
 * on,
 *     with their credit
 * monitors/file/traces: episodes from all steps and of all types in order of arrival, in one file or a folder of files
 */

const credit: CompanionFile = {
	pattern: 'rollouts/step_{step}/{split}/effective/traces.jsonl',
	form: 'jsonl',
	entries(record) {
		const traces = fieldsOf(record)?.traces;
		const all = Array.isArray(traces) ? traces : [record];
		return all.flatMap((trace: unknown) => {
			const id = textOf(fieldsOf(trace)?.id);
			const found = traceCredit(trace);
			return id !== null && found ? [[id, found] as const] : [];
		});
	},
};

const episodes = (record: unknown, context: RecordContext) =>
	episodeRollouts(record, (id) => (context.companion?.(id) as TraceCredit | undefined) ?? null);

/** Reads a row or a single trace, because the file name stayed the same when the content changed. */
const rollouts = (record: unknown) =>
	Array.isArray(fieldsOf(record)?.nodes) ? episodeRollouts(record) : evaluationRow(record);

const perStep = (['train', 'eval'] as const).flatMap((work): RolloutFiles[] => {
	const split = work === 'train' ? 'train' : 'validation';
	const traces = (subset: string) => `rollouts/step_{step}/${work}/${subset}/traces.jsonl`;
	const all = traces('all');
	return [
		{
			pattern: all,
			form: 'jsonl',
			split,
			companion: { ...credit, pattern: traces('effective') },
			rollouts: episodes,
		},
		{ pattern: traces('effective'), form: 'jsonl', split, unlessThere: [all], rollouts: episodes },
		{
			pattern: `rollouts/step_{step}/${work}_rollouts.jsonl`,
			form: 'jsonl',
			split,
			unlessThere: [all, traces('effective')],
			rollouts,
		},
	];
});

const streams = ['monitors/file/traces/{name}.jsonl', 'monitors/file/traces/{folder}/{name}.jsonl'];
const isStream = ({ folder, name }: Readonly<Record<string, string>>) =>
	folder !== 'annotations' && !/[.]index$/.test(name ?? '');

const streamed = rolloutSplits.flatMap((split) =>
	[...streams, 'traces/live/{name}.jsonl'].map(
		(pattern): RolloutFiles => ({
			pattern,
			form: 'jsonl',
			split,
			accepts: isStream,
			rollouts: (record) => {
				const work = workOf(record) === 'eval' ? 'validation' : 'train';
				return work === split ? episodeRollouts(record) : [];
			},
		}),
	),
);

export function primeRlMetrics(record: unknown): readonly ForeignMetrics[] | string {
	const row = fieldsOf(record);
	if (!row) return 'is not an object';
	const step = integerOf(row.step);
	if (step === null) return 'has no step';
	const values = scoresOf(row, (name) => name !== 'step' && name !== 'time');
	return [{ step, time: numberOf(row.time), values }];
}

async function hasTraces(folder: FolderView): Promise<boolean> {
	for (const { pattern } of perStep) if (await folder.has(pattern)) return true;
	for (const pattern of [...streams, 'traces/live/{name}.jsonl']) {
		for (const file of await folder.some(pattern, 3)) {
			if (topKeys((await folder.head(file.path)) ?? '').has('traces')) return true;
		}
	}
	return false;
}

export const primeRl: RunFormat = {
	name: 'prime-rl',
	title: 'prime-rl',
	looksFor: 'rollouts/step_N/train/all/traces.jsonl, rollouts/step_N/train_rollouts.jsonl or monitors/file/traces',
	hasSteps: true,
	rollouts: [...perStep, ...streamed],
	metrics: ['metrics.jsonl', 'monitors/file/metrics.jsonl'].map((pattern) => ({
		pattern,
		form: 'jsonl',
		metrics: primeRlMetrics,
	})),
	notes: [
		'All received rollouts are shown. Advantages come from the trained subset (effective), matched by trace id.',
		'The reward is the weighted sum of the scores; null means the rollout was not scored.',
		'Tokens are recorded as ids; only trained tokens are shown.',
	],
	recognize: hasTraces,
	async describe(folder) {
		for (const { pattern } of [...perStep, ...streamed]) {
			const [first] = await folder.find(pattern);
			const line = first && ((await folder.head(first.path, 1_000_000)) ?? '').split('\n', 1)[0];
			if (line) return factsOf(line);
		}
		return {};
	},
};

function factsOf(line: string) {
	try {
		const episode = fieldsOf(parseBoundedJson(line));
		const run = fieldsOf(episode?.run);
		const env = fieldsOf(episode?.env);
		const name = textOf(run?.name);
		const environment = textOf(env?.name) ?? textOf(env?.id);
		return {
			...(name === null ? {} : { name }),
			...(environment === null ? {} : { versions: { environment: String(boundedValue(environment)) } }),
		};
	} catch {
		return {};
	}
}
