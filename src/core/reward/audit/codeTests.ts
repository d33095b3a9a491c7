import type { ProbeRow } from './probe.ts';

/** Columns in which datasets of programming problems keep their tests. */
const columns = [
	'tests',
	'test_list',
	'test',
	'input_output',
	'test_cases',
	'public_test_cases',
	'verification_info',
	'unit_tests',
	'test_code',
];
const entryPoints = ['entry_point', 'fn_name', 'func_name', 'function_name', 'function'];

/** What a row says about the code that it asks for. */
export interface CodeTests {
	/** The tests as one text, however the column holds them. */
	readonly text: string;
	/** The function that is asked for. */
	readonly entryPoint: string;
}

const identifier = /^[A-Za-z_]\w{0,99}$/;

/** The tests of a row about code; null when the row has none. */
export function codeTestsOf({ row }: Pick<ProbeRow, 'row'>): CodeTests | null {
	for (const column of columns) {
		const value = row[column];
		if (value === undefined || value === null || value === '' || typeof value === 'number') continue;
		if (Array.isArray(value) && value.length === 0) continue;
		const parts = Array.isArray(value) ? value : [value];
		const text = parts.map((part) => (typeof part === 'string' ? part : JSON.stringify(part))).join('\n');
		const named = entryPoints.map((name) => row[name]).find((name) => typeof name === 'string');
		if (typeof named === 'string' && identifier.test(named)) return { text, entryPoint: named };
		const called = /\bassert\s+(?:not\s+)?\(?\s*([A-Za-z_]\w*)\s*\(/.exec(text)?.[1];
		return { text, entryPoint: called ?? 'solve' };
	}
	return null;
}
