import type { FolderView } from '../folderView.ts';
import type { ForeignMetrics, ForeignRollout } from '../foreignRecord.ts';
import { boundedValue, extraOf, fieldsOf, given, integerOf, numberOf, scoresOf, textOf } from '../foreignValues.ts';
import type { RecordContext, RunFormat } from '../runFormat.ts';
import { topKeys } from '../topKeys.ts';

/*
 * verl/trainer/ppo/ray_trainer.py, `_dump_generations`: `input`, `output`, `gts`, `score`, `step` and any other values
 * that the reward function returns. verl/utils/tracking.py, `FileLogger`: `{ step, data }`.
 */

const own = new Set(['input', 'output', 'gts', 'score', 'step', 'reward', 'request_id']);
const isScore = (value: unknown) => value === null || typeof value === 'number' || typeof value === 'boolean';

export function verlRollout(record: unknown, context: RecordContext): readonly ForeignRollout[] | string {
	const row = fieldsOf(record);
	if (!row) return 'is not an object';
	const prompt = textOf(row.input);
	const completion = textOf(row.output);
	if (prompt === null) return 'has no input';
	if (completion === null) return 'has no output';
	if (row.score === undefined) return 'has no score';
	const beside = Object.entries(row).filter(([name]) => !own.has(name));
	return [
		{
			groupKey: prompt,
			step: context.step ?? integerOf(row.step),
			prompt,
			completion,
			rewards: scoresOf(row, (name) => !own.has(name)),
			reward: numberOf(row.score),
			...given('answer', boundedValue(row.gts ?? null)),
			...given('extra', extraOf(Object.fromEntries(beside.filter(([, value]) => !isScore(value))))),
		},
	];
}

export function verlMetrics(record: unknown): readonly ForeignMetrics[] | string {
	const row = fieldsOf(record);
	const data = fieldsOf(row?.data);
	const step = integerOf(row?.step);
	if (!data) return 'has no data';
	if (step === null) return 'has no step';
	return [{ step, time: null, values: scoresOf(data) }];
}

const isValidation = (folder: string) =>
	/(^|[_.-])(val|eval|test|held_?out)/i.test(folder) || /validation/i.test(folder);

type Keys = ReadonlySet<string>;
const isRollout = (keys: Keys) => keys.has('input') && keys.has('output') && keys.has('score');
const isLogged = (keys: Keys) => keys.size === 2 && keys.has('step') && keys.has('data');

/** Maximum number of subfolders to check for rollouts or logs. */
const maxFolders = 20;

async function holds(folder: FolderView, pattern: string, fits: (keys: Keys) => boolean): Promise<boolean> {
	for (const file of await folder.some(pattern, 5)) {
		if (fits(topKeys((await folder.head(file.path)) ?? ''))) return true;
	}
	return false;
}

/** The rollout, validation and metrics folders are trainer settings, so file names are checked instead. */
export const verl: RunFormat = {
	name: 'verl',
	title: 'verl',
	looksFor:
		'JSONL files named by step with input, output and score in their rows (trainer.rollout_data_dir), or the log of its file logger',
	hasSteps: true,
	anyFolder: true,
	rollouts: [
		{ pattern: '{step}.jsonl', form: 'jsonl', split: 'train', verbatim: 'text', rollouts: verlRollout },
		{
			pattern: '{folder}/{step}.jsonl',
			form: 'jsonl',
			split: 'train',
			accepts: ({ folder }) => !isValidation(folder ?? ''),
			// Rollouts of the same step in the folder itself come first, because only one of them can be the run's.
			unlessThere: ['{step}.jsonl'],
			verbatim: 'text',
			rollouts: verlRollout,
		},
		{
			pattern: '{folder}/{step}.jsonl',
			form: 'jsonl',
			split: 'validation',
			accepts: ({ folder }) => isValidation(folder ?? ''),
			verbatim: 'text',
			rollouts: verlRollout,
		},
	],
	metrics: ['{name}.jsonl', '{folder}/{name}.jsonl'].map((pattern) => ({
		pattern,
		form: 'jsonl',
		accepts: ({ name }) => !/^\d+$/.test(name ?? ''),
		metrics: verlMetrics,
	})),
	notes: [
		'verl writes no group id: rollouts with the same step and input form a group, in any order.',
		'Other values returned by the reward function are shown with the rewards, but might not add up to the score.',
		'Prompts and completions are decoded without special tokens, so roles and tool turns appear as plain text.',
		'Advantages, tokens and truncation are not recorded.',
	],
	async recognize(folder) {
		for (const { name, fits } of kinds) if (await holds(folder, name, fits)) return true;
		for (const { name, fits } of kinds) {
			const folders = await foldersThatHold(folder, `{folder}/${name}`, fits);
			// Several such folders are several runs, each of which must be opened separately.
			if (folders.filter((path) => !isValidation(path)).length > 1) return false;
			if (folders.length > 0) return true;
		}
		return false;
	},
};

const kinds = [
	{ name: '{step}.jsonl', fits: isRollout },
	{ name: '{name}.jsonl', fits: isLogged },
] as const;

async function foldersThatHold(
	folder: FolderView,
	pattern: string,
	fits: (keys: Keys) => boolean,
): Promise<readonly string[]> {
	const found: string[] = [];
	for (const [path, files] of await folder.byFolder(pattern, maxFolders)) {
		for (const file of files) {
			if (!fits(topKeys((await folder.head(file)) ?? ''))) continue;
			found.push(path);
			break;
		}
	}
	return found;
}
