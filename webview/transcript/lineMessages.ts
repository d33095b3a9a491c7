import type { TranscriptMessage } from '../../src/core/transcript/transcript.ts';
import type { LineStore, StoredLine } from './lineStore.ts';

/**
 * Messages of a text that is loaded line by line. Until the text has been inspected, each line counts as one message.
 */
export class LineMessages {
	readonly #lines: LineStore;
	/** Line of each message; null if each line is one message. */
	readonly #lineOf: Int32Array | null;
	readonly count: number;

	/** @param inspected messages and lines found when the text was last inspected; null before the first time */
	constructor(
		lines: LineStore,
		inspected: { readonly lineOf: Int32Array | null; readonly messages: number; readonly lines: number } | null,
	) {
		this.#lines = lines;
		const appended = inspected === null ? lines.count : Math.max(0, lines.count - inspected.lines);
		this.#lineOf = inspected?.lineOf == null ? null : extended(inspected.lineOf, inspected.lines, appended);
		this.count = this.#lineOf?.length ?? lines.count;
	}

	/** Returns a message, or null if its line is being loaded. */
	at(index: number): TranscriptMessage | null {
		const line = this.#lines.get(this.#lineOf?.[index] ?? index);
		if (line === null) return null;
		const map = this.#lineOf;
		let within = 0;
		while (map !== null && index > within && map[index - within - 1] === map[index]) within++;
		const { messages } = line;
		if (map === null && messages.length > 1) return { ...joined(line), index };
		return { ...(messages[within] ?? unreadable(line)), index };
	}

	/** Returns the range of messages in a range of lines. */
	within(from: number, end: number): { readonly from: number; readonly end: number } {
		return this.#lineOf === null ? { from, end } : { from: this.first(from), end: this.first(end) };
	}

	/** Returns the first message in or after a line. */
	first(line: number): number {
		const map = this.#lineOf;
		if (map === null) return line;
		let [low, high] = [0, map.length];
		while (low < high) {
			const middle = (low + high) >> 1;
			if ((map[middle] as number) < line) low = middle + 1;
			else high = middle;
		}
		return low;
	}

	/** Returns a message's line. */
	lineOf(index: number): number {
		return this.#lineOf === null ? index : (this.#lineOf[index] ?? this.#lines.count);
	}
}

/** Lines appended after the inspection count as one message each. */
function extended(lineOf: Int32Array, lines: number, appended: number): Int32Array {
	if (appended === 0) return lineOf;
	const all = new Int32Array(lineOf.length + appended);
	all.set(lineOf);
	for (let i = 0; i < appended; i++) all[lineOf.length + i] = lines + i;
	return all;
}

function unreadable({ text, fault, number }: StoredLine): Omit<TranscriptMessage, 'index'> {
	return {
		...{ role: 'other', label: fault ?? '', name: null, text, thinking: '', calls: [], result: null, usage: null },
		...{ otherUsage: null, model: null, finishReason: null, attachments: [], contradictions: [] },
		place: { line: number, column: 1 },
	};
}

/** Merges a line's messages into one, because message numbers are unknown until the text has been inspected. */
function joined({ messages, number }: StoredLine): Omit<TranscriptMessage, 'index'> {
	const [first] = messages as [StoredLine['messages'][number]];
	return {
		...first,
		text: messages.map(({ text }) => text).join('\n\n'),
		calls: messages.flatMap(({ calls }) => calls),
		place: { line: number, column: 1 },
	};
}
