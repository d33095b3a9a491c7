import { parseBoundedJson } from '../base/boundedJson.ts';
import { decode } from './decode.ts';
import { nodeRoles, type TreeEvent, treeEventSchema } from './treeLog.ts';

type Fields = Record<string, unknown>;

const roles: ReadonlySet<unknown> = new Set(nodeRoles);

const isId = (value: unknown): boolean => Number.isInteger(value) && (value as number) >= 0;
const isNumber = (value: unknown): value is number => typeof value === 'number' && !Number.isNaN(value);
const isText = (value: unknown): value is string => typeof value === 'string';
const isNumberOrNothing = (value: unknown): boolean => value === undefined || value === null || isNumber(value);
const isTextOrAbsent = (value: unknown): boolean => value === undefined || isText(value);

function isListOf(value: unknown, is: (item: unknown) => boolean): boolean {
	if (!Array.isArray(value)) return false;
	for (let i = 0; i < value.length; i++) if (!is(value[i])) return false;
	return true;
}

const isCandidate = (value: unknown): boolean =>
	typeof value === 'object' && value !== null && isId((value as Fields).id) && isNumber((value as Fields).value);

/** Fills in a default for an omitted field; field order does not matter to readers. */
function orElse(fields: Fields, name: string, value: unknown): void {
	if (fields[name] === undefined) fields[name] = value;
}

/** Reads the most frequent event types if they match the schema; returns null for events that need the schema. */
function readFrequent(event: Fields): TreeEvent | null {
	if (!isNumber(event.at)) return null;
	switch (event.t) {
		case 'node': {
			if (!isId(event.id) || !isListOf(event.parents, isId) || !isText(event.text)) return null;
			if (event.role !== undefined && !roles.has(event.role)) return null;
			if (event.final !== undefined && typeof event.final !== 'boolean') return null;
			if (event.fresh !== undefined && typeof event.fresh !== 'boolean') return null;
			if (event.answer !== undefined && event.answer !== null && !isText(event.answer)) return null;
			if (event.by !== undefined && event.by !== 'policy' && event.by !== 'person') return null;
			if (event.written !== undefined && !isId(event.written)) return null;
			if (!isTextOrAbsent(event.finish) || !isTextOrAbsent(event.label) || event.data !== undefined) return null;
			if (!isNumberOrNothing(event.logprob) || !isNumberOrNothing(event.prior)) return null;
			if (!isNumberOrNothing(event.reward)) return null;
			if (!isNumberOrNothing(event.tokens) || !isNumberOrNothing(event.entropy)) return null;
			orElse(event, 'role', 'thought');
			orElse(event, 'final', false);
			orElse(event, 'answer', null);
			orElse(event, 'by', 'policy');
			return event as unknown as TreeEvent;
		}
		case 'score':
			if (!isId(event.id) || !isText(event.scorer) || !isTextOrAbsent(event.note)) return null;
			return event.value === null || isNumber(event.value) ? (event as unknown as TreeEvent) : null;
		case 'visit':
			if (!isListOf(event.path, isId) || !isListOf(event.values, isNumber)) return null;
			orElse(event, 'times', 1);
			return isId(event.times) && event.times !== 0 ? (event as unknown as TreeEvent) : null;
		case 'select':
			if (!isListOf(event.path, isId)) return null;
			return event.candidates === undefined || isListOf(event.candidates, isCandidate)
				? (event as unknown as TreeEvent)
				: null;
		default:
			return null;
	}
}

/**
 * Reads an event with the same result as `treeEventSchema`, but checks the frequent types by hand because the log of a
 * large tree has several hundred thousand events. The reader takes ownership of the value and fills in defaults.
 * Returns null if the value is not a tree log event.
 */
export function readTreeEvent(value: unknown): TreeEvent | null {
	if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
	const frequent = readFrequent(value as Fields);
	if (frequent !== null) return frequent;
	const decoded = decode(treeEventSchema, value);
	return decoded.ok ? decoded.value : null;
}

const unreadable = (): TreeEvent => ({
	t: 'fault',
	at: 0,
	id: null,
	part: 'search',
	message: 'An event could not be read.',
});

/**
 * Encodes events for a view as JSON lines. Sending them to another process as UTF-8 bytes is cheaper than sending
 * objects.
 */
export function treeEventLines(events: readonly TreeEvent[]): string {
	return events.map((event) => JSON.stringify(event)).join('\n');
}

/** Reads one event per line. An invalid event becomes a `fault`, so that the other events keep their positions. */
export function readTreeEventLines(lines: string): TreeEvent[] {
	if (lines === '') return [];
	let values: unknown[];
	try {
		// Parsing all lines in one call is considerably faster than one call per line.
		values = parseBoundedJson(`[${lines.replaceAll('\n', ',')}]`) as unknown[];
	} catch {
		values = lines.split('\n').map(parsed);
	}
	return values.map((value) => readTreeEvent(value) ?? unreadable());
}

function parsed(line: string): unknown {
	try {
		return parseBoundedJson(line);
	} catch {
		return null;
	}
}
