import { parseBoundedJson } from '../base/boundedJson.ts';
import { Failure } from '../base/failure.ts';
import type { Benchmark } from './codeTestsComparison.ts';

/**
 * A row's tests.
 * - `streams`: programs that read stdin and write stdout
 * - `asserts`: code snippets that make assertions about the answer's functions
 * - `calls`: arguments and expected values for one function, as the text of `{"inputs": [[...], ...], "outputs":
 *   [...]}`
 *
 * An entry point is the name of a function, or `Solution().name`, as on LeetCode.
 */
export type CodeTests =
	| {
			readonly kind: 'streams';
			readonly cases: readonly { readonly input: string; readonly output: string }[];
			readonly benchmark: Benchmark;
	  }
	| {
			readonly kind: 'asserts';
			readonly setup: readonly string[];
			/** Either prose or code that defines helpers used by the tests in addition to the function (HumanEval). */
			readonly prompt: string | null;
			readonly tests: readonly string[];
			readonly entryPoint: string | null;
	  }
	| {
			readonly kind: 'calls';
			readonly entryPoint: string;
			readonly json: string;
			readonly count: number;
			readonly benchmark: Benchmark;
	  };

type Row = Readonly<Record<string, unknown>>;

/** Columns in which datasets store tests: MBPP, HumanEval, APPS and TACO, LiveCodeBench, SYNTHETIC-1. */
const usualColumns = [
	'tests',
	'test_list',
	'test',
	'input_output',
	'test_cases',
	'public_test_cases',
	'verification_info',
];
const entryPointColumns = ['entry_point', 'fn_name', 'func_name', 'function_name'];

/**
 * Reads a row's tests from the given column or, if no column is given, from the first common test column in the row.
 * Returns null if there are none. Fails with `invalid` if the column's contents are not recognized.
 */
export function readCodeTests(row: Row, column?: string): CodeTests | null {
	const name = column ?? usualColumns.find((usual) => isSomething(row[usual]));
	if (name === undefined || !isSomething(row[name])) return null;
	const tests = fromValue(row[name], row, null);
	if (tests !== null) return tests;
	throw new Failure(
		'invalid',
		`Column "${name}" does not contain valid tests.`,
		'Write a list of asserts or of {"input", "output"} pairs. See docs/sandbox.md for the formats.',
	);
}

function isSomething(value: unknown): boolean {
	if (value === undefined || value === null || value === '') return false;
	return !(Array.isArray(value) && value.length === 0);
}

/** @param source JSON text of the value, in which numbers keep all their digits */
function fromValue(value: unknown, row: Row, source: string | null): CodeTests | null {
	if (typeof value === 'string') {
		const parsed = /^\s*[[{]/.test(value) ? parseJson(value) : undefined;
		return parsed === undefined ? asserts([value], row) : fromValue(parsed, row, value);
	}
	if (Array.isArray(value)) return fromList(value, row);
	if (!isRecord(value)) return null;
	const { inputs, outputs } = value;
	if (Array.isArray(inputs) && Array.isArray(outputs)) return fromColumns(value, inputs, outputs, row, source);
	const inner = usualColumns.find((name) => isSomething(value[name]));
	return inner === undefined ? null : fromValue(value[inner], { ...row, ...value }, null);
}

function fromList(list: readonly unknown[], row: Row): CodeTests | null {
	if (list.every((one) => typeof one === 'string')) return asserts(list, row);
	if (!list.every(isRecord)) return null;
	const [first] = list;
	if (first === undefined || !('input' in first && 'output' in first)) return null;
	const benchmark = benchmarkOf(first);
	const functional = first.testtype === 'functional' || first.type === 'function_call';
	const entryPoint = entryPointOf({ ...row, ...first });
	if (functional && entryPoint !== null) {
		// LiveCodeBench: one JSON argument per line. SYNTHETIC-1: a list of arguments.
		const inputs = list.map(({ input }) => `[${typeof input === 'string' ? argumentLines(input) : inner(input)}]`);
		const outputs = list.map(({ output }) => (typeof output === 'string' ? jsonText(output) : JSON.stringify(output)));
		const json = `{"inputs":[${inputs.join()}],"outputs":[${outputs.join()}]}`;
		return { kind: 'calls', entryPoint, json, count: list.length, benchmark };
	}
	return {
		kind: 'streams',
		benchmark,
		cases: list.map(({ input, output }) => ({ input: stream(input), output: stream(output) })),
	};
}

/** Determines the benchmark. Only LiveCodeBench specifies a test type for each case. */
function benchmarkOf(testCase: Row): Benchmark {
	return 'testtype' in testCase ? 'livecodebench' : 'other';
}

/** Reads APPS and TACO tests: `{"inputs": [...], "outputs": [...], "fn_name"?}`. */
function fromColumns(
	value: Row,
	inputs: readonly unknown[],
	outputs: readonly unknown[],
	row: Row,
	source: string | null,
): CodeTests | null {
	if (inputs.length !== outputs.length || inputs.length === 0) return null;
	const entryPoint = entryPointOf(value) ?? (inputs.every(Array.isArray) ? entryPointOf(row) : null);
	if (entryPoint !== null && inputs.every(Array.isArray)) {
		const json = `${(source ?? JSON.stringify({ inputs, outputs })).trim().replace(/\}$/, '')},"wrapped":true}`;
		return { kind: 'calls', entryPoint, json, count: inputs.length, benchmark: 'apps' };
	}
	const cases = inputs.map((input, i) => ({ input: stream(input), output: stream(outputs[i]) }));
	return { kind: 'streams', cases, benchmark: 'apps' };
}

function asserts(tests: readonly string[], row: Row): CodeTests | null {
	const used = tests.filter((test) => test.trim() !== '');
	if (used.length === 0) return null;
	const entryPoint = entryPointOf(row);
	const setup = [row.test_imports, row.test_setup_code].flatMap((part) =>
		typeof part === 'string' ? [part] : Array.isArray(part) ? part.filter((line) => typeof line === 'string') : [],
	);
	if (![...used, ...setup].some((code) => deciding.test(code))) {
		throw new Failure(
			'invalid',
			'The tests in this row assert nothing, so any answer would pass.',
			'Write asserts, or {"input", "output"} pairs that describe what the program prints.',
		);
	}
	const { prompt } = row;
	// HumanEval's prompt contains the start of the function. For a method, the prompt contains what the answer needs:
	// imports and node classes.
	const begins = entryPoint === null || entryPoint.startsWith('Solution()') ? 'from|import|class' : `def ${entryPoint}`;
	const isCode = entryPoint !== null && typeof prompt === 'string' && new RegExp(`^(?:${begins})\\b`, 'm').test(prompt);
	return {
		...{ kind: 'asserts', setup: setup.filter((part) => part.trim() !== ''), tests: used, entryPoint },
		prompt: isCode ? prompt : null,
	};
}

/** Words that suggest a test can fail. A test that only prints accepts any answer. */
const deciding = /assert|raise|throw|expect|check|verif|exit|fail|should|equal|unittest|match|compar|reject/i;

const entryPointForm = /^(?:Solution\(\)\.)?[A-Za-z_$][\w$]*$/;

function entryPointOf(row: Row): string | null {
	const metadata = typeof row.metadata === 'string' ? parseJson(row.metadata) : row.metadata;
	for (const place of [row, isRecord(metadata) ? metadata : {}]) {
		for (const column of entryPointColumns) {
			const name = place[column];
			if (typeof name === 'string' && entryPointForm.test(name)) return name;
		}
	}
	return null;
}

function isRecord(value: unknown): value is Row {
	return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function parseJson(text: string): unknown {
	try {
		return parseBoundedJson(text);
	} catch {
		return undefined;
	}
}

/** Converts a value to stream text. APPS has values that are lists of lines. */
function stream(value: unknown): string {
	if (typeof value === 'string') return value;
	if (Array.isArray(value)) return value.map(stream).join('\n');
	return typeof value === 'number' || typeof value === 'boolean' ? String(value) : JSON.stringify(value ?? '');
}

const jsonText = (text: string) => (parseJson(text) === undefined ? JSON.stringify(text) : text);
const argumentLines = (text: string) =>
	text
		.split('\n')
		.filter((line) => line.trim() !== '')
		.map(jsonText)
		.join();
const inner = (value: unknown) => (Array.isArray(value) ? value : [value]).map((one) => JSON.stringify(one)).join();
