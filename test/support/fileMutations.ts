import type { Random } from '../../src/base/random.ts';

export interface Mutation {
	readonly name: string;
	apply(bytes: Buffer, random: Random, others: readonly Buffer[]): Buffer;
}

const within = (random: Random, size: number) => (size <= 0 ? 0 : random.int(size));
const newline = 0x0a;

function linesOf(bytes: Buffer): Buffer[] {
	const lines: Buffer[] = [];
	for (let start = 0; start < bytes.length; ) {
		const end = bytes.indexOf(newline, start);
		lines.push(bytes.subarray(start, end === -1 ? bytes.length : end + 1));
		if (end === -1) break;
		start = end + 1;
	}
	return lines;
}

function spliced(bytes: Buffer, at: number, removed: number, added: Uint8Array | string): Buffer {
	return Buffer.concat([bytes.subarray(0, at), Buffer.from(added as string), bytes.subarray(at + removed)]);
}

function flipped(bytes: Buffer, random: Random, from: number): Buffer {
	const copy = Buffer.from(bytes);
	for (let left = 1 + within(random, 12); left > 0 && copy.length > 0; left--) {
		const at = from + within(random, copy.length - from);
		copy[at] = (copy[at] as number) ^ (1 << within(random, 8));
	}
	return copy;
}

const deep = (open: string, close: string, depth: number) => `${open.repeat(depth)}${close.repeat(depth)}`;

/** Returns a value of a random type, including some that no writer would produce. */
function strangeValue(random: Random): string {
	const values = [
		'null',
		'true',
		'false',
		'0',
		'-1',
		'1.5',
		'1e308',
		'-1e400',
		'9007199254740993',
		'NaN',
		'-Infinity',
		'""',
		'"x"',
		'[]',
		'{}',
		'[null]',
		'[[1, 2], "a", {"b": 3}]',
		'{"role": "assistant", "content": 5}',
		'{"__proto__": {"polluted": true}, "constructor": 1, "toString": null}',
		`"${'long '.repeat(2000)}"`,
		'"\\ud800 \\u0000 \\u202e \\u2028"',
		'"<script>alert(1)</script>"',
		'1e-400',
		'"2026-99-99T00:00:00"',
		deep('[', ']', 3000),
		`${'{"a":'.repeat(200)}1${'}'.repeat(200)}`,
		'9'.repeat(400),
	];
	return values[within(random, values.length)] as string;
}

const placeholder = '\u0001here\u0001';

/** Collects setters for every replaceable value, down to a few levels. The containers are plain copies. */
function placesIn(value: unknown, put: (marker: string) => void, found: ((marker: string) => void)[], depth = 0): void {
	found.push(put);
	if (depth > 6 || typeof value !== 'object' || value === null) return;
	const holder = value as Record<string, unknown>;
	for (const key of Object.keys(holder).slice(0, 40)) {
		placesIn(
			holder[key],
			(marker) => {
				holder[key] = marker;
			},
			found,
			depth + 1,
		);
	}
}

/** Replaces one value in JSON with another, usually of a different type. */
function swappedValue(text: string, random: Random): string {
	let root: unknown;
	try {
		root = JSON.parse(text);
	} catch {
		return text;
	}
	const whole = { root };
	const places: ((marker: string) => void)[] = [];
	placesIn(
		root,
		(marker) => {
			whole.root = marker;
		},
		places,
	);
	(places[within(random, places.length)] as (marker: string) => void)(placeholder);
	const removed = random.next() < 0.15;
	const json = JSON.stringify(whole.root);
	return json.replace(JSON.stringify(placeholder), () => (removed ? 'null' : strangeValue(random)));
}

/** Changes one line, or the whole text if the file contains a single value. */
function onJson(bytes: Buffer, random: Random, change: (text: string) => string): Buffer {
	const whole = bytes.toString('utf8');
	if (isOneValue(whole)) return Buffer.from(change(whole));
	const lines = linesOf(bytes);
	for (let left = 1 + within(random, 3); left > 0 && lines.length > 0; left--) {
		const at = within(random, lines.length);
		lines[at] = Buffer.from(`${change((lines[at] as Buffer).toString('utf8').trimEnd())}\n`);
	}
	return Buffer.concat(lines);
}

function isOneValue(text: string): boolean {
	try {
		JSON.parse(text);
		return true;
	} catch {
		return false;
	}
}

const badBytes = [
	[0xff],
	[0xfe, 0xff],
	[0xc3, 0x28],
	[0xed, 0xa0, 0x80],
	[0xf0, 0x9f, 0x92],
	[0x00],
	[0xef, 0xbb, 0xbf],
	[0xe2, 0x80, 0xa8],
	[0x0d, 0x0a],
	[0x0a],
	[0x22],
	[0x5c],
];

export const mutations: readonly Mutation[] = [
	{ name: 'flip bits', apply: (bytes, random) => flipped(bytes, random, 0) },
	{
		// Parquet stores the metadata for the rest of the file at the end.
		name: 'flip bits near the end',
		apply: (bytes, random) => flipped(bytes, random, Math.max(0, bytes.length - 1500)),
	},
	{ name: 'truncate', apply: (bytes, random) => bytes.subarray(0, within(random, bytes.length)) },
	{ name: 'remove the beginning', apply: (bytes, random) => bytes.subarray(within(random, bytes.length)) },
	{ name: 'empty', apply: () => Buffer.alloc(0) },
	{
		name: 'remove a piece',
		apply: (bytes, random) => spliced(bytes, within(random, bytes.length), 1 + within(random, 300), ''),
	},
	{
		name: 'repeat a piece',
		apply: (bytes, random) => {
			const at = within(random, bytes.length);
			return spliced(bytes, at, 0, bytes.subarray(at, at + within(random, 2000)));
		},
	},
	{
		name: 'insert invalid bytes',
		apply: (bytes, random) => {
			let made = bytes;
			for (let left = 1 + within(random, 5); left > 0; left--) {
				const bad = badBytes[within(random, badBytes.length)] as number[];
				made = spliced(made, within(random, made.length), within(random, 3), Uint8Array.from(bad));
			}
			return made;
		},
	},
	{
		name: 'insert noise',
		apply: (bytes, random) => {
			const noise = Uint8Array.from({ length: 1 + within(random, 200) }, () => random.int(256));
			return spliced(bytes, within(random, bytes.length), within(random, 200), noise);
		},
	},
	{
		name: 'repeat lines',
		apply: (bytes, random) => {
			const lines = linesOf(bytes);
			const at = within(random, lines.length);
			const some = lines.slice(at, at + 1 + within(random, 5));
			return Buffer.concat([...lines.slice(0, at), ...some, ...some, ...lines.slice(at)]);
		},
	},
	{
		name: 'shuffle lines',
		apply: (bytes, random) => {
			const lines = linesOf(bytes);
			return Buffer.concat(
				lines
					.map((line) => ({ line, key: random.next() }))
					.sort((a, b) => a.key - b.key)
					.map(({ line }) => line),
			);
		},
	},
	{
		name: 'join lines',
		apply: (bytes, random) => {
			const at = bytes.indexOf(newline, within(random, bytes.length));
			return at === -1 ? bytes : spliced(bytes, at, 1, '');
		},
	},
	{
		name: 'insert blank lines',
		apply: (bytes, random) => {
			const at = bytes.indexOf(newline, within(random, bytes.length)) + 1;
			return spliced(bytes, at, 0, '\n  \n\t\r\n');
		},
	},
	{ name: 'swap a value', apply: (bytes, random) => onJson(bytes, random, (text) => swappedValue(text, random)) },
	{
		name: 'swap one more value',
		apply: (bytes, random) => onJson(bytes, random, (text) => swappedValue(text, random)),
	},
	{
		name: 'swap two values',
		apply: (bytes, random) => onJson(bytes, random, (text) => swappedValue(swappedValue(text, random), random)),
	},
	{
		name: 'nest deeply',
		apply: (bytes, random) => {
			const depth = 1000 + within(random, 60_000);
			const made = random.next() < 0.5 ? deep('[', ']', depth) : deep('{"a":[', ']}', depth);
			return onJson(bytes, random, (text) =>
				random.next() < 0.5 ? made : text.replace(/[:]\s*[^,}]*/, () => `: ${made}`),
			);
		},
	},
	{
		name: 'make a number huge',
		apply: (bytes, random) =>
			onJson(bytes, random, (text) => {
				const huge = ['9'.repeat(500), '1e999', '-1e999', '1e308', '1'.repeat(20), '0.'.padEnd(400, '3')];
				const places = [...text.matchAll(/-?\d+(?:\.\d+)?/g)];
				const place = places[within(random, places.length)];
				if (!place) return text;
				const number = huge[within(random, huge.length)] as string;
				return `${text.slice(0, place.index)}${number}${text.slice(place.index + place[0].length)}`;
			}),
	},
	{
		name: 'insert NaN',
		apply: (bytes, random) =>
			onJson(bytes, random, (text) => {
				const token = ['NaN', 'Infinity', '-Infinity', 'nan', 'None'][within(random, 5)] as string;
				const places = [...text.matchAll(/-?\d+(?:\.\d+)?(?=[,\]}\s])/g)];
				const place = places[within(random, places.length)];
				return place ? `${text.slice(0, place.index)}${token}${text.slice(place.index + place[0].length)}` : text;
			}),
	},
	{
		name: 'replace with another format’s file',
		apply: (bytes, random, others) => others[within(random, others.length)] ?? bytes,
	},
	{
		name: 'append another format’s file',
		apply: (bytes, random, others) => Buffer.concat([bytes, others[within(random, others.length)] ?? bytes]),
	},
	{
		name: 'set a length',
		apply: (bytes, random) => {
			const copy = Buffer.from(bytes);
			if (copy.length < 16) return copy;
			const last = random.next() < 0.5 ? copy.length - 8 : within(random, copy.length - 8);
			const lengths = [0, 1, 0x7fffffff, 0xffffffff, copy.length, copy.length - 8, within(random, 100_000)];
			copy.writeUInt32LE((lengths[within(random, lengths.length)] as number) >>> 0, last);
			return copy;
		},
	},
	{
		name: 'overwrite metadata bytes',
		apply: (bytes, random) => {
			const copy = Buffer.from(bytes);
			const from = Math.max(0, copy.length - 1500);
			const wild = [0x00, 0x7f, 0x80, 0xff, 0x01];
			for (let left = 1 + within(random, 4); left > 0 && copy.length > 0; left--) {
				copy[from + within(random, copy.length - from)] = wild[within(random, wild.length)] as number;
			}
			return copy;
		},
	},
];
