/**
 * Runs tests against an answer that runs in another sandbox. The answer's functions are stand-ins here: a call sends the
 * arguments over and gets plain values back. Nothing of the answer runs in this process, nothing of the tests in the other.
 */
const fs = require('node:fs');
const assert = require('node:assert');
const { isDeepStrictEqual } = require('node:util');

const { stringify, parse } = JSON;
const state = { stopped: false, calls: 0 };

class Stopped extends Error {}

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
			length = fs.readSync(0, chunk);
		} catch (error) {
			if (error.code !== 'EAGAIN') return null;
			Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2);
			continue;
		}
		if (length === 0) return null;
		pending = Buffer.concat([pending, chunk.subarray(0, length)]);
	}
}

function send(descriptor, text) {
	let rest = Buffer.from(`${text}\n`);
	while (rest.length > 0) {
		try {
			rest = rest.subarray(fs.writeSync(descriptor, rest));
		} catch (error) {
			if (error.code !== 'EAGAIN') throw error;
			Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2);
		}
	}
}

function ask(request) {
	if (state.stopped) throw new Stopped();
	let line = null;
	try {
		send(1, stringify(request));
		line = nextLine();
	} catch {
		line = null;
	}
	if (line === null) {
		state.stopped = true;
		throw new Stopped();
	}
	const reply = parse(line);
	if (reply.error === undefined) return reply.value;
	const [name, message] = reply.error;
	const known = { TypeError, RangeError, SyntaxError, ReferenceError, EvalError, URIError }[name];
	throw known === undefined ? Object.assign(new Error(message), { name: String(name) }) : new known(message);
}

/** Objects that live beside the answer; they equal nothing and show no properties by themselves. */
const targets = new WeakMap();
function remote(target) {
	const use = (request) => {
		state.calls++;
		return decode(ask({ ...request, target }));
	};
	const closed = () => {
		throw new TypeError('an object of the answer is compared with a value');
	};
	// biome-ignore lint/complexity/useArrowFunction: an arrow function cannot be constructed, and so could no proxy of it.
	const callable = function () {};
	const proxy = new Proxy(callable, {
		get(_, name) {
			if (typeof name === 'symbol' || name === 'then' || name === 'valueOf' || name === 'toString') return undefined;
			return use({ op: 'get', attribute: name });
		},
		set(_, name, value) {
			use({ op: 'set', attribute: String(name), value: encode(value) });
			return true;
		},
		apply: (_, __, args) => use({ op: 'call', args: args.map((one) => encode(one)) }),
		construct: (_, args) => use({ op: 'new', args: args.map((one) => encode(one)) }),
		ownKeys: closed,
		getPrototypeOf: closed,
		getOwnPropertyDescriptor: closed,
		has: closed,
	});
	targets.set(proxy, target);
	return proxy;
}

function encode(value) {
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
	if (targets.has(value)) return { t: 'object', v: targets.get(value) };
	if (Array.isArray(value)) return { t: 'array', v: [...value].map((one) => encode(one)) };
	if (value instanceof Map) return { t: 'map', v: [...value].map((pair) => pair.map((one) => encode(one))) };
	if (value instanceof Set) return { t: 'set', v: [...value].map((one) => encode(one)) };
	if (value instanceof Date) return { t: 'date', v: value.getTime() };
	if (typeof value === 'object') {
		return { t: 'record', v: Object.entries(value).map((pair) => pair.map((one) => encode(one))) };
	}
	throw new TypeError(`a test cannot pass a ${typeof value}`);
}

const objects = new Map();
function decode(value) {
	if (typeof value !== 'object' || value === null) return value;
	const { t, v } = value;
	switch (t) {
		case 'undefined':
			return undefined;
		case 'number':
			return Number(v);
		case 'bigint':
			return BigInt(v);
		case 'array':
			return v.map(decode);
		case 'record': {
			const record = {};
			// No assignment: a key may be __proto__.
			for (const [key, one] of v) {
				Object.defineProperty(record, String(key), {
					value: decode(one),
					enumerable: true,
					writable: true,
					configurable: true,
				});
			}
			return record;
		}
		case 'map':
			return new Map(v.map((pair) => pair.map(decode)));
		case 'set':
			return new Set(v.map(decode));
		case 'date':
			return new Date(v);
		default: {
			const known = objects.get(v) ?? remote(v);
			objects.set(v, known);
			return known;
		}
	}
}

/** Runners and comparisons are never the answer's: a test that counts on them and does not bring them cannot run. */
const reserved =
	/^(?:assert.*|expect|test|it|describe|suite|before|after|beforeEach|afterEach|jest|vi|chai|should|__.*)$/i;

/** `assert` for values of the answer: its objects are neither true nor false. */
function isTrue(value, ...words) {
	if (targets.has(value)) throw new TypeError('an object of the answer is neither true nor false');
	assert(value, ...words);
}
const checkedAssert = Object.assign((...args) => isTrue(...args), assert, { ok: isTrue });
/** What prints in a program decides in a test. */
const checkedConsole = { ...console, assert: isTrue };

/** Names as the tests see them: those of the tests, the language's, and only then the answer's. */
function scopeOf(own) {
	const found = new Map();
	return new Proxy(own, {
		has(target, name) {
			if (typeof name === 'symbol') return false;
			if (name in target) return true;
			if (name in globalThis || name === 'undefined' || name === 'arguments' || reserved.test(name)) return false;
			if (!found.has(name)) {
				const there = ask({ op: 'has', name }) === true;
				found.set(name, there ? { value: decode(ask({ op: 'name', name })) } : null);
			}
			return found.get(name) !== null;
		},
		get(target, name) {
			if (typeof name === 'symbol') return undefined;
			return name in target ? target[name] : found.get(name)?.value;
		},
	});
}

/** The module `assert` is the checked one. */
const required = (name) => (/^(?:node:)?assert(?:\/strict)?$/.test(name) ? checkedAssert : require(name));

async function runCode(code, own) {
	const body = `return (async () => { with (scope) {\n${code}\n} })()`;
	await new Function('scope', body)(scopeOf(own));
}

/**
 * Equality of JSON. A whole number is met exactly (but for the last bits of a double: JSON does not tell 2 from 2.0), a
 * fraction within the row's tolerance: it is relative to the expected value, so that no infinite value is near anything.
 */
function same(value, expected, { relative, zero }) {
	if (typeof value === 'number' && typeof expected === 'number') {
		if (!Number.isFinite(value) || !Number.isFinite(expected)) return false;
		const share = Number.isInteger(expected) ? Math.min(relative, 1e-15) : relative;
		const tolerance = expected === 0 ? zero : share * Math.abs(expected);
		return Math.abs(value - expected) <= tolerance;
	}
	if (Array.isArray(value) && Array.isArray(expected)) {
		return value.length === expected.length && value.every((one, i) => same(one, expected[i], { relative, zero }));
	}
	return isDeepStrictEqual(value, expected);
}

async function runCall({ entryPoint, tolerance }, args, expected, alternatives, scope) {
	let callee = entryPoint in scope ? scope[entryPoint] : undefined;
	if (callee === undefined && 'Solution' in scope) callee = new scope.Solution()[entryPoint];
	if (callee === undefined) throw new ReferenceError(`the answer does not define ${entryPoint}`);
	const value = callee(...args);
	assert(
		[expected, ...alternatives].some((one) => same(value, one, tolerance)),
		'the value is not the expected one',
	);
}

const say = (verdict) => send(2, stringify(verdict));

async function main() {
	const tests = parse(fs.readFileSync('tests.json', 'utf8'));
	for (const stream of [process.stdout, process.stderr]) stream.write = () => true;
	try {
		ask({ op: 'load' });
	} catch (error) {
		const stopped = error instanceof Stopped;
		return say({
			load: stopped ? 'the answer ended its process' : `${error.name}: ${error.message}`.slice(0, 300),
			stopped,
		});
	}
	const calls = tests.calls ? parse(tests.calls) : null;
	const count = Math.min(tests.most, calls === null ? tests.tests.length : calls.inputs.length);
	for (let number = tests.skip; number < count; number++) {
		state.calls = 0;
		let why = null;
		try {
			if (calls !== null) {
				const expected = calls.outputs[number];
				const wrapped = calls.wrapped === true && Array.isArray(expected) && expected.length === 1;
				await runCall(tests, calls.inputs[number], expected, wrapped ? expected : [], scopeOf({}));
			} else {
				const own = { assert: checkedAssert, console: checkedConsole, require: required, module: { exports: {} } };
				const scope = scopeOf(own);
				if (tests.entryPoint && tests.entryPoint in scope) own.candidate = scope[tests.entryPoint];
				await runCode([...tests.setup, tests.tests[number]].join('\n'), own);
			}
			if (state.calls === 0) why = 'the test did not use the answer';
		} catch (error) {
			why = `${error?.name}: ${String(error?.message).split('\n')[0].slice(0, 300)}`;
		}
		if (state.stopped) {
			return say({ test: number, parts: 1, passed: 0, why: 'the answer ended its process', stopped: true });
		}
		say({ test: number, parts: 1, passed: why === null ? 1 : 0, why });
	}
	say({ done: true });
}

main().catch((error) => {
	say({ load: String(error?.message) });
});
