import { parseLooseJson } from '../../files/looseJson.ts';
import { fieldsOf } from './protobuf.ts';

/* Records of W&B transaction logs (wandb/proto/wandb_internal.proto). */

/** A record of a supported kind; all others are skipped. */
export type WandbRecord =
	/** Values logged together. Keys of nested values are joined by dots. */
	| { readonly kind: 'history'; readonly step: number | null; readonly values: Readonly<Record<string, unknown>> }
	| {
			readonly kind: 'run';
			readonly project: string;
			readonly name: string;
			/** Seconds since the epoch. */
			readonly started: number | null;
	  }
	| { readonly kind: 'exit'; readonly code: number };

const decoder = new TextDecoder('utf-8');
const recordFields = { history: 2, run: 17, exit: 18 } as const;

/** Fails with an Error whose message is a sentence fragment. */
export function wandbRecord(bytes: Uint8Array): WandbRecord | null {
	for (const field of fieldsOf(bytes)) {
		if (field.kind !== 'bytes') continue;
		if (field.number === recordFields.history) return historyOf(field.value);
		if (field.number === recordFields.run) return runOf(field.value);
		if (field.number === recordFields.exit) return { kind: 'exit', code: numberIn(field.value, 1) ?? 0 };
	}
	return null;
}

function historyOf(bytes: Uint8Array): WandbRecord {
	let step: number | null = null;
	const values: [string, unknown][] = [];
	for (const field of fieldsOf(bytes)) {
		if (field.kind !== 'bytes') continue;
		if (field.number === 1) values.push(itemOf(field.value));
		else if (field.number === 2) step = numberIn(field.value, 1) ?? 0;
	}
	return { kind: 'history', step, values: Object.fromEntries(values.filter(([key]) => key !== '__proto__')) };
}

/** HistoryItem: a key (or the parts of a nested key) and a JSON value. */
function itemOf(bytes: Uint8Array): [string, unknown] {
	let key = '';
	const nested: string[] = [];
	let json = '';
	for (const field of fieldsOf(bytes)) {
		if (field.kind !== 'bytes') continue;
		if (field.number === 1) key = decoder.decode(field.value);
		else if (field.number === 2) nested.push(decoder.decode(field.value));
		else if (field.number === 16) json = decoder.decode(field.value);
	}
	try {
		return [nested.length > 0 ? nested.join('.') : key, parseLooseJson(json)];
	} catch {
		throw new Error(`the value of "${key || nested.join('.')}" is invalid JSON`);
	}
}

function runOf(bytes: Uint8Array): WandbRecord {
	const texts = new Map<number, string>();
	let started: number | null = null;
	for (const field of fieldsOf(bytes)) {
		if (field.kind !== 'bytes') continue;
		if (field.number === 17) started = numberIn(field.value, 1);
		else if (field.number === 1 || field.number === 3 || field.number === 8) {
			texts.set(field.number, decoder.decode(field.value));
		}
	}
	return { kind: 'run', project: texts.get(3) ?? '', name: texts.get(8) || (texts.get(1) ?? ''), started };
}

/** Returns an integer field; null if it is absent. Protobuf omits zeros. */
function numberIn(bytes: Uint8Array, number: number): number | null {
	for (const field of fieldsOf(bytes)) if (field.number === number && field.kind === 'varint') return field.value;
	return null;
}
