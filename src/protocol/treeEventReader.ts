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

/** Fills in what may be left out; the order of fields does not matter to anybody. */
function orElse(fields: Fields, name: string, value: unknown): void {
	if (fields[name] === undefined) fields[name] = value;
}

/** The events of which a log has very many, when they are as the schema has them: null sends them to the schema. */
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
			if (!isTextOrAbsent(event.finish) || !isTextOrAbsent(event.label) || event.data !== undefined) return null;
			if (!isNumberOrNothing(event.logprob) || !isNumberOrNothing(event.prior)) return null;
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
 * An event as `treeEventSchema` reads it, with the frequent kinds checked by hand: a log of a large tree has several hundred
 * thousand. The value belongs to the reader, which fills in defaults; null: it is no event of a tree log.
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
 * Events as they cross to a view: JSON lines, which go as UTF-8 bytes and cost a process less than so many objects.
 */
export function treeEventLines(events: readonly TreeEvent[]): string {
	return events.map((event) => JSON.stringify(event)).join('\n');
}

/** As many events as there are lines; in place of one that is none stands a `fault`, so that the others keep their numbers. */
export function readTreeEventLines(lines: string): TreeEvent[] {
	if (lines === '') return [];
	let values: unknown[];
	try {
		// One call of the parser for all of them is a good deal quicker than one for each.
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
