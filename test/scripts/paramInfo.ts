import type { Strategy } from '../../src/core/search/strategy.ts';

/** Strategy parameter, as shown in forms and documentation. */
export interface ParamInfo {
	readonly name: string;
	readonly description: string;
	readonly kind: 'integer' | 'number' | 'flag' | 'choice' | 'text';
	/** undefined if the parameter is optional and has no default. */
	readonly default: unknown;
	readonly required: boolean;
	readonly low: number | null;
	readonly high: number | null;
	/** Allowed values of a choice. */
	readonly options: readonly string[];
}

/** Inspected parts of a valibot schema. */
interface SchemaShape {
	readonly type: string;
	readonly entries?: Readonly<Record<string, SchemaShape>>;
	readonly wrapped?: SchemaShape;
	readonly default?: unknown;
	readonly options?: readonly unknown[];
	readonly pipe?: readonly Action[];
}

interface Action {
	readonly kind: string;
	readonly type: string;
	readonly requirement?: unknown;
	readonly description?: unknown;
}

/** Returns a strategy's parameters in schema order. */
// biome-ignore lint/suspicious/noExplicitAny: of any strategy
export function paramInfos(strategy: Strategy<any>): ParamInfo[] {
	const { entries = {} } = strategy.params as unknown as SchemaShape;
	return Object.entries(entries).map(([name, schema]) => infoOf(name, schema));
}

function infoOf(name: string, schema: SchemaShape): ParamInfo {
	let at = schema;
	let fallback: unknown;
	let actions = actionsOf(at);
	for (; at.wrapped !== undefined; actions = [...actions, ...actionsOf(at)]) {
		fallback ??= at.default;
		at = at.wrapped;
	}
	const limit = (type: string): number | null => {
		const value = actions.find((action) => action.type === type)?.requirement;
		// Hides limits that are only sanity checks.
		return typeof value === 'number' && Math.abs(value) < 1e6 ? value : null;
	};
	return {
		name,
		description: String(actions.findLast(({ type }) => type === 'description')?.description ?? ''),
		kind: kindOf(at.type, actions),
		default: typeof fallback === 'function' ? fallback() : fallback,
		required: at === schema,
		low: limit('min_value'),
		high: limit('max_value'),
		options: at.type === 'picklist' ? (at.options ?? []).map(String) : [],
	};
}

/** Returns the constraints and descriptions in a schema, those in nested pipes first. */
const actionsOf = (schema: SchemaShape): Action[] =>
	(schema.pipe ?? []).flatMap((item) => (item.kind === 'schema' ? actionsOf(item as unknown as SchemaShape) : [item]));

function kindOf(type: string, actions: readonly Action[]): ParamInfo['kind'] {
	if (type === 'picklist') return 'choice';
	if (type === 'boolean') return 'flag';
	if (type !== 'number') return 'text';
	return actions.some((action) => action.type === 'integer') ? 'integer' : 'number';
}
