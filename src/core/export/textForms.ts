import type { Message, RolloutLine } from '../../protocol/rolloutLine.ts';
import { leavesOf, pathTo, soundParents } from '../trace/branches.ts';
import { messageText } from '../trace/messageText.ts';

/**
 * The two forms of TRL's datasets: `standard`, strings to which the trainer adds nothing, and `conversational`,
 * messages to which it applies the chat template of the model. A policy trained on raw prompts needs the first.
 */
export const textForms = ['standard', 'conversational'] as const;
export type TextForm = (typeof textForms)[number];

export interface TextPair {
	readonly prompt: string;
	readonly completion: string;
}
export interface MessagePair {
	readonly prompt: readonly Message[];
	readonly completion: readonly Message[];
}

/** The form in which a rollout was recorded. */
export function recordedForm({ prompt, completion }: Pick<RolloutLine, 'prompt' | 'completion'>): TextForm {
	return typeof prompt === 'string' && typeof completion === 'string' ? 'standard' : 'conversational';
}

/** Message fields read by chat templates; others belong to the trainer. */
const kept = ['role', 'content', 'reasoning_content', 'tool_calls', 'tool_call_id', 'name'] as const;

function cleaned(messages: readonly Message[]): Message[] {
	return messages.map((message) => {
		const clean: Record<string, unknown> = {};
		for (const key of kept) if (message[key] !== undefined) clean[key] = message[key];
		return clean as Message;
	});
}

/** The messages of a completion; if they branch, the path to the last message. */
function mainPath(messages: readonly Message[], parents: RolloutLine['parents']): readonly Message[] {
	if (parents === undefined) return messages;
	const sound = soundParents(parents, messages.length);
	const last = leavesOf(sound).at(-1);
	return last === undefined ? messages : pathTo(last, sound).map((i) => messages[i] as Message);
}

/** Converts a rollout to messages: a string becomes a user or an assistant message. */
export function asMessages({ prompt, completion, parents }: RolloutLine): MessagePair | string {
	const asked = typeof prompt === 'string' ? [{ role: 'user', content: prompt }] : cleaned(prompt);
	const said =
		typeof completion === 'string'
			? [{ role: 'assistant', content: completion }]
			: cleaned(mainPath(completion, parents));
	if (said.length === 0) return 'without messages';
	if (!said.some(({ role }) => role === 'assistant')) return 'without a message of the assistant';
	return { prompt: asked, completion: said };
}

/**
 * Converts a rollout to strings; possible only if there is a single message, because joining several would change what
 * the model saw.
 */
export function asTexts({ prompt, completion }: RolloutLine): TextPair | string {
	const asked = oneText(prompt, 'user');
	if (asked === null) return 'whose prompt is several messages (choose the conversational form)';
	const said = oneText(completion, 'assistant');
	if (said === null) return 'whose completion is several messages (choose the conversational form)';
	return { prompt: asked, completion: said };
}

function oneText(value: RolloutLine['prompt'], role: string): string | null {
	if (typeof value === 'string') return value;
	const [only] = value;
	if (only === undefined || value.length > 1 || only.role !== role) return null;
	return Array.isArray(only.tool_calls) && only.tool_calls.length > 0 ? null : messageText(value);
}
