import { isDeepStrictEqual } from 'node:util';
import { judgingReward } from '../../../core/reward/correctness.ts';
import { LiteralReader } from '../../../core/transcript/pythonReader.ts';
import type { Message } from '../../../protocol/rolloutLine.ts';
import type { FolderView } from '../folderView.ts';
import { messageOf, textOrMessages } from '../foreignMessages.ts';
import type { ForeignMetrics, ForeignRollout } from '../foreignRecord.ts';
import {
	boundedValue,
	extraOf,
	type Fields,
	fieldsOf,
	given,
	integerOf,
	listOf,
	numberOf,
	scoresOf,
	textOf,
	versionOf,
	weightsSpan,
} from '../foreignValues.ts';
import { type GraphNode, splitGraph } from '../messageGraph.ts';
import type { RecordContext, RolloutFiles, RunEvidence, RunFormat } from '../runFormat.ts';

/* rllm/utils/episode_logger.py: one file per episode, in one folder per step, next to a summary. */

const places = ['episodes/', ''];
const episodes = (place: string, mode: string) => `${place}${mode}_step_{step}_epoch_{epoch}/episode_{name}.json`;

/** Reads a task; tasks that are not JSON are stored as their Python repr. */
function taskOf(value: unknown): Fields | null {
	const fields = fieldsOf(value);
	if (fields || typeof value !== 'string') return fields;
	const text = value.trim();
	if (!text.startsWith('{')) return null;
	try {
		return fieldsOf(new LiteralReader(text, 0, { limits: { depth: 50, values: 10_000 } }).value());
	} catch {
		return null;
	}
}

const questionKeys = ['question', 'instruction', 'prompt', 'problem', 'query'];
function questionOf(task: unknown): string {
	const fields = taskOf(task);
	for (const key of questionKeys) {
		const text = textOf(fields?.[key]);
		if (text !== null) return text;
	}
	return textOf(task) ?? (fields ? JSON.stringify(boundedValue(fields)) : '');
}

const answerOf = (task: Fields | null): unknown => {
	const metadata = fieldsOf(task?.metadata);
	return boundedValue(task?.ground_truth ?? task?.answer ?? metadata?.ground_truth ?? metadata?.answer ?? null);
};

/** Returns the conversation of a step: all earlier messages, followed by the model's response. */
function conversation(step: Fields, question: string): Message[] {
	const messages = listOf(step.chat_completions)
		.map(messageOf)
		.filter((message) => message !== null);
	const reply = textOf(step.model_response) ?? textOrMessages(step.output);
	if (messages.length > 0 && messages.at(-1)?.role === 'assistant') return messages;
	const asked = messages.length > 0 ? messages : [{ role: 'user', content: textOf(step.observation) ?? question }];
	return typeof reply === 'string' ? [...asked, { role: 'assistant', content: reply }] : asked;
}

/** The thinking in a message might be dropped when the message is sent to the model again. */
const same = (a: Message, b: Message) =>
	a.role === b.role && a.content === b.content && isDeepStrictEqual(calls(a), calls(b));
const calls = (message: Message) => message.tool_calls ?? null;

/** Builds the message graph: steps share prefixes, and a step that does not continue the previous one is a branch. */
function graphOf(steps: readonly Fields[], question: string): GraphNode[] {
	const nodes: { message: Message; parent: number | null; sampled: boolean }[] = [];
	const after = new Map<number | null, number[]>();
	for (const step of steps) {
		const messages = conversation(step, question);
		let parent: number | null = null;
		for (const [place, message] of messages.entries()) {
			const next: number | undefined = (after.get(parent) ?? []).find((index) =>
				same((nodes[index] as GraphNode).message, message),
			);
			const sampled = place === messages.length - 1 && message.role === 'assistant';
			if (next !== undefined) {
				const node = nodes[next];
				if (node && sampled) node.sampled = true;
				parent = next;
				continue;
			}
			nodes.push({ message, parent, sampled });
			const index = nodes.length - 1;
			const siblings = after.get(parent);
			if (siblings) siblings.push(index);
			else after.set(parent, [index]);
			parent = index;
		}
	}
	return nodes;
}

const cutOff = new Set([
	'max_response_length_exceeded',
	'max_prompt_length_exceeded',
	'max_turns_exceeded',
	'truncation',
]);

/** Returns the group, which is the part of an episode's id before the colon. */
function groupOf(episode: Fields, question: string): string {
	const id = textOf(episode.episode_id);
	if (id === null) return textOf(episode.task_hash) ?? question;
	const colon = id.lastIndexOf(':');
	return colon > 0 ? id.slice(0, colon) : id;
}

/** Returns the most common name of an episode's first trajectory in the run. */
const mainName = (learned: unknown): string | null =>
	(learned as { readonly main: string | null } | undefined)?.main ?? null;

/** Maximum number of episodes to check for names. */
const maxNamed = 16;

async function learnNames(folder: FolderView, evidence: RunEvidence): Promise<{ readonly main: string | null }> {
	const counts = new Map<string, number>();
	for (const place of places) {
		for (const { path } of await folder.some(episodes(place, '{mode}'), maxNamed)) {
			const [record] = await evidence.records(path, { form: 'json' }, 1);
			const name = textOf(fieldsOf(listOf(fieldsOf(record)?.trajectories)[0])?.name);
			if (name !== null) counts.set(name, (counts.get(name) ?? 0) + 1);
		}
	}
	const [first] = [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
	return { main: first?.[0] ?? null };
}

/** Adds the episode's own correctness if no metric records whether the answer is correct. */
function judged(metrics: Record<string, number | null>, correct: boolean | null): Record<string, number | null> {
	if (correct === null || judgingReward(metrics) !== null) return metrics;
	return { ...metrics, is_correct: Number(correct) };
}

/** Returns the versions of the weights that generated the steps; null if one of them is not recorded. */
function weightsOfSteps(steps: readonly (Fields | null)[]): Fields | null {
	const versions = steps.map((step) => versionOf(step?.weight_version));
	const known = versions.filter((version) => version !== null).sort((a, b) => a - b);
	return known.length < versions.length ? null : weightsSpan(known[0], known.at(-1));
}

export function rllmEpisode(record: unknown, context: RecordContext): readonly ForeignRollout[] | string {
	const episode = fieldsOf(record);
	if (!episode) return 'is not an object';
	if (!Array.isArray(episode.trajectories)) return 'has no trajectories';
	const task = taskOf(episode.task);
	const question = questionOf(episode.task);
	const group = groupOf(episode, question);
	const reason = textOf(episode.termination_reason);
	const correct = typeof episode.is_correct === 'boolean' ? episode.is_correct : null;
	const shared = {
		step: context.step ?? integerOf(episode.training_step),
		rewards: judged(scoresOf(episode.metrics), correct),
		truncated: reason === null || reason === '' ? null : cutOff.has(reason.toLowerCase()),
		...given('answer', answerOf(task)),
		...given('row', integerOf(task?.idx) ?? integerOf(task?.id) ?? textOf(task?.id) ?? textOf(episode.task_hash)),
	};
	const facts = { correct, stop: reason, metadata: episode.metadata };
	const trajectories = episode.trajectories.map(fieldsOf);
	if (trajectories.length === 0) {
		const extra = extraOf({ ...facts, failed: 'before its first message' });
		return [{ ...shared, groupKey: group, prompt: question, completion: '', reward: null, ...given('extra', extra) }];
	}
	const main = mainName(context.learned) ?? textOf(trajectories[0]?.name);
	const rollouts: ForeignRollout[] = [];
	for (const trajectory of trajectories) {
		if (!trajectory) return 'has a trajectory that is not an object';
		const steps = listOf(trajectory.steps).map(fieldsOf);
		if (steps.includes(null)) return 'has a step that is not an object';
		const { prompt, completion, parents } = splitGraph(
			graphOf(
				steps.filter((step) => step !== null),
				question,
			),
		);
		const name = textOf(trajectory.name);
		rollouts.push({
			...shared,
			// Solvers and judges answer different prompts, so they do not form one group. An episode without trajectories has
			// no known name and is assigned to the run's main name.
			groupKey: name === null || name === main ? group : `${name} ${group}`,
			prompt: prompt.length > 0 ? prompt : question,
			completion,
			reward: numberOf(trajectory.reward),
			...given('parents', parents),
			...given('extra', extraOf({ ...facts, agent: trajectory.name, weights: weightsOfSteps(steps) })),
		});
	}
	return rollouts;
}

export function rllmSummary(record: unknown, context: RecordContext): readonly ForeignMetrics[] | string {
	const summary = fieldsOf(record);
	const stats = fieldsOf(summary?.summary_stats);
	if (!summary || !stats) return 'has no summary_stats';
	const step = context.step ?? integerOf(summary.training_step);
	if (step === null) return 'has no step';
	const mode = context.parts.mode ?? textOf(summary.mode) ?? 'train';
	// Accuracy outside of training is what other trainers call held-out accuracy.
	const nameOf = (name: string) =>
		name === 'accuracy' && mode !== 'train' ? `eval/${mode}/accuracy` : `${mode}/${name}`;
	const values = Object.entries(scoresOf(stats)).map(([name, value]) => [nameOf(name), value] as const);
	return [{ step, time: null, values: Object.fromEntries(values) }];
}

export const rllm: RunFormat = {
	name: 'rllm',
	title: 'rLLM',
	looksFor: 'episodes/{mode}_step_{N}_epoch_{E}/episode_hash*_id*.json',
	hasSteps: true,
	rollouts: places.flatMap((place): RolloutFiles[] => [
		{
			pattern: episodes(place, 'train'),
			form: 'json',
			split: 'train',
			dependsOn: (_, learned) => mainName(learned) ?? '',
			rollouts: rllmEpisode,
		},
		{
			pattern: episodes(place, '{mode}'),
			form: 'json',
			split: 'validation',
			accepts: ({ mode }) => mode !== 'train',
			dependsOn: (_, learned) => mainName(learned) ?? '',
			rollouts: rllmEpisode,
		},
	]),
	metrics: places.map((place) => ({
		pattern: `${place}{mode}_step_{step}_epoch_{epoch}/batch_summary.json`,
		form: 'json',
		metrics: rllmSummary,
	})),
	notes: [
		'Every trajectory of an episode is a rollout; all trajectories with the same name for one task form a group.',
		'Episode metrics are shown with the rewards, but might not add up to the reward.',
		'Advantages and tokens are not recorded.',
	],
	learn: learnNames,
	async recognize(folder) {
		for (const place of places) if (await folder.has(episodes(place, '{mode}'))) return true;
		return false;
	},
};
