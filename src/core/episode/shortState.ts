type State = Readonly<Record<string, unknown>>;

/** Maximum length of an attribute's value in a rollout, and of all attributes as JSON, in characters. */
const maxText = 160;
const maxState = 1000;

/** Key for the number of omitted attributes, as in the summaries from environment hosts. */
const rest = '...';
const missing = /^(\d+) more$/;
/** End of truncated text, as in the summaries from environment hosts. */
const truncated = /… \((\d+) characters\)$/;

/**
 * Returns the short form of a state summary, as recorded in rollouts. Long values become text that ends with `… (1234
 * characters)`, and attributes that do not fit are counted under `...`. Idempotent.
 */
export function shortState(state: State): Record<string, unknown> {
	const short: Record<string, unknown> = {};
	const names = Object.keys(state).filter((name) => name !== rest);
	const set = (name: string, value: unknown) =>
		Object.defineProperty(short, name, { value, enumerable: true, configurable: true });
	let size = 2;
	let kept = 0;
	for (const name of names) {
		const value = shortValue(state[name]);
		size += JSON.stringify(name).length + JSON.stringify(value).length + 2;
		if (size > maxState) break;
		set(name, value);
		kept++;
	}
	const known = Object.hasOwn(state, rest) ? Number(missing.exec(String(state[rest]))?.[1] ?? 1) : 0;
	const left = names.length - kept + known;
	if (left > 0) set(rest, `${left} more`);
	return short;
}

function shortValue(value: unknown): unknown {
	if (value === undefined) return null;
	const text = typeof value === 'string' ? value : JSON.stringify(value);
	if (text.length <= maxText) return value;
	const cut = typeof value === 'string' ? truncated.exec(value) : null;
	const whole = cut === null ? text : text.slice(0, cut.index);
	if (whole.length <= maxText) return value;
	// The cut can split a surrogate pair.
	return `${whole.slice(0, maxText).toWellFormed()}… (${cut?.[1] ?? text.length} characters)`;
}

/** Returns two states in comparable forms: both short if only one of them is. */
export function comparableStates(a: State, b: State): [State, State] {
	const [shortA, shortB] = [shortState(a), shortState(b)];
	return isSame(a, shortA) || isSame(b, shortB) ? [shortA, shortB] : [a, b];
}

function isSame(a: State, b: State): boolean {
	return JSON.stringify(a) === JSON.stringify(b);
}
