import type { Message, RolloutLine } from '../../protocol/rolloutLine.ts';
import { leavesOf, pathTo, soundParents } from '../trace/branches.ts';
import { messageText } from '../trace/messageText.ts';

/**
 * The two text formats in TRL datasets. `standard` uses strings, which the trainer passes through unchanged.
 * `conversational` uses messages, to which the trainer applies the model's chat template. A policy trained on raw
 * prompts needs `standard`.
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

/** Returns the text format in which a rollout was recorded. */
export function recordedForm({ prompt, completion }: Pick<RolloutLine, 'prompt' | 'completion'>): TextForm {
	return typeof prompt === 'string' && typeof completion === 'string' ? 'standard' : 'conversational';
}

/** Message fields that chat templates read; all others are specific to the trainer. */
const kept = ['role', 'content', 'reasoning_content', 'tool_calls', 'tool_call_id', 'name'] as const;

function cleaned(messages: readonly Message[]): Message[] {
	return messages.map((message) => {
		const clean: Record<string, unknown> = {};
		for (const key of kept) if (message[key] !== undefined) clean[key] = message[key];
		return clean as Message;
	});
}

/** Returns the messages in a completion. If they branch, returns the path to the last message. */
function mainPath(messages: readonly Message[], parents: RolloutLine['parents']): readonly Message[] {
	if (parents === undefined) return messages;
	const sound = soundParents(parents, messages.length);
	const last = leavesOf(sound).at(-1);
	return last === undefined ? messages : pathTo(last, sound).map((i) => messages[i] as Message);
}

/** Converts a rollout to messages: a string becomes a user or assistant message. */
export function asMessages({ prompt, completion, parents }: RolloutLine): MessagePair | string {
	const asked = typeof prompt === 'string' ? [{ role: 'user', content: prompt }] : cleaned(prompt);
	const said =
		typeof completion === 'string'
			? [{ role: 'assistant', content: completion }]
			: cleaned(mainPath(completion, parents));
	if (said.length === 0) return 'without messages';
	if (!said.some(({ role }) => role === 'assistant')) return 'without an assistant message';
	return { prompt: asked, completion: said };
}

/**
 * Converts a rollout to strings. This requires a single message, because joining several would change what the model
 * saw.
 */
export function asTexts({ prompt, completion }: RolloutLine): TextPair | string {
	const asked = oneText(prompt, 'user');
	if (asked === null) return 'whose prompt has several messages (use the conversational format)';
	const said = oneText(completion, 'assistant');
	if (said === null) return 'whose completion has several messages (use the conversational format)';
	return { prompt: asked, completion: said };
}

function oneText(value: RolloutLine['prompt'], role: string): string | null {
	if (typeof value === 'string') return value;
	const [only] = value;
	if (only === undefined || value.length > 1 || only.role !== role) return null;
	return Array.isArray(only.tool_calls) && only.tool_calls.length > 0 ? null : messageText(value);
}
