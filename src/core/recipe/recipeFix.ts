import * as v from 'valibot';
import { suggest } from './suggest.ts';

/** A change to a recipe. Paths are like `['stages', 1, 'beta']`. */
export type RecipeChange =
	| { readonly kind: 'set'; readonly path: readonly (string | number)[]; readonly value: unknown }
	| { readonly kind: 'rename'; readonly path: readonly (string | number)[]; readonly key: string }
	| { readonly kind: 'remove'; readonly path: readonly (string | number)[] };

/** A change that corrects an error in a recipe, offered as a quick fix. */
export interface RecipeFix {
	/** Verb and object, in sentence case. */
	readonly title: string;
	readonly change: RecipeChange;
}

type Path = RecipeChange['path'];

export function renameFix(path: Path, key: string): RecipeFix {
	return { title: `Change to "${key}"`, change: { kind: 'rename', path, key } };
}

export function removeFix(path: Path): RecipeFix {
	return { title: `Remove "${String(path.at(-1)).slice(0, 80)}"`, change: { kind: 'remove', path } };
}

export function setFix(path: Path, value: unknown, title = `Change to ${JSON.stringify(value)}`): RecipeFix {
	return { title, change: { kind: 'set', path, value } };
}

/** The parts of a valibot schema that this module reads. */
interface Node {
	readonly type: string;
	readonly wrapped?: Node;
	readonly literal?: unknown;
	readonly options?: readonly unknown[];
	readonly entries?: Readonly<Record<string, Node>>;
}

/**
 * Returns the fix for a value of the wrong type that can be converted: a number or boolean in quotes, a string without
 * quotes, an entry that should be a list, or a misspelled choice. Returns null if no conversion satisfies the schema.
 */
export function convertFix(schema: v.GenericSchema, value: unknown, path: Path): RecipeFix | null {
	for (const candidate of candidates(schema as unknown as Node, value)) {
		if (v.safeParse(schema, candidate).success) return setFix(path, candidate);
	}
	return null;
}

function* candidates(node: Node, value: unknown): Generator<unknown> {
	if (typeof value === 'string') {
		const plain = value.trim();
		if (plain !== '' && Number.isFinite(Number(plain))) yield Number(plain);
		if (/^(true|false)$/i.test(plain)) yield plain.toLowerCase() === 'true';
		if (/^(null|none)$/i.test(plain)) yield null;
		const near = suggest(plain, namesIn(node));
		if (near !== null) yield near;
	}
	if (typeof value === 'number' || typeof value === 'boolean') yield String(value);
	if (Array.isArray(value)) {
		if (value.length === 1) yield value[0];
	} else yield [value];
}

/** Returns the fix that adds a missing key to the object at `path`, with an initial value of the right type. */
export function addFix(path: Path, key: string, schema: v.GenericSchema): RecipeFix | null {
	const value = numbersToStart[key] ?? startOf(schema as unknown as Node);
	return value === undefined ? null : setFix([...path, key], value, `Add "${key}"`);
}

/**
 * Default values for required numbers. Other numbers are not added, because a wrong number is worse than a missing one.
 * The learning rate is a compromise between small models trained from scratch and pretrained models.
 */
const numbersToStart: Readonly<Record<string, number>> = { steps: 100, learning_rate: 1e-4 };

function startOf(node: Node): unknown {
	if (node.wrapped !== undefined) return startOf(node.wrapped);
	switch (node.type) {
		case 'literal':
			return node.literal;
		case 'picklist':
			return node.options?.[0];
		case 'string':
			return '';
		case 'boolean':
			return false;
		case 'array':
			return [];
		case 'union':
		case 'variant':
			return startOf(node.options?.[0] as Node);
		case 'strict_object': {
			const required = Object.entries(node.entries ?? {}).filter(([, entry]) => entry.wrapped === undefined);
			return Object.fromEntries(required.map(([key, entry]) => [key, startOf(entry) ?? null]));
		}
		default:
			return undefined;
	}
}

/** Returns the strings that a schema accepts. */
function namesIn(node: Node): string[] {
	if (node.wrapped !== undefined) return namesIn(node.wrapped);
	if (node.type === 'union') return (node.options ?? []).flatMap((option) => namesIn(option as Node));
	const values = node.literal === undefined ? (node.options ?? []) : [node.literal];
	return values.filter((name) => typeof name === 'string');
}
