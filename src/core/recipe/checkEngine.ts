import { type Recipe, recipeSchema } from '../../protocol/recipeKeys/recipe.ts';
import { type Engine, type KeySchema, type Keys, valueSchema } from '../../protocol/recipeKeys/recipeKey.ts';
import type { PathFault, Report } from './pathFault.ts';

type Values = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is Values =>
	typeof value === 'object' && value !== null && !Array.isArray(value);

/** Reports each recipe value that the engine does not support, according to the key declarations. */
export function checkEngine(recipe: Recipe, report: Report): void {
	const engine = recipe.engine === 'embedded' ? 'embedded' : 'pytorch';
	checkValue(recipeSchema as unknown as KeySchema, recipe, [], { engine, report });
}

interface Check {
	readonly engine: Engine;
	readonly report: Report;
}

function checkValue(schema: KeySchema, value: unknown, path: PathFault['path'], check: Check): void {
	if (Array.isArray(value)) {
		const { item } = schema;
		if (item !== undefined) for (const [i, one] of value.entries()) checkValue(item, one, [...path, i], check);
	} else if (isObject(value)) {
		const entries = entriesFor(schema, value) ?? {};
		const trainer = check.engine === 'pytorch' && isObject(value.trainer) ? value.trainer : {};
		const all = { ...trainer, ...value };
		for (const [key, entry] of Object.entries(entries)) {
			checkKey(entry, value[key], all, [...path, key], check);
			// Optional keys may also be set in the `trainer` block.
			if (value[key] === undefined && entry.facts?.maybe === true) {
				checkKey(entry, trainer[key], all, [...path, 'trainer', key], check);
			}
		}
	}
}

/** @param group the object that contains the key, with the stage keys in its `trainer` block */
function checkKey(entry: KeySchema, value: unknown, group: Values, path: PathFault['path'], check: Check): void {
	if (value === undefined) return;
	const fault = faultOf(entry, value, group, check.engine);
	if (fault !== undefined) check.report(path, fault);
	checkValue(valueSchema(entry), value, path, check);
}

/** Returns why an engine does not support a value of a key, or undefined if it does. */
function faultOf({ facts }: KeySchema, value: unknown, group: Values, engine: Engine): string | undefined {
	const lack = facts?.lacking?.[engine];
	if (lack === undefined || value === undefined || !(lack.when?.(value, group) ?? value !== false)) return undefined;
	return typeof lack.say === 'string' ? lack.say : lack.say(value, group);
}

/**
 * Returns why a running stage cannot use changed hyperparameters, or undefined if it can. Only the changed keys are
 * checked, and the loss, whose requirements other keys meet.
 */
export function faultOfChange(keys: Keys, stage: Values, changes: Values, engine: Engine): string | undefined {
	const group = { ...stage, ...changes };
	for (const key of new Set([...Object.keys(changes), 'loss_type'])) {
		const entry = (keys[key] ?? {}) as KeySchema;
		const fault = faultOf(entry, group[key], group, engine);
		// A loss whose requirements were not met before the change is not its fault.
		const isNew = Object.hasOwn(changes, key) || faultOf(entry, stage[key], stage, engine) === undefined;
		if (fault !== undefined && isNew) return fault;
	}
	return undefined;
}

/**
 * Returns an object schema's entries. For a union, uses the first member that has all of the value's keys and matches
 * its fixed keys.
 */
function entriesFor(schema: KeySchema, value: Values): KeySchema['entries'] {
	if (schema.entries !== undefined) return schema.entries;
	const fits = ({ entries, literals }: Option) =>
		Object.keys(value).every((key) => Object.hasOwn(entries, key)) &&
		literals.every((key) => value[key] === entries[key]?.literal);
	return schema.options?.flatMap(optionOf).find(fits)?.entries;
}

interface Option {
	readonly entries: NonNullable<KeySchema['entries']>;
	/** Keys with a fixed value. */
	readonly literals: readonly string[];
}

function optionOf({ entries }: KeySchema): Option[] {
	if (entries === undefined) return [];
	return [{ entries, literals: Object.keys(entries).filter((key) => entries[key]?.literal !== undefined) }];
}
