import type { Strategy } from './strategy.ts';

/** A strategy parameter as shown in forms and documentation. */
export interface ParamInfo {
	readonly name: string;
	readonly description: string;
	readonly kind: 'integer' | 'number' | 'flag' | 'choice' | 'text';
	/** undefined: optional without a default. */
	readonly default: unknown;
	readonly required: boolean;
	readonly low: number | null;
	readonly high: number | null;
	/** Options of a choice. */
	readonly options: readonly string[];
}

/** The parts of a valibot schema that are inspected. */
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

/** Returns the parameters of a strategy, in schema order. */
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
		// Limits that only guard against unreasonable numbers are not shown.
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

/** The constraints and descriptions of a schema, those of nested pipes first. */
const actionsOf = (schema: SchemaShape): Action[] =>
	(schema.pipe ?? []).flatMap((item) => (item.kind === 'schema' ? actionsOf(item as unknown as SchemaShape) : [item]));

function kindOf(type: string, actions: readonly Action[]): ParamInfo['kind'] {
	if (type === 'picklist') return 'choice';
	if (type === 'boolean') return 'flag';
	if (type !== 'number') return 'text';
	return actions.some((action) => action.type === 'integer') ? 'integer' : 'number';
}
