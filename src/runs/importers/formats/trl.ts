import type { FolderView } from '../folderView.ts';
import type { ForeignMetrics, ForeignRollout } from '../foreignRecord.ts';
import { extraOf, type Fields, fieldsOf, given, integerOf, numberOf, sumOf, textOf } from '../foreignValues.ts';
import type { MetricFiles, RecordContext, RolloutFiles, RunFacts, RunFormat } from '../runFormat.ts';
import { eventFileName, namesTag } from './eventFiles.ts';
import { eventMetrics } from './eventMetrics.ts';
import { learnTrl, type TrlLearned, trlDependence } from './trlLearned.ts';
import { keyOfPrompt, otherColumns, promptOf, rewardColumns, scoresIn, tableRows } from './trlRows.ts';
import { completionsPattern, tablePatterns } from './trlTables.ts';

/*
 * trl/trainer/grpo_trainer.py, `log`: one Parquet file per logged step with the columns `step, prompt, completion`, one
 * per reward function, those from `log_extra`, and `advantage`. Versions before 0.16 write a single `reward` column
 * instead of one per function. transformers' TrainerState: `log_history`, rows by step. Its TensorBoard callback
 * renames `eval_x` to `eval/x` and everything else to `train/x`.
 */

function rolloutOf(row: Fields, context: RecordContext, evaluated: EvaluatedRow | null): ForeignRollout | string {
	const learned = context.learned as TrlLearned | undefined;
	const prompt = promptOf(row.prompt);
	const completion = promptOf(row.completion);
	if (prompt === null) return 'has no prompt';
	if (completion === null) return 'has no completion';
	const names = rewardColumns(row, learned?.names ?? null);
	const scores = scoresIn(row, names);
	const rest = Object.fromEntries(
		otherColumns(row).flatMap((name) => (names.includes(name) ? [] : [[name, row[name]]])),
	);
	// W&B tables store steps as text.
	const step = context.step ?? integerOf(row.step) ?? integerOf(Number(row.step ?? Number.NaN));
	const truncated = learned?.truncated[evaluated === null ? 'train' : 'validation'].get(step ?? Number.NaN);
	return {
		groupKey: keyOfPrompt(prompt),
		step,
		prompt,
		completion,
		rewards: Object.fromEntries(names.map((name, i) => [name, scores[i] ?? null])),
		reward:
			'reward' in row ? numberOf(row.reward) : sumOf(scores.map((score, i) => weighted(score, learned, names[i]))),
		advantage: numberOf(row.advantage),
		...(truncated === undefined || evaluated?.alone === false ? {} : { truncated }),
		...(evaluated === null ? {} : { stage: 'validation' }),
		...given('extra', extraOf({ ...rest, dataset: evaluated?.dataset })),
	};
}

function weighted(score: number | null, learned: TrlLearned | undefined, name: string | undefined): number | null {
	return score === null ? null : score * (learned?.weights.get(name ?? '') ?? 1);
}

/** A row written by an evaluation. */
interface EvaluatedRow {
	/** Dataset name; null if there is only one dataset or the name is unknown. */
	readonly dataset: string | null;
	/** Whether the evaluation's logged metrics cover exactly these rows. */
	readonly alone: boolean;
}

/** Returns the evaluation that wrote a row in a file, or null if training did. */
function evaluatedRow(row: number, { file, learned }: RecordContext): EvaluatedRow | null {
	const evaluation = (learned as TrlLearned | undefined)?.evaluations.get(file);
	if (evaluation === undefined || row < evaluation.from) return null;
	const alone = evaluation.datasets.length === 1;
	let end = evaluation.from;
	for (const { name, rows } of evaluation.datasets) {
		end += rows;
		if (row < end) return { dataset: name === '' ? null : name, alone: alone && name === '' };
	}
	return { dataset: null, alone: false };
}

type Split = RolloutFiles['split'];
const isOf = (split: Split, evaluated: EvaluatedRow | null) => (evaluated === null) === (split === 'train');

export const trlRollout =
	(split: Split = 'train'): RolloutFiles['rollouts'] =>
	(record, context) => {
		const row = fieldsOf(record);
		if (!row) return 'is not an object';
		const evaluated = evaluatedRow(context.record, context);
		if (!isOf(split, evaluated)) return [];
		const rollout = rolloutOf(row, context, evaluated);
		return typeof rollout === 'string' ? rollout : [rollout];
	};

/** Reads all rows of a W&B table. */
export const trlTable =
	(split: Split = 'train'): RolloutFiles['rollouts'] =>
	(record, context) => {
		const rows = tableRows(record);
		if (rows === null) return 'is not a table of completions';
		const rollouts: ForeignRollout[] = [];
		for (const [i, row] of rows.entries()) {
			const evaluated = evaluatedRow(i, context);
			// Callers without learned facts need only the steps.
			if (context.learned !== undefined && !isOf(split, evaluated)) continue;
			const rollout = rolloutOf(row, context, evaluated);
			if (typeof rollout === 'string') return `row ${i + 1} ${rollout}`;
			rollouts.push(rollout);
		}
		return rollouts;
	};

/**
 * Returns whether a file contains rows of a split. A file belongs to training unless an evaluation wrote all of it, and
 * to an evaluation only if that evaluation is known.
 */
function holdsRowsOf(split: Split, path: string, learned: unknown): boolean {
	const known = learned as TrlLearned | undefined;
	if (known?.repeated.has(path)) return false;
	const evaluation = known?.evaluations.get(path);
	return split === 'train' ? evaluation?.from !== 0 : evaluation !== undefined;
}

const completionFiles = (split: Split): RolloutFiles[] => [
	{
		pattern: completionsPattern,
		form: 'parquet',
		split,
		grouping: 'consecutive',
		holds: (path, learned) => holdsRowsOf(split, path, learned),
		dependsOn: trlDependence,
		rollouts: trlRollout(split),
	},
	...tablePatterns.map(
		(pattern): RolloutFiles => ({
			pattern,
			form: 'json',
			split,
			grouping: 'consecutive',
			unlessThere: [completionsPattern],
			holds: (path, learned) => holdsRowsOf(split, path, learned),
			dependsOn: trlDependence,
			rollouts: trlTable(split),
		}),
	),
];

/** Reads all rows in trainer_state.json; rows without a step are skipped. */
export function trainerStateMetrics(record: unknown): readonly ForeignMetrics[] | string {
	const history = fieldsOf(record)?.log_history;
	if (!Array.isArray(history)) return 'has no log_history';
	const rows: ForeignMetrics[] = [];
	for (const entry of history) {
		const row = fieldsOf(entry);
		const step = integerOf(row?.step);
		if (!row || step === null) continue;
		const values = Object.entries(row).flatMap(([name, value]): [string, number | null][] =>
			name !== 'step' && (value === null || typeof value === 'number') ? [[name, numberOf(value)]] : [],
		);
		rows.push({ step, time: null, values: Object.fromEntries(values) });
	}
	return rows.length > 0 || history.length === 0 ? rows : 'has no rows with a step';
}

/** Converts tags from the TensorBoard callback to the names in the trainer's own log. */
export function callbackMetrics(record: unknown): readonly ForeignMetrics[] | string {
	const rows = eventMetrics(record);
	if (typeof rows === 'string') return rows;
	return rows.map((row) => ({
		...row,
		values: Object.fromEntries(
			Object.entries(row.values).map(([tag, value]) => [
				tag.replace(/^train\//, '').replace(/^eval\//, 'eval_'),
				value,
			]),
		),
	}));
}

const checkpoints = 'checkpoint-{step}/trainer_state.json';
const last = 'trainer_state.json';
/** Event files are in the trainer's output folder, or directly in the opened folder. */
const events = [`runs/**/${eventFileName}`, eventFileName];
/** Tags logged only by GRPO and related trainers. */
const rewardTags = /train\/(?:rewards\/|completions\/|completion_length|frac_reward_zero_std)/;

async function newestState(folder: FolderView): Promise<unknown> {
	const newest = (await folder.find(checkpoints)).at(-1);
	return (await folder.json(last)) ?? (newest === undefined ? undefined : await folder.json(newest.path));
}

async function describe(folder: FolderView, learned: unknown): Promise<RunFacts> {
	const state = fieldsOf(await newestState(folder));
	const known = learned as TrlLearned | undefined;
	const total = integerOf(state?.max_steps);
	const config = fieldsOf(await folder.json('config.json')) ?? fieldsOf(await folder.json('adapter_config.json'));
	const model = textOf(config?.base_model_name_or_path) ?? textOf(config?._name_or_path);
	const rewards = [...(known?.weights ?? [])].map(([name, weight]) => ({ name, weight }));
	return {
		...(total !== null && total > 0 ? { totalSteps: total } : {}),
		...given('reached', integerOf(state?.global_step)),
		...(model === null || model === '' ? {} : { versions: { model } }),
		...(rewards.length === 0 ? {} : { rewards }),
		...(known === undefined ? {} : { notes: known.notes }),
	};
}

export const trl: RunFormat = {
	name: 'trl',
	title: 'TRL',
	looksFor:
		'completions/completions_N.parquet, W&B completions tables, trainer_state.json or checkpoint-N/trainer_state.json, or event files with train/rewards/',
	hasSteps: true,
	rollouts: [...completionFiles('train'), ...completionFiles('validation')],
	metrics: [
		...events.map((pattern): MetricFiles => ({ pattern, form: 'events', metrics: callbackMetrics })),
		{ pattern: checkpoints, form: 'json', cumulative: true, metrics: trainerStateMetrics },
		{ pattern: last, form: 'json', metrics: trainerStateMetrics },
	],
	notes: [
		'TRL records no groups: consecutive completions of the same prompt form a group.',
		'TRL records neither the total reward nor weights: the reward is the weighted sum of the reward functions, with weights computed from the logged rewards and advantages.',
		'TRL writes training and evaluation completions under the same names: if both ran at a step, they are distinguished by the number of prompts and by the means that the evaluation logged.',
		'A completions file contains the last generation batch of its step.',
		'TRL records the fraction of truncated completions but not which ones were truncated, so truncation is known per completion only if the fraction is 0 or 1.',
	],
	learn: learnTrl,
	describe,
	async recognize(folder) {
		for (const pattern of [completionsPattern, ...tablePatterns]) if (await folder.has(pattern)) return true;
		const states = [last, ...(await folder.some(checkpoints, 1)).map(({ path }) => path)];
		for (const path of states) if (/"log_history"/.test((await folder.head(path, 4096)) ?? '')) return true;
		for (const pattern of events) if (await namesTag(folder, pattern, rewardTags)) return true;
		return false;
	},
};
