import type { FolderView } from '../folderView.ts';
import { messageOf } from '../foreignMessages.ts';
import type { ForeignMetrics, ForeignRollout } from '../foreignRecord.ts';
import { extraOf, fieldsOf, given, integerOf, listOf, numberOf, scoreOf, sumOf, textOf } from '../foreignValues.ts';
import type { MetricFiles, RecordContext, RunFacts, RunFormat } from '../runFormat.ts';
import { eventFileName, namesTag } from './eventFiles.ts';
import { eventMetrics } from './eventMetrics.ts';

/*
 * trl/trainer/grpo_trainer.py, `log`: one Parquet file a logged step with the columns `step, prompt, completion`, one per
 * reward function, those of `log_extra`, `advantage`; before 0.16 a column `reward` and none per function.
 * transformers' TrainerState: `log_history`, rows by step; its TensorBoard callback renames `eval_x` to `eval/x` and
 * all else to `train/x`.
 */

const own = new Set(['step', 'prompt', 'completion', 'advantage', 'reward', 'image', 'images']);

/** A text, or a list of messages; null: neither. */
function textOrMessages(value: unknown): ForeignRollout['prompt'] | null {
	if (typeof value === 'string') return value;
	if (!Array.isArray(value)) return null;
	const messages = value.map(messageOf);
	return messages.every((message) => message !== null) ? messages : null;
}

/** Columns of numbers; those that the metrics know as rewards, once they know any. */
function rewardColumns(row: Readonly<Record<string, unknown>>, learnt: unknown): string[] {
	const columns = Object.keys(row).filter((name) => !own.has(name));
	const known = learnt instanceof Set ? columns.filter((name) => learnt.has(name)) : [];
	if (known.length > 0) return known;
	return columns.filter(
		(name) => row[name] === null || typeof row[name] === 'number' || typeof row[name] === 'boolean',
	);
}

export function trlRollout(record: unknown, context: RecordContext): readonly ForeignRollout[] | string {
	const row = fieldsOf(record);
	if (!row) return 'is not an object';
	const prompt = textOrMessages(row.prompt);
	const completion = textOrMessages(row.completion);
	if (prompt === null) return 'has no prompt';
	if (completion === null) return 'has no completion';
	const names = rewardColumns(row, context.learnt);
	const rewards = Object.fromEntries(names.map((name) => [name, scoreOf(row[name])]));
	const rest = Object.entries(row).filter(([name]) => !own.has(name) && !names.includes(name));
	return [
		{
			groupKey: typeof prompt === 'string' ? prompt : JSON.stringify(prompt),
			step: context.step ?? integerOf(row.step),
			prompt,
			completion,
			rewards,
			reward: 'reward' in row ? numberOf(row.reward) : sumOf(Object.values(rewards)),
			advantage: numberOf(row.advantage),
			...given('extra', extraOf(Object.fromEntries(rest))),
		},
	];
}

/** All rows of trainer_state.json; a row without a step is left out. */
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

/** Tags of the TensorBoard callback by the names of the trainer's own log. */
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
/** In the trainer's output folder, or in the folder of event files itself. */
const events = [`runs/**/${eventFileName}`, eventFileName];
/** What GRPO and its kin log and no other trainer does. */
const rewardTags = /train\/(?:rewards\/|completions\/|completion_length|frac_reward_zero_std)/;

async function newestState(folder: FolderView): Promise<unknown> {
	const newest = (await folder.find(checkpoints)).at(-1);
	return (await folder.json(last)) ?? (newest === undefined ? undefined : await folder.json(newest.path));
}

/** Names of the reward functions, as the metrics have them. */
async function rewardNames(folder: FolderView): Promise<Set<string>> {
	const names = new Set<string>();
	for (const entry of listOf(fieldsOf(await newestState(folder))?.log_history).slice(0, 200)) {
		for (const name of Object.keys(fieldsOf(entry) ?? {})) {
			const match = /^(?:eval_)?rewards\/(.+?)(?:\/(?:mean|std))?$/.exec(name);
			if (match?.[1] !== undefined) names.add(match[1]);
		}
	}
	return names;
}

async function describe(folder: FolderView): Promise<RunFacts> {
	const state = fieldsOf(await newestState(folder));
	const names = await rewardNames(folder);
	const total = integerOf(state?.max_steps);
	const config = fieldsOf(await folder.json('config.json')) ?? fieldsOf(await folder.json('adapter_config.json'));
	const model = textOf(config?.base_model_name_or_path) ?? textOf(config?._name_or_path);
	return {
		...(total !== null && total > 0 ? { totalSteps: total } : {}),
		...(model === null || model === '' ? {} : { versions: { model } }),
		...(names.size === 0 ? {} : { rewards: [...names].map((name) => ({ name, weight: 1 })) }),
	};
}

export const trl: RunFormat = {
	name: 'trl',
	title: 'TRL',
	looksFor:
		'completions/completions_N.parquet, trainer_state.json or checkpoint-N/trainer_state.json, or event files with train/rewards/',
	hasSteps: true,
	rollouts: [
		{
			pattern: 'completions/completions_{step}.parquet',
			form: 'parquet',
			split: 'train',
			grouping: 'consecutive',
			rollouts: trlRollout,
		},
	],
	metrics: [
		...events.map((pattern): MetricFiles => ({ pattern, form: 'events', metrics: callbackMetrics })),
		{ pattern: checkpoints, form: 'json', cumulative: true, metrics: trainerStateMetrics },
		{ pattern: last, form: 'json', metrics: trainerStateMetrics },
	],
	notes: [
		'TRL records no groups: completions of one prompt that follow each other are taken for one.',
		'TRL records no total reward and no weights: the reward is the sum of the reward functions that gave one.',
		'TRL writes completions of training and of evaluation under the same names: a step at which both ran may show those of the evaluation.',
		'A completions file holds the last generation batch of its step.',
	],
	learn: rewardNames,
	describe,
	async recognise(folder) {
		if (await folder.has('completions/completions_{step}.parquet')) return true;
		const states = [last, ...(await folder.some(checkpoints, 1)).map(({ path }) => path)];
		for (const path of states) if (/"log_history"/.test((await folder.head(path, 4096)) ?? '')) return true;
		for (const pattern of events) if (await namesTag(folder, pattern, rewardTags)) return true;
		return false;
	},
};
