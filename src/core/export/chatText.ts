import type { Message, RolloutLine } from '../../protocol/rolloutLine.ts';

/*
 * Trainers record prompts as the text produced by a chat template, often without special tokens: "user\nWhat is
 * 1+1?\nassistant\n". Such text cannot be used as a training prompt, because the template would then be applied twice.
 */

/** A chat template format, defined by the markers around each message. */
interface ChatForm {
	/** Text allowed before the first message. */
	readonly start: RegExp;
	/** Start of a message; the first group is the role. */
	readonly opens: RegExp;
	/** Text between the end of a message's content and the next message. */
	readonly closes: string;
}

const roles = '(system|developer|user|assistant|model|tool|ipython)';
/** ChatML (Qwen), Llama 3, and Gemma, with and without special tokens. */
const forms: readonly ChatForm[] = [
	{ start: /^/, opens: new RegExp(`<\\|im_start\\|>${roles}\\n`, 'g'), closes: '<|im_end|>\n' },
	{
		start: /^(?:<\|begin_of_text\|>)?/,
		opens: new RegExp(`<\\|start_header_id\\|>${roles}<\\|end_header_id\\|>\\n\\n`, 'g'),
		closes: '<|eot_id|>',
	},
	{ start: /^(?:<bos>)?/, opens: new RegExp(`<start_of_turn>${roles}\\n`, 'g'), closes: '<end_of_turn>\n' },
	{ start: /^/, opens: new RegExp(`(?<=^|\\n)${roles}\\n(?!\\n)`, 'g'), closes: '\n' },
	{ start: /^/, opens: new RegExp(`${roles}\\n\\n`, 'g'), closes: '' },
];

/** Text that some templates add at the start of the completion: an open or empty thinking block. */
const opening = /^(?:<think>\s*(?:<\/think>\s*)?)?$/;
const ends = /(?:<\|im_end\|>|<\|eot_id\|>|<end_of_turn>|<\|endoftext\|>|<\/s>|<eos>)\s*$/;

interface Chat {
	readonly messages: readonly Message[];
	readonly opening: string;
}

/**
 * Parses the messages in a templated prompt. Returns 'unclear' if the message boundaries are ambiguous, and null if the
 * text is not templated.
 */
export function chatOfText(text: string): Chat | 'unclear' | null {
	let unclear = false;
	for (const form of forms) {
		const chat = chatIn(text, form);
		if (chat === 'unclear') unclear = true;
		else if (chat !== null) return chat;
	}
	return unclear ? 'unclear' : null;
}

function chatIn(text: string, { start, opens, closes }: ChatForm): Chat | 'unclear' | null {
	const from = start.exec(text)?.[0].length ?? 0;
	const starts = [...text.matchAll(opens)];
	const [first, last] = [starts[0], starts.at(-1)];
	if (first === undefined || last === undefined || first === last || first.index !== from) return null;
	const rest = text.slice(last.index + last[0].length);
	if (roleOf(last) !== 'assistant' || !opening.test(rest)) return null;
	const messages: Message[] = [];
	for (const [i, one] of starts.slice(0, -1).entries()) {
		const content = text.slice(one.index + one[0].length, starts[i + 1]?.index);
		if (!content.endsWith(closes)) return 'unclear';
		messages.push({ role: roleOf(one), content: content.slice(0, content.length - closes.length) });
	}
	return takeTurns(messages.map(({ role }) => role)) ? { messages, opening: rest } : 'unclear';
}

function roleOf(match: RegExpExecArray): string {
	const role = match[1] as string;
	return role === 'model' ? 'assistant' : role === 'ipython' ? 'tool' : role;
}

/** Returns whether the roles form a prompt: instructions first, then alternating turns, ending before the assistant. */
function takeTurns(all: readonly string[]): boolean {
	const turns = all[0] === 'system' || all[0] === 'developer' ? all.slice(1) : all;
	if (turns[0] !== 'user') return false;
	return turns.every((role, i) => {
		const before = turns[i - 1];
		if (role === 'user') return before === undefined || before === 'assistant';
		if (role === 'assistant') return i < turns.length - 1 && (before === 'user' || before === 'tool');
		return role === 'tool' && (before === 'assistant' || before === 'tool');
	});
}

type Texts = Pick<RolloutLine, 'prompt' | 'completion'>;

/**
 * Converts a prompt and completion to messages if the prompt was produced by a chat template. Returns a reason if the
 * rollout must be skipped.
 */
export function withMessages({ prompt, completion }: Texts): Texts | string {
	if (typeof prompt !== 'string' || typeof completion !== 'string') return { prompt, completion };
	const chat = chatOfText(prompt);
	if (chat === null) return { prompt, completion };
	if (chat === 'unclear') return 'whose chat prompt cannot be split into messages';
	const said = `${chat.opening}${completion.replace(ends, '')}`;
	return { prompt: [...chat.messages], completion: [{ role: 'assistant', content: said }] };
}
