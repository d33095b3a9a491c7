import type { Message } from '../../../protocol/rolloutLine.ts';
import { rolloutSplits } from '../../../protocol/rolloutSplit.ts';
import { messageOf } from '../foreignMessages.ts';
import type { ForeignMetrics, ForeignRollout } from '../foreignRecord.ts';
import {
	extraOf,
	type Fields,
	fieldsOf,
	given,
	integerOf,
	listOf,
	numberOf,
	parsedJson,
	scoresOf,
	secondsOf,
	textOf,
	truncatedBy,
	weightsSpan,
} from '../foreignValues.ts';
import type { RecordContext, RolloutFiles, RunFormat } from '../runFormat.ts';
import { topKeys } from '../topKeys.ts';

/*
 * src/art/utils/trajectory_logging.py: Parquet with one trajectory per row (version 2 has a row without messages for a
 * group without trajectories); earlier versions wrote JSONL with one group per line, and before that a YAML file of
 * groups. src/art/model.py appends to history.jsonl.
 */

interface Turn {
	readonly message: Message;
	readonly trained: boolean;
	/** null: not recorded. */
	readonly truncated: boolean | null;
}

/** Reads a message, or a model choice that contains one. */
function turnOf(value: unknown): Turn | null {
	const fields = fieldsOf(value);
	const choice = fieldsOf(fields?.message);
	const message = messageOf(choice ?? fields);
	if (!message) return null;
	return {
		message,
		trained: choice !== null || fields?.trainable === true,
		truncated: truncatedBy(fields?.finish_reason),
	};
}

/** Parses a column or field that might be stored as JSON text; returns any other value unchanged. */
const opened = (value: unknown) => parsedJson(value) ?? value;

interface Trajectory {
	readonly turns: unknown;
	/** The same turns with data from their choices, if stored alongside. */
	readonly choices?: unknown;
	readonly reward: unknown;
	readonly metrics: unknown;
	readonly metadata: unknown;
	readonly logs: unknown;
	/** Versions of the policy at the start and at the end, if stored. */
	readonly versions: readonly [initial: unknown, final: unknown];
	readonly groupKey: string;
	readonly groupMetadata: unknown;
}

const versionsIn = (trajectory: Fields | null): Trajectory['versions'] => [
	trajectory?.initial_policy_version,
	trajectory?.final_policy_version,
];

function trajectoryRollout(from: Trajectory, context: RecordContext): ForeignRollout | string {
	const values = opened(from.turns);
	if (!Array.isArray(values)) return 'has no messages';
	const turns = values.map(turnOf).filter((turn) => turn !== null);
	if (turns.length < values.length) return 'has a message without a role';
	let first = turns.findIndex((turn) => turn.trained);
	if (first < 0) first = turns.findIndex((turn) => turn.message.role === 'assistant');
	const messages = turns.map((turn) => turn.message);
	const split = first < 0 ? messages.length : first;
	const measured = Object.entries(fieldsOf(opened(from.metrics)) ?? {});
	// Booleans rate the trajectory; quantities (turns, seconds) do not.
	const truths = Object.fromEntries(measured.filter(([, value]) => typeof value === 'boolean'));
	const metrics = Object.fromEntries(measured.filter(([, value]) => typeof value === 'number'));
	const { split: files } = context.parts;
	return {
		groupKey: files === undefined ? from.groupKey : `${files} ${from.groupKey}`,
		prompt: messages.slice(0, split),
		completion: messages.slice(split),
		rewards: scoresOf(truths),
		reward: numberOf(from.reward),
		truncated: turns.at(-1)?.truncated ?? turnOf(listOf(from.choices).at(-1))?.truncated ?? null,
		...(files === undefined || files === 'train' ? {} : { stage: files }),
		...given(
			'extra',
			extraOf({
				metrics,
				metadata: { ...fieldsOf(opened(from.groupMetadata)), ...fieldsOf(opened(from.metadata)) },
				logs: from.logs,
				weights: weightsSpan(...from.versions),
			}),
		),
	};
}

export function artRow(record: unknown, context: RecordContext): readonly ForeignRollout[] | string {
	const row = fieldsOf(record);
	if (!row) return 'is not an object';
	const whole = fieldsOf(opened(row.trajectory_json));
	const messages = row.messages ?? whole?.messages_and_choices ?? null;
	const reward = row.reward ?? whole?.reward ?? null;
	// A group whose trajectories all failed has a row too.
	if (messages === null && reward === null && row.group_index !== undefined) return [];
	const group = integerOf(row.group_index);
	if (group === null) return 'has no group_index';
	const rollout = trajectoryRollout(
		{
			turns: messages,
			choices: whole?.messages_and_choices,
			reward,
			metrics: row.metrics,
			metadata: row.metadata,
			logs: row.logs,
			versions: versionsIn(whole),
			groupKey: String(group),
			groupMetadata: row.group_metadata,
		},
		context,
	);
	return typeof rollout === 'string' ? rollout : [rollout];
}

function groupRollouts(group: Fields, key: string, context: RecordContext): readonly ForeignRollout[] | string {
	const rollouts: ForeignRollout[] = [];
	for (const entry of listOf(group.trajectories)) {
		const trajectory = fieldsOf(entry);
		if (!trajectory) return 'has a trajectory that is not an object';
		const rollout = trajectoryRollout(
			{
				turns: trajectory.messages_and_choices ?? trajectory.messages,
				reward: trajectory.reward,
				metrics: trajectory.metrics,
				metadata: trajectory.metadata,
				logs: trajectory.logs,
				versions: versionsIn(trajectory),
				groupKey: key,
				groupMetadata: group.metadata,
			},
			context,
		);
		if (typeof rollout === 'string') return rollout;
		rollouts.push(rollout);
	}
	return rollouts;
}

/** Reads one group, or all groups in a file. */
export function artGroups(record: unknown, context: RecordContext): readonly ForeignRollout[] | string {
	const groups = Array.isArray(record) ? record : [record];
	const rollouts: ForeignRollout[] = [];
	for (const [index, entry] of groups.entries()) {
		const group = fieldsOf(entry);
		if (!group || !Array.isArray(group.trajectories)) return 'has no trajectories';
		const found = groupRollouts(group, `${context.record}.${index}`, context);
		if (typeof found === 'string') return found;
		for (const rollout of found) rollouts.push(rollout);
	}
	return rollouts;
}

export function artHistory(record: unknown): readonly ForeignMetrics[] | string {
	const row = fieldsOf(record);
	if (!row) return 'is not an object';
	const step = integerOf(row.step) ?? integerOf(row.training_step);
	if (step === null) return 'has no step';
	const values = scoresOf(row, (name) => name !== 'step' && name !== 'training_step' && name !== 'recorded_at');
	return [{ step, time: secondsOf(row.recorded_at), values }];
}

const forms = [
	['parquet', 'parquet', artRow],
	['jsonl', 'jsonl', artGroups],
	['yaml', 'yaml', artGroups],
] as const;
const place = (ending: string) => `trajectories/{split}/{step}.${ending}`;

/** The newest format of a step takes precedence, because files in older formats were converted to it or are leftovers. */
const rollouts = rolloutSplits.flatMap((kind) =>
	forms.map(
		([ending, form, map], index): RolloutFiles => ({
			pattern: place(ending),
			form,
			split: kind,
			accepts: ({ split }) => (split === 'train') === (kind === 'train'),
			unlessThere: forms.slice(0, index).map(([other]) => place(other)),
			...(form === 'jsonl' ? { verbatim: 'messages' } : {}),
			rollouts: map,
		}),
	),
);

export const art: RunFormat = {
	name: 'art',
	title: 'ART',
	looksFor: 'trajectories/{split}/{step}.parquet, .jsonl or .yaml (.art/{project}/models/{name})',
	hasSteps: true,
	rollouts,
	metrics: [{ pattern: 'history.jsonl', form: 'jsonl', metrics: artHistory }],
	notes: [
		'Advantages and tokens are not recorded; some versions record whether a completion was truncated.',
		'Trajectory metrics are not part of the reward. Booleans are shown next to the reward, and numbers are kept.',
	],
	async recognize(folder) {
		if (await folder.has(place('parquet'))) return true;
		for (const [file] of [await folder.some(place('jsonl'), 1), await folder.some(place('yaml'), 1)]) {
			const text = (file && (await folder.head(file.path))) ?? '';
			if (topKeys(text).has('trajectories') || /^[-\s]\s*trajectories:/m.test(text)) return true;
		}
		return false;
	},
	async describe(folder) {
		const model = fieldsOf(await folder.json('model.json'));
		const base = textOf(model?.base_model);
		const name = textOf(model?.name);
		return { ...given('name', name), versions: base === null ? {} : { model: base } };
	},
};
