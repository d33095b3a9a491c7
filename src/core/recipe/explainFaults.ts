import * as v from 'valibot';
import type { KeyFacts } from '../../protocol/recipeKeys/recipeKey.ts';
import type { PathFault } from './checkRecipe.ts';
import { addFix, convertFix, removeFix, renameFix, setFix } from './recipeFix.ts';
import { suggest } from './suggest.ts';

/** The parts of a valibot schema that this module traverses. */
interface Node {
	readonly type: string;
	readonly message?: unknown;
	readonly entries?: Readonly<Record<string, Node>>;
	readonly wrapped?: Node;
	readonly item?: Node;
	readonly key?: string;
	readonly options?: readonly unknown[];
	readonly literal?: unknown;
	readonly pipe?: readonly unknown[];
	readonly facts?: KeyFacts;
}
type Path = PathFault['path'];

/** Returns how error messages refer to a path. */
function nameOf(path: Path): string {
	const last = path.at(-1);
	if (last === undefined) return 'The recipe';
	return typeof last === 'string' ? `"${last}"` : `Entry ${last + 1} of "${path.at(-2)}"`;
}

function shown(value: unknown): string {
	const text = JSON.stringify(value) ?? String(value);
	return text.length <= 40 ? text : `${text.slice(0, 37)}...`;
}

function isObject(value: unknown): value is Record<string, unknown> {
	return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Removes optional wrappers from a schema; a pipe keeps its rules. */
function unwrap(node: Node): Node {
	return node.wrapped === undefined ? node : unwrap(node.wrapped);
}

/**
 * Reports valibot's issues for this path itself, such as those for a scalar or an entire list, but not for nested
 * paths.
 */
function ownFaults(node: Node, value: unknown, path: Path, out: PathFault[]): void {
	const result = v.safeParse(node as unknown as v.GenericSchema, value);
	if (result.success) return;
	const issue = result.issues.find((one) => one.path === undefined) ?? result.issues[0];
	const isOurs = /^(must|needs) /.test(issue.message);
	const words = isOurs ? issue.message : `must be ${issue.expected ?? 'a different value'}`;
	const given = isObject(value) || Array.isArray(value) || words.startsWith('needs') ? '' : `, not ${shown(value)}`;
	const fix = convertFix(node as unknown as v.GenericSchema, value, path);
	out.push({ path, message: `${nameOf(path)} ${words}${given}.`, ...(fix === null ? {} : { fix }) });
}

/** Returns the key that goes by this name in other trainers' configurations, or null if there is none. */
function knownByOtherName(
	name: string,
	known: readonly string[],
	entries: NonNullable<Node['entries']>,
): string | null {
	const plain = name.toLowerCase().replaceAll('-', '_');
	return known.find((key) => entries[key]?.facts?.alsoCalled?.includes(plain)) ?? null;
}

/** Counts how many of a value's keys an object schema has. Near misses count as half. */
function likeness(option: Node, value: Record<string, unknown>): number {
	const known = Object.keys(option.entries ?? {});
	let score = 0;
	for (const key of Object.keys(value)) score += known.includes(key) ? 1 : suggest(key, known) !== null ? 0.5 : 0;
	return score;
}

function explainObject(node: Node, value: Record<string, unknown>, path: Path, out: PathFault[]): void {
	const entries = node.entries ?? {};
	const known = Object.keys(entries);
	const mistyped = new Set<string>();
	for (const key of Object.keys(value)) {
		const entry = Object.hasOwn(entries, key) ? (entries[key] as Node) : undefined;
		if (entry !== undefined) {
			explain(entry, value[key], [...path, key], out);
			continue;
		}
		const free = known.filter((name) => !Object.hasOwn(value, name));
		const near = suggest(key, free) ?? knownByOtherName(key, free, entries);
		if (near !== null) mistyped.add(near);
		const list = known.filter((name) => name !== '$schema').join(', ');
		const advice = near === null ? `remove it (valid keys: ${list})` : `did you mean "${near}"?`;
		out.push({
			path: [...path, key],
			message: `"${key.slice(0, 80)}" is not a valid key: ${advice}${near === null ? '.' : ''}`,
			fix: near === null ? removeFix([...path, key]) : renameFix([...path, key], near),
		});
	}
	for (const [key, entry] of Object.entries(entries)) {
		// Do not also report a misspelled key as missing.
		if (Object.hasOwn(value, key) || isOptional(entry) || mistyped.has(key)) continue;
		const description = v.getDescription(entry as unknown as v.GenericSchema);
		const what = description === undefined ? '' : `: ${description.replace(/\.$/, '')}`;
		const where = path.length === 0 ? 'The recipe' : nameOf(path);
		const message = `${where} is missing "${key}". Add it${what === '' ? '' : ` (${what.slice(2)})`}.`;
		const fix = addFix(path, key, entry as unknown as v.GenericSchema);
		out.push({ path, message, ...(fix === null ? {} : { fix }) });
	}
}

function requiredKeys(node: Node): string[] {
	return Object.entries(node.entries ?? {}).flatMap(([key, entry]) => (isOptional(entry) ? [] : [key]));
}

function isOptional(node: Node): boolean {
	return node.type === 'optional' || node.type === 'nullish' || node.type === 'exact_optional';
}

function isNullable(node: Node): boolean {
	return (
		node.type === 'nullable' || node.type === 'nullish' || (node.wrapped !== undefined && isNullable(node.wrapped))
	);
}

function explainChoice(node: Node, value: unknown, path: Path, out: PathFault[]): void {
	const options = (node.options ?? []) as readonly Node[];
	const objects = options.filter((option) => option.entries !== undefined);
	if (!isObject(value) || options.every((option) => option.entries === undefined && option.key === undefined)) {
		ownFaults(node, value, path, out);
		return;
	}
	if (node.key !== undefined) {
		explainVariant(node, node.key, value, path, out);
		return;
	}
	// An alternative can itself be a union whose members are identified by their key: {"use": ...} or {"file": ...}.
	const variant = options.find((option) => option.key !== undefined);
	if (variant?.key !== undefined) {
		const key = variant.key;
		if (Object.hasOwn(value, key)) {
			explainVariant(variant, key, value, path, out);
			return;
		}
		const known = [key, ...objects.flatMap(requiredKeys)];
		const close = Object.keys(value).find((name) => suggest(name, known) !== null);
		if (close === undefined) {
			out.push({ path, message: `${nameOf(path)} ${String(node.message)}.` });
			return;
		}
		if (suggest(close, known) === key) {
			out.push({
				path: [...path, close],
				message: `"${close.slice(0, 80)}" is not a valid key: did you mean "${key}"?`,
				fix: renameFix([...path, close], key),
			});
			return;
		}
	}
	const ranked = objects
		.map((option) => ({ option, score: likeness(option, value) }))
		.sort((a, b) => b.score - a.score);
	const best = ranked[0];
	if (best === undefined || best.score === 0) out.push({ path, message: `${nameOf(path)} ${String(node.message)}.` });
	else explainObject(best.option, value, path, out);
}

/** Explains a choice that depends on one key's value. For an unknown value, suggests the closest option. */
function explainVariant(node: Node, key: string, value: Record<string, unknown>, path: Path, out: PathFault[]): void {
	const objects = ((node.options ?? []) as readonly Node[]).filter((option) => option.entries !== undefined);
	const [chosen] = objects
		.filter((option) => v.is(option.entries?.[key] as unknown as v.GenericSchema, value[key]))
		.map((option) => ({ option, score: likeness(option, value) }))
		.sort((a, b) => b.score - a.score)
		.map(({ option }) => option);
	if (chosen) {
		explainObject(chosen, value, path, out);
		return;
	}
	if (!Object.hasOwn(value, key)) {
		out.push({ path, message: `${nameOf(path)} ${String(node.message)}.` });
		return;
	}
	const names = objects.flatMap((option) => namesOf(option.entries?.[key]));
	const given = value[key];
	const near = typeof given === 'string' ? suggest(given, names) : null;
	const advice = near === null ? `choose one of ${names.join(', ')}.` : `did you mean "${near}"?`;
	out.push({
		path: [...path, key],
		message: `${nameOf(path)} ${String(node.message)}, not ${shown(given)}: ${advice}`,
		...(near === null ? {} : { fix: setFix([...path, key], near) }),
	});
}

/** Returns the strings that a key accepts. */
function namesOf(node: Node | undefined): string[] {
	const values = node?.literal === undefined ? (node?.options ?? []) : [node.literal];
	return values.filter((name) => typeof name === 'string');
}

function explain(schema: Node, value: unknown, path: Path, out: PathFault[]): void {
	if (value === undefined && isOptional(schema)) return;
	if (value === null && isNullable(schema)) return;
	const node = unwrap(schema);
	switch (node.type) {
		case 'strict_object':
			if (isObject(value)) explainObject(node, value, path, out);
			else out.push({ path, message: `${nameOf(path)} must be an object {...}.` });
			return;
		case 'array': {
			const before = out.length;
			if (Array.isArray(value)) {
				for (const [i, item] of value.entries()) explain(node.item as Node, item, [...path, i], out);
			}
			if (out.length === before) ownFaults(node, value, path, out);
			return;
		}
		case 'union':
		case 'variant':
			explainChoice(node, value, path, out);
			return;
		default:
			ownFaults(node, value, path, out);
	}
}

/** Finds every error in a value under a schema of strict objects. Each message names the key and suggests a fix. */
export function explainFaults(schema: v.GenericSchema, value: unknown): PathFault[] {
	const faults: PathFault[] = [];
	explain(schema as unknown as Node, value, [], faults);
	return faults;
}
