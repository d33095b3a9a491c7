import { LiteralReader } from './pythonReader.ts';
import { isMessage } from './readMessage.ts';
import type { Place } from './transcript.ts';

export interface FoundList {
	readonly values: readonly { readonly value: unknown; readonly place: Place }[];
	readonly place: Place;
	/** UTF-16 offset in the text. */
	readonly offset: number;
	/** Error message and position if the list is incomplete; otherwise null. */
	readonly fault: { readonly message: string; readonly place: Place } | null;
}

/**
 * Matches positions where a message list can start: before a message constructor, or before an object that specifies a
 * role.
 */
const opening =
	/\[\s*(?=(?:[\w.]{0,80}Message(?:Chunk)?\()|\{\s*(?:'(?:role|type|content|from)'|"(?:role|type|content|from)")\s*:)/g;

/** Maximum number of failed starts. Text with more failures is not a chat log. */
const maxFailures = 1000;

/**
 * Finds message lists anywhere in the text, as printed by Python or as incomplete JSON. Each list extends to its end or
 * to the first error. Takes linear time, because no text is parsed twice.
 * @param json whether the text as a whole starts like JSON
 */
export function* findLists(text: string, json: boolean): Generator<FoundList> {
	const places = new Places(text);
	let failures = 0;
	for (let from = 0; failures < maxFailures; ) {
		opening.lastIndex = from;
		const match = opening.exec(text);
		if (match === null) return;
		const place = places.at(match.index);
		const reader = new LiteralReader(text, match.index, { dialect: json ? 'json' : 'python' });
		const values: { value: unknown; place: Place }[] = [];
		let messages = 0;
		const fault = reader.list((value, offset) => {
			values.push({ value, place: places.at(offset) });
			if (isMessage(value)) messages++;
			return true;
		});
		from = Math.max(match.index + 1, fault === null ? reader.offset : fault.offset);
		if (messages === 0) {
			failures++;
			if (fault !== null)
				yield {
					values: [],
					place,
					offset: match.index,
					fault: { message: fault.message, place: places.at(fault.offset) },
				};
			continue;
		}
		yield {
			values,
			place,
			offset: match.index,
			fault: fault === null ? null : { message: fault.message, place: places.at(fault.offset) },
		};
	}
}

/** Converts offsets to lines and columns. If offsets are requested in ascending order, the text is read only once. */
class Places {
	readonly #text: string;
	#line = 1;
	#start = 0;

	constructor(text: string) {
		this.#text = text;
	}

	at(offset: number): Place {
		if (offset < this.#start) {
			this.#line = 1;
			this.#start = 0;
		}
		for (;;) {
			const feed = this.#text.indexOf('\n', this.#start);
			if (feed === -1 || feed >= offset) return { line: this.#line, column: offset - this.#start + 1 };
			this.#line++;
			this.#start = feed + 1;
		}
	}
}
