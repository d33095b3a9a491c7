/**
 * `describe`, `it` and hooks for tests in the style of Mocha, Jest and node:test. Tests are collected while the code
 * runs, and run one after another once it has ended. The checker determines what counts as an assertion, a function
 * from the answer, or a fault in the row.
 */

/** Makes using unsupported properties, such as `it.each` and `describe.skip`, an error. */
function withoutParts(target, name, notRun) {
	return new Proxy(target, {
		get(_, key) {
			if (typeof key === 'symbol' || key in target) return target[key];
			throw notRun(`they use ${name}.${key}, which is not supported`);
		},
	});
}

/**
 * @param checker `isOfAnswer(value)`; `notRun(words)`, which returns the error for an unsupported feature;
 * `counted(function, run)`, which awaits run() and throws if the function's assertions fail; `assert`
 */
exports.createRunner = (checker) => {
	const { isOfAnswer, notRun, counted } = checker;
	const suiteIn = (parent) => ({ parent, before: [], beforeEach: [], afterEach: [], after: [], children: [] });
	const root = suiteIn(null);
	let suite = root;
	/** `error` is undefined until the test has run, and null if it passed. */
	const tests = [];

	function bodyOf(args, what) {
		const body = args.find((one) => typeof one === 'function');
		if (isOfAnswer(body)) throw new TypeError(`a function from the answer cannot be a ${what}`);
		const options = args.find((one) => typeof one === 'object' && one !== null && !isOfAnswer(one)) ?? {};
		if (body === undefined || options.skip || options.todo) throw notRun(`they skip a ${what}`);
		return body;
	}

	function describe(...args) {
		const body = bodyOf(args, 'suite');
		const outer = suite;
		suite = suiteIn(outer);
		outer.children.push(suite);
		try {
			if (body() instanceof Promise) throw notRun('they pass an async function to describe');
		} finally {
			suite = outer;
		}
	}

	const hook = (when) => (body) => {
		suite[when].push(bodyOf([body], 'hook'));
	};

	/** A node:test test receives a context; a Mocha or Jest test receives a callback to call when it is done. */
	const collect =
		(hasContext) =>
		(...args) => {
			const test = { body: bodyOf(args, 'test'), hasContext, error: undefined };
			tests.push(test);
			suite.children.push(test);
		};

	const contextOf = () =>
		withoutParts(
			{
				assert: checker.assert,
				diagnostic() {},
				async test(...args) {
					const test = { body: bodyOf(args, 'test'), hasContext: true, error: undefined };
					tests.push(test);
					await runBody(test);
				},
			},
			't',
			notRun,
		);

	function call(body, hasContext) {
		if (hasContext) return body(contextOf());
		if (body.length === 0) return body();
		return new Promise((resolve, reject) => {
			body((error) => (error ? reject(error) : resolve()));
		});
	}

	async function runBody(test) {
		try {
			await counted(test.body, () => call(test.body, test.hasContext));
			test.error ??= null;
		} catch (error) {
			test.error = error ?? new Error('the test failed');
		}
	}

	const around = (of, when) => (of === null ? [] : [...around(of.parent, when), of[when]]);

	async function runTest(test, of) {
		try {
			for (const body of around(of, 'beforeEach').flat()) await call(body, false);
			await runBody(test);
			for (const body of around(of, 'afterEach').reverse().flat()) await call(body, false);
		} catch (error) {
			test.error = error ?? new Error('a hook failed');
		}
	}

	/** An error in a suite-level hook ends all tests. */
	async function runSuite(of) {
		for (const body of of.before) await call(body, false);
		for (const child of of.children) await ('body' in child ? runTest(child, of) : runSuite(child));
		for (const body of of.after) await call(body, false);
	}

	const hooks = Object.fromEntries(['before', 'beforeEach', 'afterEach', 'after'].map((when) => [when, hook(when)]));
	const namesOf = (hasContext) => {
		const named = (name, run) => withoutParts(run, name, notRun);
		const it = named('it', collect(hasContext));
		return { ...hooks, describe: named('describe', describe), it, test: named('test', collect(hasContext)) };
	};
	const ofNode = namesOf(true);
	return {
		/** Names as in Mocha and Jest. */
		names: { ...namesOf(false), beforeAll: hooks.before, afterAll: hooks.after },
		/** The module node:test. */
		module: withoutParts(Object.assign(collect(true), ofNode, { suite: ofNode.describe }), 'node:test', notRun),
		tests,
		run: () => runSuite(root),
	};
};
