import * as v from 'valibot';
import { decode, type Schema } from '../../../src/protocol/decode.ts';
import type { RequestTable } from '../../../src/protocol/webviewMessages.ts';
import type { Alteration } from './webviewPage.ts';

/** A schema of any type, as described by its own fields. */
interface Described {
	readonly type: string;
	readonly wrapped?: Described;
	readonly entries?: Readonly<Record<string, Described>>;
	readonly rest?: Described;
	readonly item?: Described;
	readonly items?: readonly Described[];
	readonly key?: Described;
	readonly value?: Described;
	readonly options?: readonly Described[];
	readonly getter?: (input: unknown) => Described;
}

const anything: Described = v.unknown();
const anyText: Described = v.string();
const fits = (schema: Described, value: unknown): boolean => decode(schema as unknown as Schema<unknown>, value).ok;

/**
 * Replaces every string that a schema does not constrain, both values and record keys. Strings fixed by the schema
 * (types, states) remain, so the message is still valid. Equal strings get equal replacements, and different strings
 * different ones.
 */
export class TextReplacement {
	readonly #texts: readonly string[];
	readonly #begin: number;
	readonly #replaced = new Map<string, string>();
	readonly #originals = new Map<string, string>();

	/** @param begin index of the first text */
	constructor(texts: readonly string[], begin = 0) {
		this.#texts = texts;
		this.#begin = begin;
	}

	/** Number of distinct strings that were replaced. */
	get count(): number {
		return this.#originals.size;
	}

	apply(schema: v.GenericSchema, value: unknown): unknown {
		return this.#walk(schema as unknown as Described, value);
	}

	/** Restores the panel's original texts in what a page sends back. */
	undo(value: unknown): unknown {
		if (typeof value === 'string') return this.#originals.get(value) ?? value;
		if (Array.isArray(value)) return value.map((item) => this.undo(item));
		if (value === null || typeof value !== 'object' || value instanceof Uint8Array) return value;
		return fromEntries(Object.entries(value).map(([key, item]) => [key, this.undo(item)]));
	}

	#walk(schema: Described, value: unknown): unknown {
		if (typeof value === 'string') return this.#text(schema, value);
		if (value === null || typeof value !== 'object' || ArrayBuffer.isView(value)) return value;
		if (schema.wrapped) return this.#walk(schema.wrapped, value);
		if (schema.getter) return this.#walk(schema.getter(value), value);
		if (schema.options) return this.#walk(schema.options.find((option) => fits(option, value)) ?? anything, value);
		if (Array.isArray(value)) {
			return value.map((item, i) => this.#walk(schema.item ?? schema.items?.[i] ?? schema.rest ?? anything, item));
		}
		return fromEntries(
			Object.entries(value).map(([name, item]) => {
				const known = schema.entries?.[name];
				if (known) return [name, this.#walk(known, item)];
				const key = schema.entries ? name : this.#text(schema.key ?? anyText, name);
				return [key, this.#walk(schema.value ?? schema.rest ?? anything, item)];
			}),
		);
	}

	#text(schema: Described, value: string): string {
		const known = this.#replaced.get(value);
		if (known !== undefined && fits(schema, known)) return known;
		// Append a number to distinguish texts that differ only at the end, which a limit could truncate.
		const at = this.#begin + this.#replaced.size;
		const text = this.#texts[at % this.#texts.length] as string;
		const end = ` ${at}`;
		for (const limit of [Number.POSITIVE_INFINITY, 4000, 500, 200, 60]) {
			const next = text.length + end.length <= limit ? text + end : text.slice(0, limit - end.length) + end;
			if (!fits(schema, next)) continue;
			this.#replaced.set(value, next);
			this.#originals.set(next, value);
			return next;
		}
		return value;
	}
}

/** Replaces the texts in all messages between a panel and its page, according to the schemas of both. */
export function hostileMessages(
	events: v.GenericSchema,
	requests: RequestTable,
	replacement: TextReplacement,
): Alteration {
	return {
		toPage: (message, method) => {
			const sent = message as { kind: string; ok?: boolean; event?: unknown; result?: unknown; error?: unknown };
			if (sent.kind === 'event') return { ...sent, event: replacement.apply(events, sent.event) };
			const result = method === null ? undefined : requests[method]?.result;
			return sent.ok && result ? { ...sent, result: replacement.apply(result, sent.result) } : sent;
		},
		fromPage: (message) => replacement.undo(message),
	};
}

/** Like `Object.fromEntries`, but treats `__proto__` as a name like any other. */
function fromEntries(entries: readonly (readonly [string, unknown])[]): object {
	const made = {};
	for (const [name, value] of entries) {
		Object.defineProperty(made, name, { value, enumerable: true, writable: true, configurable: true });
	}
	return made;
}
