import type { ScoredMessage } from '../../protocol/scorer.ts';
import { parseTrace } from '../trace/parseTrace.ts';
import type { Trace, TraceTags } from '../trace/trace.ts';

/** Text written by the policy in one message of a conversation. */
export interface PolicyTurn {
	readonly completion: string;
	/** The text's sections, parsed on first access. */
	readonly trace: Trace;
}

/** Names of the policy's role in the formats of OpenAI, Gemini, LangChain and ShareGPT. */
const policyRoles: ReadonlySet<unknown> = new Set(['assistant', 'model', 'ai', 'gpt']);

/**
 * Returns the policy's turns in a completion that is a list of messages, in order. Excludes text from tools and users,
 * and tool calls, which trainers remove from the text. Reasoning from a separate field is put back into the template's
 * tags; without such tags, it is not part of the text.
 * @param messages from any trainer, so their fields can have any type
 */
export function policyTurns(messages: readonly ScoredMessage[], tags: TraceTags): PolicyTurn[] {
	return messages.filter((message) => policyRoles.has(message?.role)).map((message) => new WrittenTurn(message, tags));
}

class WrittenTurn implements PolicyTurn {
	readonly completion: string;
	readonly #tags: TraceTags;
	#trace: Trace | undefined;

	constructor({ content, reasoning_content: reasoning }: ScoredMessage, tags: TraceTags) {
		const text = textOf(content);
		this.#tags = tags;
		this.completion =
			tags.think !== null && typeof reasoning === 'string' && reasoning !== ''
				? `${tags.think[0]}${reasoning}${tags.think[1]}${text}`
				: text;
	}

	get trace(): Trace {
		this.#trace ??= parseTrace(this.completion, this.#tags);
		return this.#trace;
	}
}

/** Returns the text of a message, whose content can also be a list of blocks. */
function textOf(content: unknown): string {
	if (typeof content === 'string') return content;
	if (!Array.isArray(content)) return '';
	return content
		.map((block: { text?: unknown } | null) => (typeof block?.text === 'string' ? block.text : ''))
		.join('');
}
