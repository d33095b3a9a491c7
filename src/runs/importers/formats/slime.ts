import type { RolloutLine } from '../../../protocol/rolloutLine.ts';
import type { TimelineKind } from '../../../protocol/rolloutTimeline.ts';
import type { FolderView } from '../folderView.ts';
import { textOrMessages } from '../foreignMessages.ts';
import type { ForeignRollout } from '../foreignRecord.ts';
import {
	boundedValue,
	extraOf,
	type Fields,
	fieldsOf,
	given,
	integerOf,
	listOf,
	numberOf,
	numbersOf,
	scoreOf,
	scoresOf,
	textOf,
	versionOf,
	weightsSpan,
} from '../foreignValues.ts';
import type { AnnotationFiles, CompanionFile, RecordContext, RolloutFiles, RunFormat } from '../runFormat.ts';
import { type TimedActivity, timelineOf } from '../timeline.ts';
import { columnOf } from './contextParallel.ts';
import { conversationOf } from './loggedTraces.ts';

/*
 * Debug dumps from slime (slime/observability/rollout_data_utils.py) and its successor miles
 * (miles/ray/rollout/debug_data.py): one torch.save file per step with the samples as dictionaries. With
 * `--dump-details FOLDER`, they are in FOLDER/rollout_data; `--save-debug-rollout-data` can give them other names. The
 * data that slime trained on is in FOLDER/train_data (slime/observability/train_data_utils.py): a list of the same
 * samples, with per-token values for the response. miles (miles/utils/train_dump_utils.py) writes one file per rank
 * with the samples by column. Ranks in the same data-parallel group repeat each other's data, and those of earlier
 * pipeline stages have no log-probabilities. With context parallelism, a rank has the values of some tokens of a
 * response (contextParallel.ts).
 */

const names = ['rollout_data/{step}.pt', '{step}.pt', '{name}_{step}.pt'];
const evaluationNames = ['rollout_data/eval_{step}.pt', 'eval_{step}.pt', '{name}_eval_{step}.pt'];
const list = 'samples';

/** If a reward has several values, the one that was trained on has no standard name (`--reward-key`). */
const totals = ['score', 'reward'] as const;

function rewardsIn(reward: unknown): { readonly total: number | null; readonly parts: Record<string, number | null> } {
	const fields = fieldsOf(reward);
	if (fields === null) return { total: scoreOf(reward), parts: {} };
	const parts = scoresOf(fields);
	const [only, ...others] = Object.values(parts);
	const named = totals.find((name) => name in parts);
	return { total: named === undefined ? (others.length === 0 ? (only ?? null) : null) : (parts[named] ?? null), parts };
}

/** Per-token values computed by the trainer, keyed by our column names. */
const trainedColumns = [
	['oldLogprob', 'log_probs'],
	['refLogprob', 'ref_log_probs'],
	['entropy', 'entropy'],
	['advantage', 'advantages'],
] as const;

/** Training data of a sample, as recorded by one or more ranks. */
type Trained = readonly Fields[];

/** Returns the columns that have values for the tokens of a response. */
function trainedTokens(trained: Trained, length: number): Partial<NonNullable<RolloutLine['tokens']>> {
	const columns = trainedColumns.flatMap(([name, column]) => {
		const values = columnOf(trained, column, length);
		return values === null ? [] : [[name, values] as const];
	});
	return Object.fromEntries(columns);
}

/** Returns the advantage shared by all tokens, or null if it differs between tokens or is unknown for any of them. */
function advantageOf(trained: Trained, length: number | null): number | null {
	const [first = null, ...others] = (length === null ? null : columnOf(trained, 'advantages', length)) ?? [];
	return others.every((value) => value === first) ? first : null;
}

/**
 * Returns the version of the weights that generated each token, or null if it is uncertain. Each model call records a
 * version, and tokens between calls are masked. Consecutive calls without a token in between, as after an abort, cannot
 * be separated unless they have the same version.
 */
function versionsOfTokens(versions: readonly (number | null)[], trained: readonly boolean[]): (number | null)[] | null {
	const [first = null] = versions;
	if (first === null || versions.includes(null)) return null;
	const calls = trained.filter((own, i) => own && trained[i - 1] !== true).length;
	if (versions.every((version) => version === first)) return trained.map((own) => (own ? first : null));
	if (calls !== versions.length) return null;
	let call = -1;
	return trained.map((own, i) => {
		if (own && trained[i - 1] !== true) call++;
		return own ? (versions[call] ?? null) : null;
	});
}

/** Returns the oldest and the newest version of the weights that generated a sample. */
function weightsOf(versions: readonly (number | null)[]): Fields | null {
	const known = versions.filter((version) => version !== null).sort((a, b) => a - b);
	return known.length < versions.length ? null : weightsSpan(known[0], known.at(-1));
}

/**
 * Tokens of the response with the sampler's log-probabilities and the values computed by the trainer. The text of
 * individual tokens is not recorded.
 */
function tokensOf(sample: Fields, length: number | null, trained: Trained): RolloutLine['tokens'] | undefined {
	const ids = listOf(sample.tokens);
	if (length === null || length < 1 || ids.length < length) return undefined;
	const own = ids.slice(ids.length - length);
	const logprobs = numbersOf(sample.rollout_log_probs);
	const mask = listOf(sample.loss_mask);
	// Tokens from tools have a log-probability of 0.
	const isTrained = own.map((_, i) => mask.length !== length || mask[i] !== 0);
	const version = versionsOfTokens(listOf(sample.weight_versions).map(versionOf), isTrained);
	return {
		...trainedTokens(trained, length),
		text: own.map((id) => `#${String(integerOf(id) ?? '?')}`),
		...given('version', version),
		logprob: own.map((_, i) => (logprobs.length === length && isTrained[i] ? (logprobs[i] ?? null) : null)),
	};
}

/** Names of slime's spans (slime/rollout/sglang_rollout.py); custom functions can add others. */
function kindOf(name: string): TimelineKind {
	if (/generate$/.test(name)) return 'generation';
	if (/reward|_rm$/.test(name)) return 'scoring';
	return /tool|env/.test(name) ? 'tool' : 'other';
}

/** Spans of the sample's trace (slime/observability/trace_utils.py): a start and an end with the same id. */
function activitiesIn(trace: unknown): TimedActivity[] {
	const starts = new Map<string, TimedActivity>();
	for (const event of listOf(fieldsOf(trace)?.events).map(fieldsOf)) {
		const [type, name, id, time] = [event?.type, textOf(event?.name), textOf(event?.span_id), numberOf(event?.ts)];
		if (name === null || id === null || time === null) continue;
		// This span contains all others.
		if (name === 'generate_and_rm') continue;
		const known = starts.get(id);
		const attributes = fieldsOf(event?.attrs);
		if (type === 'span_start') starts.set(id, { kind: kindOf(name), name, start: time, end: null });
		else if (type === 'span_end' && known !== undefined) {
			const [tokens, error] = [numberOf(attributes?.completion_tokens), textOf(attributes?.error_message)];
			starts.set(id, { ...known, end: time, tokens, error });
		}
	}
	return [...starts.values()];
}

/** Returns the conversation that miles stores next to the samples, or that slime's agents keep in the metadata. */
function messagesIn(sample: Fields, trajectory: unknown): ReturnType<typeof conversationOf> {
	return conversationOf(trajectory ?? fieldsOf(sample.metadata)?.messages);
}

const errors: Readonly<Record<string, string>> = { failed: 'The sample failed.', aborted: 'The sample was aborted.' };

function rollout(
	sample: Fields,
	conversation: ReturnType<typeof conversationOf>,
	prompt: ForeignRollout['prompt'],
	trained: Trained,
): ForeignRollout {
	const { total, parts } = rewardsIn(sample.reward);
	const length = integerOf(sample.response_length);
	const status = textOf(sample.status);
	const group = integerOf(sample.group_index);
	const { messages: _, ...metadata } = fieldsOf(sample.metadata) ?? {};
	return {
		groupKey: group ?? (typeof prompt === 'string' ? prompt : JSON.stringify(prompt)),
		prompt: conversation?.prompt ?? prompt,
		completion: conversation?.completion || (textOf(sample.response) ?? ''),
		reward: total,
		rewards: parts,
		advantage: advantageOf(trained, length),
		truncated: status === null || status === 'pending' ? null : status === 'truncated',
		...given('row', integerOf(sample.index)),
		...given('answer', boundedValue(sample.label ?? null)),
		...given('tokens', tokensOf(sample, length, trained)),
		...given(
			'extra',
			extraOf({
				length,
				status: status === 'completed' || status === 'truncated' ? null : status,
				error: status === null ? null : (errors[status] ?? null),
				excluded: sample.remove_sample === true ? 'removed from training' : null,
				weights: weightsOf(listOf(sample.weight_versions).map(versionOf)),
				waited: numberOf(sample.non_generation_time) || null,
				metadata,
				timeline: timelineOf(activitiesIn(sample.trace)),
			}),
		),
	};
}

function sampleOf(record: unknown, { companion, annotations }: RecordContext): readonly ForeignRollout[] | string {
	const sample = fieldsOf(record);
	if (!sample) return 'is not an object';
	const prompt = textOrMessages(sample.prompt);
	if (prompt === null) return 'has no prompt';
	if (typeof sample.response !== 'string') return 'has no response';
	const key = String(sample.index);
	const trained = (annotations?.(key) ?? []).map(fieldsOf).filter((record) => record !== null);
	return [rollout(sample, messagesIn(sample, companion?.(key)), prompt, trained)];
}

/** Conversations by sample, stored by miles in a separate file. */
const trajectories = (pattern: string): CompanionFile => ({
	pattern,
	form: 'jsonl',
	*entries(record) {
		const row = fieldsOf(record);
		if (Array.isArray(row?.messages)) yield [String(row.sample_index), row.messages] as const;
	},
});

const trainData: AnnotationFiles = {
	patterns: ['train_data/{step}.pt', 'train_data/{step}_{rank}.pt'],
	form: 'torch',
	list: `${list}|rollout_data.sample_indices`,
	key(record) {
		const fields = fieldsOf(record);
		return (integerOf(fields?.sample_index) ?? integerOf(fields?.sample_indices))?.toString() ?? null;
	},
	keysOf: (record) => {
		const index = integerOf(fieldsOf(record)?.index);
		return index === null ? [] : [String(index)];
	},
};

const isEvaluation = (name: string | undefined) => name === 'eval' || name?.endsWith('_eval') === true;

function files(pattern: string, split: RolloutFiles['split']): RolloutFiles {
	const stem = split === 'train' ? '{step}' : 'eval_{step}';
	return {
		pattern,
		form: 'torch',
		list,
		split,
		...(split === 'train' ? { accepts: ({ name }) => !isEvaluation(name) } : {}),
		...(pattern.startsWith('rollout_data/') ? { companion: trajectories(`trajectory/${stem}.jsonl`) } : {}),
		...(split === 'train' && pattern.startsWith('rollout_data/') ? { annotations: trainData } : {}),
		rollouts: sampleOf,
	};
}

/** Returns whether a file starts like a dump of rollouts. Dumps of training data have other keys. */
async function isDump(folder: FolderView, path: string): Promise<boolean> {
	const head = (await folder.head(path, 4096)) ?? '';
	return (
		head.startsWith('PK') && /data\.pkl/.test(head) && /rollout_id.*samples/s.test(head) && !/format_version/.test(head)
	);
}

export const slime: RunFormat = {
	name: 'slime',
	title: 'slime and miles',
	looksFor: 'rollout_data/{N}.pt (--dump-details or --save-debug-rollout-data)',
	hasSteps: true,
	rollouts: [
		...names.map((pattern) => files(pattern, 'train')),
		...evaluationNames.map((pattern) => files(pattern, 'validation')),
	],
	metrics: [],
	notes: [
		'The files are pickles. They are read as data: code that they refer to is never run, and objects of unknown classes are shown by class name.',
		'If the reward has several values, the total is "score", "reward" or the only number; otherwise it is unknown.',
		'Tokens are recorded as ids. Advantages and the trainer’s log-probabilities are read from train_data (--dump-details). With context parallelism in miles, each rank has the values of only some tokens; tokens whose rank is missing have none.',
		'Metrics are not in these files; open the TensorBoard or W&B folder for them.',
	],
	async recognize(folder) {
		for (const pattern of [...names, ...evaluationNames]) {
			for (const { path } of await folder.some(pattern, 3)) if (await isDump(folder, path)) return true;
		}
		return false;
	},
};
