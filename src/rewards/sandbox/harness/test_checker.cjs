/**
 * Runs tests against an answer that runs in another sandbox. The answer's functions are proxies here: a call sends its
 * arguments and receives a plain value. No code from the answer runs in this process, and no code from the tests runs
 * in the other one.
 */
const fs = require('node:fs');
const assert = require('node:assert');
const { createRunner } = require('./test_runner.cjs');

const { stringify, parse } = JSON;
const state = { stopped: false, calls: 0, asserted: 0, failure: null, status: null, fault: null };

class Stopped extends Error {}

/** Thrown if the row's tests have an unsupported format. The answer is not at fault. */
class Misunderstood extends Error {}

/** Thrown by `process.exit`, so that it ends the test but not the checker. */
class Ended extends Error {}

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
	// The result of an async function is a promise here as well.
	if (reply.later === true) {
		return reply.error === undefined ? Promise.resolve(decode(reply.value)) : Promise.reject(remoteError(reply.error));
	}
	if (reply.error !== undefined) throw remoteError(reply.error);
	return decode(reply.value);
}

const errorClasses = new Map(
	[TypeError, RangeError, SyntaxError, ReferenceError, EvalError, URIError].map((one) => [one.name, one]),
);
/** Errors thrown by the answer, which are never the row's fault. */
const remoteErrors = new WeakSet();

function remoteError([name, message]) {
	const known = errorClasses.get(name);
	const text = String(message);
	const error = known === undefined ? Object.assign(new Error(text), { name: String(name) }) : new known(text);
	remoteErrors.add(error);
	return error;
}

/** Properties that the language reads implicitly, to compare, print or await an object. */
const hidden = new Set(['then', 'valueOf', 'toString', 'toJSON']);

/** Proxies of objects in the answer's process. They equal nothing, and their properties cannot be listed. */
const targets = new WeakMap();
function remote(target, isCallable) {
	const use = (request) => {
		state.calls++;
		return ask({ ...request, target });
	};
	const closed = () => {
		throw new TypeError('an object in the answer is compared with another value');
	};
	// biome-ignore lint/complexity/useArrowFunction: an arrow function, or a proxy of one, cannot be constructed.
	const callable = function () {};
	const proxy = new Proxy(isCallable ? callable : {}, {
		get(_, name) {
			// In JSON, the proxy would be null or missing.
			if (name === 'toJSON') return closed();
			if (typeof name === 'symbol' || hidden.has(name)) return undefined;
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
	const words = `they pass a ${typeof value} to the answer, which can only receive plain values`;
	// Once the answer has returned something, it might have caused this call, for example by returning an object with a
	// forEach method instead of a list.
	throw state.calls === 0 ? new Misunderstood(words) : new TypeError(words);
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
			for (const [key, one] of v) {
				const inner = decode(one);
				// The language would call this property of the answer implicitly when comparing the record.
				const isAsked = hidden.has(key) && targets.has(inner);
				// Not assigned, because the key can be __proto__.
				Object.defineProperty(record, String(key), {
					value: isAsked ? undefined : inner,
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
			const known = objects.get(v) ?? remote(v, t === 'function');
			objects.set(v, known);
			return known;
		}
	}
}

/**
 * Test runners and comparison functions, which never come from the answer. A test that uses one without providing it
 * cannot run.
 */
const reserved = /^(?:assert.*|expect|test|it|describe|suite|(?:before|after)(?:Each|All)?|jest|vi|chai|should|__.*)$/i;

/** `assert` for values from the answer. Its objects, and promises of them, have no truth value. */
function isTrue(value, ...words) {
	if (targets.has(value)) throw new TypeError('an object in the answer has no truth value');
	if (value instanceof Promise) throw new TypeError('a promise has no truth value');
	assert(value, ...words);
}

/**
 * Counts assertions. A failed assertion counts even if the test catches the error, unless the test expects failures.
 */
function counting(check) {
	return (...args) => {
		state.asserted++;
		try {
			return check(...args);
		} catch (error) {
			state.failure ??= error;
			throw error;
		}
	};
}

function checkedModule(module) {
	const checks = Object.entries(module).map(([name, value]) => {
		const isCheck = typeof value === 'function' && /^[a-z]/.test(name) && name !== 'strict';
		return [name, isCheck ? counting(value) : value];
	});
	return Object.assign(counting(isTrue), Object.fromEntries(checks), { ok: counting(isTrue) });
}
const checkedStrict = checkedModule(assert.strict);
checkedStrict.strict = checkedStrict;
const checkedAssert = Object.assign(checkedModule(assert), { strict: checkedStrict });
/** `console.assert` only prints in a program, but counts as an assertion in a test. */
const checkedConsole = { ...console, assert: counting(isTrue) };

/** Resolves names for the tests: first their own, then those of the language, and then those of the answer. */
function scopeOf(own) {
	const found = new Map();
	return new Proxy(own, {
		has(target, name) {
			if (typeof name === 'symbol') return false;
			if (name in target) return true;
			if (name in globalThis || reserved.test(name)) return false;
			if (!found.has(name)) {
				const there = ask({ op: 'has', name }) === true;
				found.set(name, there ? { value: ask({ op: 'name', name }) } : null);
			}
			return found.get(name) !== null;
		},
		get(target, name) {
			if (typeof name === 'symbol') return undefined;
			return name in target ? target[name] : found.get(name)?.value;
		},
	});
}

/** Returns `require` for the tests: `assert` is the counting version, and `solution` is the answer. */
function requiredBy(scope, runner) {
	return (name) => {
		if (/^(?:node:)?assert$/.test(name)) return checkedAssert;
		if (/^(?:node:)?assert\/strict$/.test(name)) return checkedStrict;
		if (/^(?:\.{1,2}\/)*(?:solution|answer)(?:\.[cm]?js)?$/.test(name)) {
			return new Proxy({}, { get: (_, key) => (key in scope ? scope[key] : undefined) });
		}
		if (name === 'node:test') return runner.module;
		if (/^(?:vitest$|@jest\/)/.test(name)) throw new Misunderstood(`they are run by ${name}`);
		try {
			return require(name);
		} catch (error) {
			if (error?.code !== 'MODULE_NOT_FOUND') throw error;
			throw new Misunderstood(`they import ${name}, which is not installed`);
		}
	};
}

/** Returns whether a test uses counted assertions, rather than only its own functions or exceptions. */
function assertsByModule(code) {
	const text = code.replace(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm, '');
	const isOwn = /\b(?:function\s+assert\b|(?:const|let|var)\s+assert\s*=(?!\s*(?:await\s+)?(?:require|import)\b))/.test(
		text,
	);
	return !isOwn && /\bassert\s*(?:\.\s*\w+\s*)*\(/.test(text);
}

/**
 * Returns the name of a function that receives the tested value in an assertion but is not defined in the row, or null
 * if none is found. An answer that defines this function could decide its own result.
 */
function judgeOf(code, entryPoint, own) {
	const called = entryPoint
		.replace(/^Solution\(\)\./, '(?:\\(?new\\s+Solution(?:\\(\\))?\\)?\\.)?')
		.replaceAll('$', '\\$');
	const tested = `(?:await\\s+)?(?:candidate|${called})\\s*\\(`;
	const judging = new RegExp(
		`\\bassert(?:\\.ok)?\\s*\\(\\s*!*\\s*(?!${tested})([A-Za-z_$][\\w$]*)[\\w$.]*\\s*\\(\\s*${tested}`,
		'g',
	);
	for (const [, name] of code.matchAll(judging)) {
		const defined = new RegExp(
			`\\b(?:function\\s*\\*?|class|const|let|var)\\s+(?:[{[][^=]*?\\b)?${name.replaceAll('$', '\\$')}(?![\\w$])`,
		);
		if (!(name in own || name in globalThis || reserved.test(name) || defined.test(code))) return name;
	}
	return null;
}

/**
 * Uncaught errors in a test. Always handled, because Node would otherwise print them, including text from the answer,
 * to the stream for verdicts.
 */
let late = [];
const noteLate = (error) => late.push(error ?? new Error('the test failed'));
process.on('unhandledRejection', noteLate).on('uncaughtException', noteLate);

/** Returns whether a test contains code that expects an assertion to fail. */
const expectsFailure = (code) => /\b(?:try|throws|rejects)\b/.test(code);

/** Provides `describe` and `it`. Each test is one part of the verdict. */
function runnerOfTests() {
	return createRunner({
		assert: checkedAssert,
		isOfAnswer: (value) => targets.has(value),
		notRun(words) {
			// If the test has already used the answer, the row is not at fault.
			if (state.calls > 0) return new Error(words);
			state.fault ??= words;
			return new Misunderstood(words);
		},
		async counted(body, run) {
			const outer = { asserted: state.asserted, failure: state.failure };
			state.failure = null;
			try {
				await run();
				const code = Function.prototype.toString.call(body);
				if (state.failure !== null && !expectsFailure(code)) throw state.failure;
				if (state.asserted === outer.asserted && assertsByModule(code)) throw new Error(noneReached);
			} catch (error) {
				state.fault ??= faultOf(error);
				throw error;
			} finally {
				state.failure = outer.failure;
			}
		},
	});
}

const noneReached = "none of the test's assertions was reached";

/**
 * Runs a test, including anything asynchronous that it starts. Returns the number of parts, the number that passed, and
 * the reason for the first failure.
 */
async function runCode(code, own, entryPoint, runner) {
	const judge = entryPoint ? judgeOf(code, entryPoint, own) : null;
	if (judge !== null) throw new Misunderstood(`they compare with ${judge}, which they do not define`);
	let run;
	try {
		run = new Function('scope', `return (async () => { with (scope) {\n${code}\n} })()`);
	} catch (error) {
		throw new Misunderstood(`the test is not valid JavaScript: ${error.message}`);
	}
	Object.assign(state, { asserted: 0, failure: null, status: null, fault: null });
	late = [];
	const others = process.listeners('exit');
	let isDone = false;
	run(scopeOf(own))
		.then(runner.run)
		.catch(noteLate)
		.finally(() => {
			isDone = true;
		});
	// Wait until nothing is pending that could still fail, such as promises and timers.
	await new Promise((resolve) => process.once('beforeExit', () => setImmediate(resolve)));
	for (const listener of process.listeners('exit').filter((one) => !others.includes(one))) {
		process.off('exit', listener);
		try {
			listener(0);
		} catch (error) {
			noteLate(error);
		}
	}
	const status = Number(state.status ?? process.exitCode ?? 0);
	process.exitCode = undefined;
	const failures = late.filter((one) => !(one instanceof Ended));
	const failure = () => {
		if (failures.length > 0) return failures[0];
		if (!isDone && state.status === null) return new Error('the test is waiting for something that never happens');
		if (status !== 0) return new Error(`the test ended with status ${status}`);
		if (state.failure !== null && !expectsFailure(code)) return state.failure;
		if (runner.tests.length === 0 && state.asserted === 0 && assertsByModule(code)) return new Error(noneReached);
		return null;
	};
	const error = failure();
	const fault = state.fault ?? faultOf(error);
	if (fault !== null) throw new Misunderstood(fault);
	const outcomes = runner.tests.map((one) => one.error);
	// An error outside the runner's tests, or the outcome of a test without a runner.
	if (error !== null || outcomes.length === 0) outcomes.unshift(error);
	const [failed = null] = outcomes
		.filter((one) => one !== null)
		.map((one) => one ?? new Error('the test was not reached'));
	return {
		parts: outcomes.length,
		passed: outcomes.filter((one) => one === null).length,
		why: failed === null ? null : wordsOf(failed),
	};
}

process.exit = process.reallyExit = (status = process.exitCode) => {
	state.status ??= status ?? 0;
	throw new Ended('the test has ended');
};

/** Returns why the row's tests cannot run with any answer, or null if no reason is found. */
function faultOf(error) {
	if (error instanceof Misunderstood) return error.message;
	if (!(error instanceof ReferenceError) || remoteErrors.has(error)) return null;
	const [, name = ''] = /^([\w$]+) is not defined$/.exec(error.message) ?? [];
	return reserved.test(name) ? `they use ${name}, which is not defined` : null;
}

/**
 * Returns whether two values are equal as JSON. Integers must match exactly (except for the last bits of a double,
 * because JSON does not distinguish 2 from 2.0), and decimals within the row's tolerance. The tolerance is relative to
 * the expected value, so no infinite value is close to anything.
 */
function same(value, expected, { relative, zero }) {
	if (typeof value === 'number' && typeof expected === 'number') {
		// A relative tolerance would accept every value if the expected value is infinite.
		if (!Number.isFinite(expected)) return value === expected;
		if (Number.isInteger(value) && Number.isInteger(expected)) return value === expected;
		const share = Number.isInteger(expected) ? Math.min(relative, 1e-15) : relative;
		const tolerance = expected === 0 ? zero : share * Math.abs(expected);
		return Math.abs(value - expected) <= tolerance;
	}
	const isSame = (one, other) => same(one, other, { relative, zero });
	if (Array.isArray(value) && Array.isArray(expected)) {
		return value.length === expected.length && value.every((one, i) => isSame(one, expected[i]));
	}
	if (isRecord(value) && isRecord(expected)) {
		const keys = Object.keys(expected);
		const hasAll = Object.keys(value).length === keys.length && keys.every((key) => Object.hasOwn(value, key));
		return hasAll && keys.every((key) => isSame(value[key], expected[key]));
	}
	return value === expected;
}

const isRecord = (value) =>
	typeof value === 'object' &&
	value !== null &&
	!targets.has(value) &&
	Object.getPrototypeOf(value) === Object.prototype;

/**
 * Returns the tested function, or undefined if the answer does not define it. For `Solution().name`, one instance is
 * created per test, on the first call, so a test that makes no calls never uses the answer.
 */
function testedBy(entryPoint, scope) {
	const [, method] = /^Solution\(\)\.(.+)$/.exec(entryPoint) ?? [];
	if (method === undefined) return entryPoint in scope ? scope[entryPoint] : undefined;
	if (!('Solution' in scope)) return undefined;
	let solution;
	return (...args) => {
		const { calls } = state;
		solution ??= new scope.Solution();
		const tested = solution[method];
		// Creating the object does not count: the test has not seen any result yet.
		state.calls = calls;
		return tested(...args);
	};
}

async function runCall({ entryPoint, tolerance }, args, expected, alternatives, scope) {
	// LiveCodeBench and APPS do not distinguish between functions and methods.
	const tested = testedBy(entryPoint, scope) ?? testedBy(`Solution().${entryPoint}`, scope);
	if (tested === undefined) throw new ReferenceError(`the answer does not define ${entryPoint}`);
	const value = await tested(...args);
	assert(
		[expected, ...alternatives].some((one) => same(value, one, tolerance)),
		'the value differs from the expected value',
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
		return say({ load: stopped ? "the answer's process exited" : `${error.name}: ${error.message}`.slice(0, 300) });
	}
	const calls = tests.calls ? parse(tests.calls) : null;
	const count = Math.min(tests.most, calls === null ? tests.tests.length : calls.inputs.length);
	for (let number = tests.skip; number < count; number++) {
		state.calls = 0;
		let verdict = { parts: 1, passed: 1, why: null };
		try {
			if (calls !== null) {
				const expected = calls.outputs[number];
				const wrapped = calls.wrapped === true && Array.isArray(expected) && expected.length === 1;
				await runCall(tests, calls.inputs[number], expected, wrapped ? expected : [], scopeOf({}));
			} else {
				const runner = runnerOfTests();
				const own = { ...runner.names, assert: checkedAssert, console: checkedConsole, module: { exports: {} } };
				const scope = scopeOf(own);
				own.require = requiredBy(scope, runner);
				const tested = tests.entryPoint ? testedBy(tests.entryPoint, scope) : undefined;
				if (tested !== undefined) own.candidate = tested;
				verdict = await runCode([...tests.setup, tests.tests[number]].join('\n'), own, tests.entryPoint, runner);
			}
			if (state.calls === 0) verdict = { parts: 1, passed: 0, why: verdict.why ?? 'the test did not use the answer' };
		} catch (error) {
			const fault = calls === null && !state.stopped ? faultOf(error) : null;
			if (fault !== null) return say({ fault: fault.slice(0, 300) });
			verdict = { parts: 1, passed: 0, why: wordsOf(error) };
		}
		if (state.stopped) {
			return say({ test: number, parts: 1, passed: 0, why: "the answer's process exited" });
		}
		say({ test: number, ...verdict });
	}
}

function wordsOf(error) {
	try {
		return `${error?.name}: ${String(error?.message).split('\n')[0].slice(0, 300)}`;
	} catch {
		return 'an error without a message';
	}
}

main().catch((error) => {
	say({ load: wordsOf(error) });
});
