import type { ProbeRow } from './probe.ts';

/** Columns where coding datasets store their tests. */
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

export type ProgramLanguage = 'python' | 'javascript';

/** Coding properties of a row. */
export interface CodeTests {
	/** The tests as text, regardless of the column's format. */
	readonly text: string;
	/** Requested function, or requested method of a `Solution` class. */
	readonly entryPoint: string;
	readonly isMethod: boolean;
	readonly language: ProgramLanguage;
	/** A correct program, taken from the gold answer. */
	readonly gold: string;
}

const ofSolution = 'Solution().';
const identifier = /^(?:Solution\(\)\.)?[A-Za-z_$][\w$]{0,99}$/;

/** Returns the tests for a coding row, or null if it has none. */
export function codeTestsOf({ row, answer }: Pick<ProbeRow, 'row' | 'answer'>): CodeTests | null {
	for (const column of columns) {
		const value = row[column];
		if (value === undefined || value === null || value === '' || typeof value === 'number') continue;
		if (Array.isArray(value) && value.length === 0) continue;
		const parts = Array.isArray(value) ? value : [value];
		const text = parts.map((part) => (typeof part === 'string' ? part : JSON.stringify(part))).join('\n');
		const gold = fencedCode(answer);
		const called = /\b(?:assert|console\.assert|assert\.\w+)\b\s*(?:not\s+)?\(?\s*([A-Za-z_$][\w$]*)\s*\(/.exec(
			text,
		)?.[1];
		const named = entryPointIn(row) ?? entryPointIn(row.metadata) ?? entryPointIn(value) ?? called ?? 'solve';
		return {
			...{ text, gold, language: languageOf(row, gold, text) },
			...{ entryPoint: named.replace(ofSolution, ''), isMethod: named.startsWith(ofSolution) },
		};
	}
	return null;
}

const fencedCode = (text: string) => /```[^\n]*\n(.*?)```/s.exec(text)?.[1] ?? text;

/** Returns the function name from a dedicated column or from the tests, as in APPS, LiveCodeBench, and SYNTHETIC-1. */
function entryPointIn(value: unknown, depth = 0): string | null {
	if (typeof value === 'string' && /^\s*[[{]/.test(value)) return entryPointIn(parsed(value), depth);
	if (typeof value !== 'object' || value === null || depth > 2) return null;
	if (Array.isArray(value)) return entryPointIn(value[0], depth + 1);
	const record = value as Readonly<Record<string, unknown>>;
	const name = entryPoints.map((key) => record[key]).find((one) => typeof one === 'string' && identifier.test(one));
	if (typeof name === 'string') return name;
	return depth === 0 ? entryPointIn(record.test_cases, depth + 1) : null;
}

function parsed(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return null;
	}
}

const javascript =
	/\bconsole\.(?:assert|log)\b|\bassert\.\w+\(|===|=>|\brequire\(|\b(?:const|let|var)\s+\w+\s*=|\bfunction\s*\w*\(/;
const python = /^\s*(?:def|class|import|from|assert|for|if)\s[^{]*$/m;

/**
 * Returns the language named in a column or, if there is none, the language of the gold answer and tests. Defaults to
 * Python.
 */
function languageOf(row: ProbeRow['row'], ...texts: readonly string[]): ProgramLanguage {
	const named = [row.language, row.lang, row.programming_language].find((one) => typeof one === 'string');
	if (typeof named === 'string' && /^(?:javascript|js|typescript|ts|node)/i.test(named)) return 'javascript';
	if (typeof named === 'string' && /^py/i.test(named)) return 'python';
	const distinctive = texts.find((text) => python.test(text) !== javascript.test(text));
	return distinctive !== undefined && javascript.test(distinctive) ? 'javascript' : 'python';
}
