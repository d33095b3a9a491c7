import type { FolderView } from '../folderView.ts';
import { textOrMessages } from '../foreignMessages.ts';
import type { ForeignMetrics, ForeignRollout } from '../foreignRecord.ts';
import {
	extraOf,
	type Fields,
	fieldsOf,
	given,
	integerOf,
	numberOf,
	scoreOf,
	sumOf,
	textOf,
} from '../foreignValues.ts';
import type { RolloutFiles, RunEvidence, RunFacts, RunFormat } from '../runFormat.ts';
import { isWandbLog } from '../wandbFile.ts';
import { isEvaluationKey } from './loggedTraces.ts';
import { keyOfPrompt, rewardColumns, scoresIn, tableRows } from './trlRows.ts';

/*
 * A W&B run folder: run-{id}.wandb with everything that was logged, whether or not it was uploaded, and tables in
 * files/media/table/{name}_{index}_{hash}.table.json.
 */

export const wandbLogs = 'run-{id}.wandb';
const tables = 'files/media/table/{name}.table.json';
/** Steps that trainers log in addition to W&B's own, which counts calls to log(). */
const stepKeys = ['train/global_step', 'trainer/global_step', 'global_step', 'training/global_step', '_step'];
const headRecords = 50;
/** Largest log to read in full to get its last record, which shows how the run ended. */
const longestForEnd = 4 << 20;

export function wandbMetrics(record: unknown): readonly ForeignMetrics[] | string {
	const entry = fieldsOf(record);
	if (entry?.kind !== 'history') return [];
	const logged = fieldsOf(entry.values) ?? {};
	const steps = stepKeys.map((key) => integerOf(logged[key]));
	const step = steps.find((one) => one !== null) ?? integerOf(entry.step);
	if (step === null || step === undefined) return 'has no step';
	const values: Record<string, number | null> = {};
	// Tables, images and histograms are logged with their type, size and path.
	const media = Object.keys(logged).flatMap((name) => (name.endsWith('._type') ? name.slice(0, -'_type'.length) : []));
	for (const [name, value] of Object.entries(logged)) {
		if (!name.startsWith('_') && !media.some((prefix) => name.startsWith(prefix))) collect(values, name, value);
	}
	// A call that logged only media is not a row of metrics.
	if (Object.keys(values).length === 0) return [];
	return [{ step, time: numberOf(logged._timestamp), values }];
}

const notFinite: ReadonlySet<unknown> = new Set(['NaN', 'Infinity', '-Infinity']);
const deepest = 5;

/** Collects the numbers in a value. Nested values are named with dots, as in W&B's charts. */
function collect(values: Record<string, number | null>, name: string, value: unknown, depth = 0): void {
	const nested = fieldsOf(value);
	if (value === null || typeof value === 'number') values[name] = numberOf(value);
	else if (notFinite.has(value)) values[name] = null;
	else if (nested !== null && nested._type === undefined && depth < deepest) {
		for (const [key, inner] of Object.entries(nested)) collect(values, `${name}.${key}`, inner, depth + 1);
	}
}

/** Returns the step of a table: W&B's step is in its name, the trainer's in its rows. */
function rowOf(row: Fields, key: string, step: number): ForeignRollout | null {
	const prompt = textOrMessages(row.prompt);
	const completion = textOrMessages(row.completion);
	if (prompt === null || completion === null) return null;
	const names = rewardColumns(row, null);
	const scores = scoresIn(row, names);
	const own = typeof row.step === 'string' ? Number(row.step) : row.step;
	return {
		groupKey: `${key} ${keyOfPrompt(prompt)}`,
		step: integerOf(own) ?? step,
		prompt,
		completion,
		reward: scoreOf(row.reward) ?? sumOf(scores),
		rewards: Object.fromEntries(names.map((name, i) => [name, scores[i] ?? null])),
		advantage: numberOf(row.advantage),
		...given('extra', extraOf({ log: key })),
	};
}

/** Splits a table's name, such as "completions_12_1f0c..." for the key "completions" at step 12. */
function nameOf(name: string): { readonly key: string; readonly step: number } {
	const [, key = name, step = '0'] = /^(.*)_(\d+)_[0-9a-f]+$/.exec(name) ?? [];
	return { key, step: Number(step) };
}

const rollouts = (['train', 'validation'] as const).map(
	(split): RolloutFiles => ({
		pattern: tables,
		form: 'json',
		split,
		accepts: ({ name = '' }) => isEvaluationKey(nameOf(name).key) === (split === 'validation'),
		rollouts(record, { parts }) {
			const rows = tableRows(record);
			if (rows === null) return Array.isArray(fieldsOf(record)?.columns) ? [] : 'is not a table';
			const { key, step } = nameOf(parts.name ?? '');
			return rows.flatMap((row) => rowOf(row, key, step) ?? []);
		},
	}),
);

async function learn(folder: FolderView, evidence: RunEvidence): Promise<RunFacts> {
	const [log] = await folder.find(wandbLogs);
	if (log === undefined) return {};
	const long = log.size > longestForEnd;
	const records = await evidence.records(log.path, { form: 'wandb' }, long ? headRecords : Number.POSITIVE_INFINITY);
	const exit = records.map(fieldsOf).findLast((record) => record?.kind === 'exit');
	const ended = exit ? (exit.code === 0 ? 'finished' : 'crashed') : undefined;
	const run = records.map(fieldsOf).find((record) => record?.kind === 'run');
	const project = textOf(run?.project);
	const started = numberOf(run?.started);
	return {
		...given('name', textOf(run?.name)),
		...(ended === undefined ? { open: !long } : { status: ended }),
		...(started === null ? {} : { created: started }),
		versions: project === null ? {} : { project },
	};
}

export const wandb: RunFormat = {
	name: 'wandb',
	title: 'W&B',
	looksFor: 'run-{id}.wandb in a W&B run folder (wandb/offline-run-...)',
	hasSteps: true,
	tracker: true,
	rollouts,
	metrics: [{ pattern: wandbLogs, form: 'wandb', metrics: wandbMetrics }],
	notes: [
		"Steps are the trainer's global step if it was logged, and otherwise the number of calls to wandb.log().",
		'Rollouts are the rows of logged tables that have a prompt and a completion. Rows with the same prompt at the same step form a group.',
	],
	async recognize(folder) {
		for (const { path } of await folder.some(wandbLogs, 3))
			if (isWandbLog((await folder.head(path, 8)) ?? '')) return true;
		return false;
	},
	learn,
	describe: async (_, learned) => (learned as RunFacts | undefined) ?? {},
};
