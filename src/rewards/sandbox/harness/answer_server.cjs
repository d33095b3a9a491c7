/**
 * Runs an answer and makes its functions available to a checker in another sandbox. Requests and replies are JSON, one
 * per line. Only data leaves this process: plain values are sent in full, and any other object stays here and is
 * referred to by a number.
 */
const fs = require('node:fs');
const vm = require('node:vm');

const mostValues = 200_000;
const deepest = 200;
// Keep references, because the answer can replace these functions.
const { stringify, parse } = JSON;
const { readSync, writeSync } = fs;
const { runInThisContext } = vm;
const isArray = Array.isArray;
const prototypeOf = Object.getPrototypeOf;
const plain = Object.prototype;
const entriesOf = Object.entries;

/** Objects that have been referred to, and their indices. */
const objects = [];
const places = new Map();

function encode(value, depth = 0, count = { n: 0 }) {
	count.n++;
	if (depth > deepest || count.n > mostValues) throw new RangeError('the value is too large');
	const items = (values) => values.map((one) => encode(one, depth + 1, count));
	switch (typeof value) {
		case 'boolean':
		case 'string':
			return value;
		case 'number':
			return Number.isFinite(value) && !Object.is(value, -0)
				? value
				: { t: 'number', v: Object.is(value, -0) ? '-0' : String(value) };
		case 'undefined':
			return { t: 'undefined', v: null };
		case 'bigint':
			return { t: 'bigint', v: value.toString() };
	}
	if (value === null) return null;
	if (isArray(value)) return { t: 'array', v: items([...value]) };
	if (typeof value === 'object') {
		const prototype = prototypeOf(value);
		if (prototype === plain || prototype === null) return { t: 'record', v: entriesOf(value).map(items) };
		if (value instanceof Map) return { t: 'map', v: [...value].map(items) };
		if (value instanceof Set) return { t: 'set', v: items([...value]) };
		if (value instanceof Date) return { t: 'date', v: value.getTime() };
		if (ArrayBuffer.isView(value) && !(value instanceof DataView)) {
			return { t: 'array', v: items([...value]) };
		}
	}
	if (!places.has(value)) {
		places.set(value, objects.length);
		objects.push(value);
	}
	return { t: typeof value === 'function' ? 'function' : 'object', v: places.get(value) };
}

function decode(value) {
	if (typeof value !== 'object' || value === null) return value;
	const { t, v } = value;
	if (t === 'undefined') return undefined;
	if (t === 'number') return Number(v);
	if (t === 'bigint') return BigInt(v);
	if (t === 'array') return v.map(decode);
	if (t === 'record') return Object.fromEntries(v.map((pair) => pair.map(decode)));
	if (t === 'map') return new Map(v.map((pair) => pair.map(decode)));
	if (t === 'set') return new Set(v.map(decode));
	if (t === 'date') return new Date(v);
	return objects[v];
}

/** Runs modules as scripts, by removing `export`. */
function load() {
	const code = fs.readFileSync('answer.js', 'utf8').replace(/^\s*export\s+(?:default\s+)?(?=[\w({[])/gm, '');
	globalThis.require = require;
	globalThis.module = { exports: {} };
	globalThis.exports = globalThis.module.exports;
	runInThisContext(code, { filename: 'answer.js' });
	const exported = globalThis.module.exports;
	if (typeof exported === 'function' && exported.name) globalThis[exported.name] ??= exported;
	for (const [name, value] of entriesOf(exported)) {
		if (!isKnown(name)) globalThis[name] = value;
	}
	return { value: null };
}

const identifier = /^[\p{L}_$][\p{L}\p{N}_$]*$/u;
const isKnown = (name) => identifier.test(name) && runInThisContext(`typeof ${name}`) !== 'undefined';

async function handle(request) {
	const named = () => ('target' in request ? objects[request.target] : runInThisContext(request.name));
	switch (request.op) {
		case 'load':
			return load();
		case 'has':
			return { value: isKnown(request.name) };
		case 'name':
			return { value: encode(named()) };
		case 'get': {
			const target = named();
			const value = target[request.attribute];
			return { value: encode(typeof value === 'function' ? value.bind(target) : value) };
		}
		case 'set':
			named()[request.attribute] = decode(request.value);
			return { value: null };
		case 'new':
			return { value: encode(Reflect.construct(named(), request.args.map(decode))) };
		default: {
			const value = named()(...request.args.map(decode));
			if (!(value instanceof Promise)) return { value: encode(value) };
			return value
				.then((one) => ({ later: true, value: encode(one) }))
				.catch((error) => ({ later: true, ...told(error) }));
		}
	}
}

function told(error) {
	const { name, message } = error instanceof Error ? error : { name: 'Error', message: 'not an error' };
	return { error: [String(name), String(message).slice(0, 500)] };
}

let pending = Buffer.alloc(0);
const chunk = Buffer.alloc(65_536);
function nextLine() {
	for (;;) {
		const end = pending.indexOf(10);
		if (end >= 0) {
			const line = pending.subarray(0, end).toString('utf8');
			pending = pending.subarray(end + 1);
			return line;
		}
		let length;
		try {
			length = readSync(0, chunk);
		} catch (error) {
			if (error.code !== 'EAGAIN') return null;
			Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2);
			continue;
		}
		if (length === 0) return null;
		pending = Buffer.concat([pending, chunk.subarray(0, length)]);
	}
}

/** Writes a line. Retries while the pipe is full. */
function send(text) {
	let rest = Buffer.from(`${text}\n`);
	while (rest.length > 0) {
		try {
			rest = rest.subarray(writeSync(1, rest));
		} catch (error) {
			if (error.code !== 'EAGAIN') return;
			Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2);
		}
	}
}

async function main() {
	// Discard anything that the answer prints, because it is not a reply.
	process.stdout.write = () => true;
	process.stderr.write = () => true;
	for (;;) {
		const line = nextLine();
		if (line === null) return;
		let reply;
		try {
			reply = await handle(parse(line));
		} catch (error) {
			reply = told(error);
		}
		send(stringify(reply));
	}
}

main();
