/** A changed value in an environment's state summary. */
export interface StateChange {
	readonly attribute: string;
	/** Path within the attribute's value: empty for the value itself, or a path such as `[2]` or `.x`. */
	readonly path: string;
	/** Values before and after; undefined if there is none. */
	readonly before: unknown;
	readonly after: unknown;
}

type State = Readonly<Record<string, unknown>>;

const maxChanges = 200;

/**
 * Returns the values that differ between two states, in the order of the attributes. Nested values are compared one by one
 * if both sides have the same type. Returns an empty list if either state is unknown.
 */
export function stateChanges(before: State | undefined, after: State | undefined): StateChange[] {
	if (before === undefined || after === undefined) return [];
	const changes: StateChange[] = [];
	for (const attribute of namesOf(before, after)) {
		compareValues(own(before, attribute), own(after, attribute), { attribute, path: '' }, changes);
	}
	return changes;
}

function compareValues(
	before: unknown,
	after: unknown,
	{ attribute, path }: Pick<StateChange, 'attribute' | 'path'>,
	changes: StateChange[],
): void {
	if (changes.length >= maxChanges || before === after) return;
	if (Array.isArray(before) && Array.isArray(after)) {
		const length = Math.max(before.length, after.length);
		for (let i = 0; i < length; i++) {
			compareValues(before[i], after[i], { attribute, path: `${path}[${i}]` }, changes);
		}
	} else if (isRecord(before) && isRecord(after)) {
		for (const name of namesOf(before, after)) {
			compareValues(own(before, name), own(after, name), { attribute, path: `${path}.${name}` }, changes);
		}
	} else changes.push({ attribute, path, before, after });
}

function namesOf(before: State, after: State): Set<string> {
	return new Set([...Object.keys(before), ...Object.keys(after)]);
}

/** Attributes can have names such as `__proto__` and `constructor`. */
function own(state: State, name: string): unknown {
	return Object.hasOwn(state, name) ? state[name] : undefined;
}

function isRecord(value: unknown): value is State {
	return typeof value === 'object' && value !== null && !Array.isArray(value);
}
