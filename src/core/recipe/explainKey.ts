import { isConstant } from '../../protocol/recipeKeys/keyDefaults.ts';
import { pipelineRecipeSchema } from '../../protocol/recipeKeys/pipelineRecipe.ts';
import { recipeSchema } from '../../protocol/recipeKeys/recipe.ts';
import {
	type Engine,
	type KeyFacts,
	type KeySchema,
	meaningOf,
	valueSchema,
} from '../../protocol/recipeKeys/recipeKey.ts';

/** A recipe key as described by its declaration. */
export interface ExplainedKey {
	/** Location, such as `stages[grpo].beta` or `pytorch.lora.r`. */
	readonly path: string;
	readonly meaning: string;
	/** Allowed values: `"queue" or "share"`, `whole number, 1 to 256`. */
	readonly values: string;
	readonly required: boolean;
	/** Value when the key is omitted; null if there is none or it is determined during the run. */
	readonly default: string | null;
	/** Whether the key can be changed during a run. */
	readonly live: boolean;
	/** Names of the key in other trainers' configurations. */
	readonly also_called: readonly string[];
	/** Values that an engine does not support, with the reason. */
	readonly unsupported: Readonly<Partial<Record<Engine, string>>>;
}

interface Found {
	readonly parts: readonly string[];
	readonly declared: KeySchema;
}

/** Parts of a valibot schema that describe values. */
interface ValueSchema extends KeySchema {
	readonly options?: readonly (KeySchema & string)[];
	readonly items?: readonly KeySchema[];
	readonly pipe?: readonly (Pick<ValueSchema, 'type' | 'pipe'> & { readonly requirement?: unknown })[];
}

let all: readonly Found[] | null = null;

/** Returns the paths of all keys, in declaration order. */
export const recipeKeyPaths = (): readonly string[] => keys().map(({ parts }) => pathOf(parts));

/**
 * Finds recipe keys by name or path. `beta` finds the key in every stage that has it, `grpo.beta` and
 * `stages[1].grpo.beta` find only the key in that stage; a name from another trainer also
 * finds the keys with the same meaning.
 */
export function explainKey(name: string): ExplainedKey[] {
	const wanted = name
		.split(/[.[\]]+/)
		.map((part) => part.trim())
		.filter((part) => part !== '' && !/^\d+$/.test(part));
	const last = wanted.pop();
	if (last === undefined) return [];
	const fits = ({ parts }: Found) => {
		let at = 0;
		for (const part of parts.slice(0, -1)) if (part === wanted[at]) at++;
		return at === wanted.length;
	};
	const near = keys().filter(fits);
	const named = near.filter(({ parts }) => parts.at(-1) === last);
	const also = near.filter(({ declared }) => declared.facts?.alsoCalled?.includes(last));
	// Keys whose full path was given come first.
	return [...named.toSorted((a, b) => a.parts.length - b.parts.length), ...also].map(explained);
}

function keys(): readonly Found[] {
	if (all === null) {
		const found = new Map<string, Found>();
		collect(pipelineRecipeSchema as unknown as KeySchema, [], found);
		all = [...found.values()];
	}
	return all;
}

const deepest = 8;

function collect(schema: KeySchema, parts: readonly string[], found: Map<string, Found>): void {
	if (parts.length > deepest) return;
	const inner = valueSchema(schema);
	if (inner !== schema) {
		collect(inner, parts, found);
		return;
	}
	if (schema.item !== undefined) collect(schema.item, parts, found);
	for (const option of schema.options ?? []) if (typeof option === 'object') collect(option, parts, found);
	const { entries } = schema;
	if (entries === undefined) return;
	const kind = entries.type?.literal ?? entries.use?.literal;
	const place = typeof kind === 'string' ? [...parts, kind] : parts;
	for (const [key, declared] of Object.entries(entries)) {
		const path = [...place, key];
		// A loop repeats the stages, and a pipeline stage repeats the recipe objects that it replaces.
		const repeated = parts.length > 0 && parts[0] === 'stages' && key in recipeSchema.entries;
		const id = path.join('\0');
		if (!found.has(id) && declared.literal === undefined) found.set(id, { parts: path, declared });
		if (!repeated) collect(declared, path, found);
	}
}

function pathOf(parts: readonly string[]): string {
	return parts
		.map((part, i) =>
			i > 0 && ['stages', 'rewards'].includes(parts[i - 1] ?? '') && i < parts.length - 1
				? `[${part}]`
				: i === 0
					? part
					: `.${part}`,
		)
		.join('');
}

function explained({ parts, declared }: Found): ExplainedKey {
	const { facts } = declared;
	return {
		path: pathOf(parts),
		meaning: meaningOf(declared),
		values: valuesOf(valueSchema(declared) as ValueSchema),
		required: declared.type !== 'optional',
		default: defaultOf(declared),
		live: declared.live ?? false,
		also_called: facts?.alsoCalled ?? [],
		unsupported: unsupportedOf(facts),
	};
}

function unsupportedOf(facts: KeyFacts | undefined): ExplainedKey['unsupported'] {
	const entries = Object.entries(facts?.lacking ?? {}).map(([engine, { say }]) => {
		return [engine, typeof say === 'string' ? say : say('VALUE', {})] as const;
	});
	return Object.fromEntries(entries);
}

function defaultOf(declared: KeySchema & { readonly default?: unknown }): string | null {
	const { facts } = declared;
	if (facts?.or !== undefined) return facts.or;
	const value = facts !== undefined && 'default' in facts ? facts.default : declared.default;
	if (typeof value === 'object' && value !== null && 'same' in value) return `same as ${String(value.same)}`;
	if (value === null || !isConstant(value)) return null;
	return JSON.stringify(value);
}

function valuesOf(schema: ValueSchema): string {
	const options = () => [
		...new Set((schema.options ?? []).map((one) => (typeof one === 'string' ? JSON.stringify(one) : valuesOf(one)))),
	];
	switch (schema.type) {
		case 'picklist':
		case 'union':
			return options().join(' or ');
		case 'variant':
		case 'object':
		case 'strict_object':
		case 'loose_object':
		case 'record':
			return 'object';
		case 'literal':
			return JSON.stringify(schema.literal);
		case 'boolean':
			return 'true or false';
		case 'string':
			return 'text';
		case 'number':
			return numbersOf(schema.pipe ?? []);
		case 'array':
			return schema.item === undefined ? 'list' : `list of ${valuesOf(schema.item as ValueSchema)}`;
		case 'nullable':
		case 'nullish':
			return `${schema.wrapped === undefined ? 'any value' : valuesOf(schema.wrapped as ValueSchema)} or null`;
		case 'optional':
			return valuesOf(valueSchema(schema) as ValueSchema);
		case 'tuple':
			return 'list';
		default:
			return 'any value';
	}
}

/** Upper bounds that mean "no limit". */
const unbounded: readonly unknown[] = [1e9, Number.MAX_VALUE];

function numbersOf(pipe: NonNullable<ValueSchema['pipe']>): string {
	const actions = flat(pipe);
	const bound = (type: string) => actions.find((action) => action.type === type)?.requirement;
	const kind = actions.some(({ type }) => type === 'integer') ? 'whole number' : 'number';
	const [min, max] = [bound('min_value'), bound('max_value')];
	if (min === undefined) return kind;
	return max === undefined || unbounded.includes(max)
		? `${kind}, at least ${String(min)}`
		: `${kind}, ${String(min)} to ${String(max)}`;
}

/** Returns the actions of a pipe, including those of pipes nested at its start. */
const flat = (pipe: NonNullable<ValueSchema['pipe']>): NonNullable<ValueSchema['pipe']> =>
	pipe.flatMap((action, i) =>
		i === 0 && action.pipe !== undefined && action.pipe !== pipe ? flat(action.pipe) : [action],
	);
