import { parseBoundedJson } from '../../../base/boundedJson.ts';
import { rolloutSplits } from '../../../protocol/rolloutSplit.ts';
import type { FolderView } from '../folderView.ts';
import type { ForeignMetrics } from '../foreignRecord.ts';
import { boundedValue, fieldsOf, integerOf, listOf, numberOf, scoresOf, textOf } from '../foreignValues.ts';
import type { AnnotationFiles, CompanionFile, RecordContext, RolloutFiles, RunFormat } from '../runFormat.ts';
import { topKeys } from '../topKeys.ts';
import { evaluationRow } from './evaluationRow.ts';
import { episodeRollouts, episodeStepParts, type TraceCredit, traceCredit, workOf } from './traceRecord.ts';
import { updatedTrace } from './traceUpdates.ts';

/*
 * Layouts, oldest first (prime_rl/monitors/file and its predecessors). All of them are read, because a run that was
 * resumed with a newer version has several.
 * rollouts/step_N/{train,eval}_rollouts.jsonl: rows from verifiers, later traces
 * rollouts/step_N/{train,eval}/{all,effective}/traces.jsonl: episodes; `effective` repeats the ones that were trained
 *     on, with their credit
 * monitors/file/traces/stream.jsonl: all episodes in order of arrival, with annotations/{producer}.jsonl
 * monitors/file/traces/stream/{chunk}.jsonl[.zst]: the same in numbered files, which are compressed once they are full,
 *     and annotations/{producer}/{chunk}.jsonl[.zst]; live/ contains parts of unfinished traces
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
	episodeRollouts(record, (id) => (context.companion?.(id) as TraceCredit | undefined) ?? null, context.step);

/** Reads a row or a single trace, because the content changed but the file name did not. */
const rollouts = (record: unknown, { step }: RecordContext) =>
	Array.isArray(fieldsOf(record)?.nodes) ? episodeRollouts(record, undefined, step) : evaluationRow(record);

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
			verbatim: 'messages',
			rollouts: episodes,
		},
		{
			pattern: traces('effective'),
			form: 'jsonl',
			split,
			unlessThere: [all],
			verbatim: 'messages',
			rollouts: episodes,
		},
		{
			pattern: `rollouts/step_{step}/${work}_rollouts.jsonl`,
			form: 'jsonl',
			split,
			unlessThere: [all, traces('effective')],
			verbatim: 'messages',
			rollouts,
		},
	];
});

const traceFolder = 'monitors/file/traces';
const chunks = `${traceFolder}/stream/{chunk}.jsonl`;
const annotated = `${traceFolder}/annotations/{producer}`;

/** Data that the orchestrator and the trainer add to traces: advantages, log-probabilities, entropies. */
const updates: AnnotationFiles = {
	patterns: [`${annotated}.jsonl`, `${annotated}/{chunk}.jsonl`, `${annotated}/{chunk}.jsonl.zst`],
	form: 'jsonl',
	accepts: (path) => !path.endsWith('.index.jsonl'),
	key: updatedTrace,
	keyParts: { trace_id: true },
	keysOf: (record) => listOf(fieldsOf(record)?.traces).flatMap((trace) => textOf(fieldsOf(trace)?.id) ?? []),
};

const streams: readonly Pick<RolloutFiles, 'pattern' | 'accepts' | 'unlessThere'>[] = [
	{ pattern: `${traceFolder}/{name}.jsonl`, accepts: ({ name }) => !/[.]index$/.test(name ?? '') },
	{ pattern: chunks, accepts: isChunk },
	// Until a chunk has been fully compressed, its original exists next to it.
	{ pattern: `${chunks}.zst`, accepts: isChunk, unlessThere: [chunks] },
	{
		pattern: `${traceFolder}/{folder}/{name}.jsonl`,
		accepts: ({ folder }) => !['stream', 'annotations', 'live'].includes(folder ?? ''),
	},
	{ pattern: 'traces/live/{name}.jsonl' },
];

function isChunk({ chunk }: Readonly<Record<string, string>>): boolean {
	return /^\d+$/.test(chunk ?? '');
}

const streamed = rolloutSplits.flatMap((split) =>
	streams.map(
		(files): RolloutFiles => ({
			...files,
			form: 'jsonl',
			split,
			annotations: updates,
			stepParts: episodeStepParts,
			rollouts: (record, { annotations }) => {
				const work = workOf(record) === 'eval' ? 'validation' : 'train';
				if (work !== split) return [];
				return episodeRollouts(record, (id) => {
					const found = annotations?.(id) ?? [];
					return found.length === 0 ? null : { advantage: null, tokens: null, updates: found };
				});
			},
		}),
	),
);

export function primeRlMetrics(record: unknown): readonly ForeignMetrics[] | string {
	const row = fieldsOf(record);
	if (!row) return 'is not an object';
	// Rows about inference are recorded by time instead of by step.
	if (row.step === null) return [];
	const step = integerOf(row.step);
	if (step === null) return 'has no step';
	const values = scoresOf(row, (name) => name !== 'step' && name !== 'time');
	return [{ step, time: numberOf(row.time), values }];
}

async function hasTraces(folder: FolderView): Promise<boolean> {
	for (const { pattern } of perStep) if (await folder.has(pattern)) return true;
	for (const { pattern } of streams) {
		for (const file of await folder.some(pattern, 3)) {
			// A compressed file is recognized by its name alone.
			if (file.path.endsWith('.zst')) return true;
			if (topKeys((await folder.head(file.path)) ?? '').has('traces')) return true;
		}
	}
	return false;
}

export const primeRl: RunFormat = {
	name: 'prime-rl',
	title: 'prime-rl',
	looksFor:
		'monitors/file/traces/stream/N.jsonl or .jsonl.zst, rollouts/step_N/train/all/traces.jsonl or rollouts/step_N/train_rollouts.jsonl',
	hasSteps: true,
	rollouts: [...perStep, ...streamed],
	metrics: ['metrics.jsonl', 'monitors/file/metrics.jsonl'].map((pattern) => ({
		pattern,
		form: 'jsonl',
		metrics: primeRlMetrics,
	})),
	notes: [
		'All received rollouts are shown at the step in which they arrived. Advantages are known for the rollouts that were trained on; they are matched by trace id.',
		'The reward is the weighted sum of the scores; null means the rollout was not scored.',
		'Tokens are recorded as ids; only trained tokens are shown.',
	],
	recognize: hasTraces,
	async describe(folder) {
		const config = fieldsOf(await folder.json('configs/rl.json'));
		const steps = integerOf(config?.max_steps) ?? integerOf(fieldsOf(config?.trainer)?.max_steps);
		const live = (await folder.find(`${traceFolder}/live/{trace}.jsonl`)).length;
		const some = live === 1 ? '1 rollout was' : `${live} rollouts were`;
		return {
			...(steps === null ? {} : { totalSteps: steps }),
			...(live === 0 ? {} : { notes: [`${some} in flight when the run was last read and are not counted.`] }),
			...(await firstEpisode(folder)),
		};
	},
};

async function firstEpisode(folder: FolderView) {
	for (const { pattern } of [...perStep, ...streamed]) {
		if (pattern.endsWith('.zst')) continue;
		const [first] = await folder.find(pattern);
		const line = first && ((await folder.head(first.path, 1_000_000)) ?? '').split('\n', 1)[0];
		if (line) return factsOf(line);
	}
	return {};
}

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
