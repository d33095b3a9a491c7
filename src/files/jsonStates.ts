/*
 * A finite automaton that checks JSON (RFC 8259) byte by byte, or two bytes at a time, which takes half as long because
 * each lookup has to wait for the one before it. The container of a value is part of the state, so only brackets need a
 * stack:
 *   A: in an array   O: in an object   S: a top-level value
 */

/** Bytes that every state treats alike share a class. */
const classNames = [
	...['other', 'control', 'space', 'blank', '"', '\\', '/', '{', '}', '[', ']', ',', ':', '-', '+', '.', '0', '1-9'],
	...['e', 'E', 'a', 'l', 'n', 'r', 's', 't', 'u', 'f', 'b', 'hex'],
] as const;
type ClassName = (typeof classNames)[number];

const classBits = 5;
/** Pairs of classes that every state treats alike share a column, so that the table stays small enough for the cache. */
const columnBits = 8;

/** Actions for the caller. Their numbers are higher than those of all states. */
const actions = ['array', 'object', 'close', 'end', 'endBefore', 'invalid'] as const;
type Action = (typeof actions)[number];

export interface JsonStates {
	/** Classes by byte. */
	readonly classes: Uint8Array;
	/** Columns by pair of bytes, as a number in this machine's byte order. */
	readonly columns: Uint8Array;
	/** Next state by `(state >> classShift) + class`. */
	readonly next: Uint16Array;
	/**
	 * State after two bytes, by `state + column`. `firstAction` or more if one of them needs an action, or if many
	 * bytes of a string were read, because the rest can probably be skipped faster.
	 */
	readonly nextPair: Uint16Array;
	readonly classShift: number;
	/** Whether a state is within a string, by `state >> stateShift`. */
	readonly isText: Uint8Array;
	readonly stateShift: number;
	readonly firstAction: number;
	readonly actions: Readonly<Record<Action, number>>;
	/** State before a top-level value. */
	readonly value: number;
	/** State after a comma in an array. */
	readonly beforeEntry: number;
	/** States after an opening bracket, and after a closing one in an array or an object. */
	readonly inArray: number;
	readonly inObject: number;
	readonly afterInArray: number;
	readonly afterInObject: number;
}

function classOf(byte: number): ClassName {
	const char = String.fromCharCode(byte);
	if (char === ' ') return 'space';
	if ('\t\r\n'.includes(char)) return 'blank';
	if (byte < 0x20) return 'control';
	if (/[1-9]/.test(char)) return '1-9';
	if ((classNames as readonly string[]).includes(char)) return char as ClassName;
	return /[a-fA-F]/.test(char) ? 'hex' : 'other';
}

const texts = ['textA', 'textO', 'textS', 'textK'] as const;

type Transitions = Map<string, Map<ClassName, string>>;

/** Adds the states of a value, its end and what may follow it. */
function addValues(on: (state: string, classes: readonly ClassName[], to: string) => void, place: 'A' | 'O' | 'S') {
	const digits = ['0', '1-9'] as const;
	const after = place === 'S' ? 'end' : `after${place}`;
	for (const start of place === 'A' ? ['valueA', 'firstA'] : [`value${place}`]) {
		on(start, ['space', 'blank'], start);
		on(start, ['"'], `text${place}`);
		on(start, ['-'], `minus${place}`);
		on(start, ['0'], `zero${place}`);
		on(start, ['1-9'], `integer${place}`);
		on(start, ['['], 'array');
		on(start, ['{'], 'object');
		for (const word of ['true', 'false', 'null']) on(start, [word[0] as ClassName], `${word}1${place}`);
	}
	const ends = (state: string) => {
		if (place === 'S') {
			on(state, ['space', 'blank', ',', ']', '}'], 'endBefore');
			return;
		}
		on(state, ['space', 'blank'], after);
		on(state, [','], place === 'A' ? 'valueA' : 'key');
		on(state, [place === 'A' ? ']' : '}'], 'close');
	};
	if (place === 'A') on('firstA', [']'], 'close');
	if (place !== 'S') ends(after);
	on(`minus${place}`, ['0'], `zero${place}`);
	on(`minus${place}`, ['1-9'], `integer${place}`);
	on(`integer${place}`, digits, `integer${place}`);
	for (const state of [`zero${place}`, `integer${place}`]) on(state, ['.'], `point${place}`);
	on(`point${place}`, digits, `fraction${place}`);
	on(`fraction${place}`, digits, `fraction${place}`);
	for (const state of ['zero', 'integer', 'fraction']) on(`${state}${place}`, ['e', 'E'], `exponent${place}`);
	on(`exponent${place}`, ['+', '-'], `sign${place}`);
	for (const state of ['exponent', 'sign', 'power']) on(`${state}${place}`, digits, `power${place}`);
	for (const state of ['zero', 'integer', 'fraction', 'power']) ends(`${state}${place}`);
	for (const word of ['true', 'false', 'null']) {
		for (let i = 1; i < word.length; i++) {
			const to = i === word.length - 1 ? after : `${word}${i + 1}${place}`;
			on(`${word}${i}${place}`, [word[i] as ClassName], to);
		}
	}
	addText(on, place, after);
}

function addText(
	on: (state: string, classes: readonly ClassName[], to: string) => void,
	place: 'A' | 'O' | 'S' | 'K',
	after: string,
): void {
	const text = `text${place}`;
	const special: readonly string[] = ['control', 'blank', '"', '\\'];
	on(
		text,
		classNames.filter((name) => !special.includes(name)),
		text,
	);
	on(text, ['"'], after);
	on(text, ['\\'], `escape${place}`);
	on(`escape${place}`, ['"', '\\', '/', 'b', 'f', 'n', 'r', 't'], text);
	on(`escape${place}`, ['u'], `hex1${place}`);
	const digits = ['0', '1-9', 'a', 'b', 'e', 'E', 'f', 'hex'] as const;
	for (let i = 1; i <= 4; i++) on(`hex${i}${place}`, digits, i === 4 ? text : `hex${i + 1}${place}`);
}

/** Pairs of bytes of a string to read before skipping its characters. */
const pairsOfText = 32;

/** Names of the states that count the pairs of a string. All accept the same bytes. */
function countingStates(text: string): string[] {
	return Array.from({ length: pairsOfText }, (_, pairs) => `${text}${pairs === 0 ? '' : pairs}`);
}

function transitions(): Transitions {
	const found: Transitions = new Map();
	const on = (state: string, classes: readonly ClassName[], to: string) => {
		const known = found.get(state) ?? new Map<ClassName, string>();
		for (const name of classes) known.set(name, to);
		found.set(state, known);
	};
	for (const place of ['A', 'O', 'S'] as const) addValues(on, place);
	for (const state of ['key', 'firstKey']) {
		on(state, ['space', 'blank'], state);
		on(state, ['"'], 'textK');
	}
	on('firstKey', ['}'], 'close');
	addText(on, 'K', 'colon');
	on('colon', ['space', 'blank'], 'colon');
	on('colon', [':'], 'valueO');
	return found;
}

function madeStates(): JsonStates {
	const found = transitions();
	const counting = texts.flatMap((text) =>
		countingStates(text)
			.slice(1)
			.map((state) => [state, text] as const),
	);
	const states = [...found.keys(), ...counting.map(([state]) => state)];
	const names = [...states, ...actions];
	const numbers = new Map(names.map((name, i) => [name, i << columnBits]));
	const number = (name: string) => numbers.get(name) as number;
	const next = new Uint16Array(names.length << classBits).fill(number('invalid'));
	const classShift = columnBits - classBits;
	for (const [state, byClass] of found) {
		for (const [name, to] of byClass) next[(number(state) >> classShift) + classNames.indexOf(name)] = number(to);
	}
	for (const [state, text] of counting) {
		const from = number(text) >> classShift;
		next.copyWithin(number(state) >> classShift, from, from + (1 << classBits));
	}
	const firstAction = number(actions[0]);
	const nextPair = new Uint16Array(states.length << columnBits);
	const knownColumns = new Map<string, number>();
	const columnOfPair: number[] = [];
	const column = new Uint16Array(found.size);
	const columnBytes = Buffer.from(column.buffer);
	for (const first of classNames.keys()) {
		for (const second of classNames.keys()) {
			column.fill(firstAction);
			for (let i = 0; i < column.length; i++) {
				const between = next[(i << classBits) + first] as number;
				if (between >= firstAction) continue;
				const after = next[(between >> classShift) + second] as number;
				if (after < firstAction) column[i] = after;
			}
			const key = columnBytes.toString('latin1');
			let known = knownColumns.get(key);
			if (known === undefined) {
				known = knownColumns.size;
				knownColumns.set(key, known);
				for (const [i, after] of column.entries()) nextPair[(i << columnBits) + known] = after;
			}
			columnOfPair.push(known);
		}
	}
	for (const text of texts) {
		const names = countingStates(text);
		const first = nextPair.slice(number(text), number(text) + (1 << columnBits));
		for (const [i, name] of names.entries()) {
			const following = names[i + 1];
			const stays = following === undefined ? firstAction : number(following);
			const row = nextPair.subarray(number(name));
			for (const [at, to] of first.entries()) row[at] = to === number(text) ? stays : to;
		}
	}
	if (states.length + actions.length > 1 << columnBits || knownColumns.size > 1 << columnBits) {
		throw new RangeError('The automaton for JSON has too many states or columns.');
	}
	const classes = Uint8Array.from({ length: 256 }, (_, byte) => classNames.indexOf(classOf(byte)));
	const columns = new Uint8Array(65_536);
	const bytes = new Uint8Array(2);
	const pair = new Uint16Array(bytes.buffer);
	for (let i = 0; i < columns.length; i++) {
		pair[0] = i;
		const first = classes[bytes[0] as number] as number;
		const second = classes[bytes[1] as number] as number;
		columns[i] = columnOfPair[first * classNames.length + second] as number;
	}
	return {
		classes,
		columns,
		next,
		nextPair,
		classShift,
		isText: Uint8Array.from(names, (name) => Number(name.startsWith('text'))),
		stateShift: columnBits,
		firstAction,
		actions: Object.fromEntries(actions.map((name) => [name, number(name)])) as Record<Action, number>,
		value: number('valueS'),
		beforeEntry: number('valueA'),
		inArray: number('firstA'),
		inObject: number('firstKey'),
		afterInArray: number('afterA'),
		afterInObject: number('afterO'),
	};
}

let made: JsonStates | null = null;

/** Returns the automaton, which is created on first use. */
export function jsonStates(): JsonStates {
	made ??= madeStates();
	return made;
}
