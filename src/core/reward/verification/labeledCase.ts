import * as v from 'valibot';
import { parseBoundedJson } from '../../../base/boundedJson.ts';
import { decode } from '../../../protocol/decode.ts';
import { type Expectation, expectationSchema } from '../../../protocol/verification.ts';

const caseSchema = v.strictObject({
	/** Display name. Default: "case 3". */
	name: v.optional(v.string()),
	/** Name of a function in the reward file. Default: see `caseReward`. */
	reward: v.optional(v.string()),
	prompt: v.optional(v.string(), ''),
	completion: v.string(),
	/** Gold answer. Default: `answer` in the row. */
	answer: v.optional(v.unknown()),
	/** Dataset columns. */
	row: v.optional(
		v.pipe(
			v.unknown(),
			v.check((row) => !Array.isArray(row)),
			v.record(v.string(), v.unknown()),
		),
		{},
	),
	/** null if not recorded. */
	truncated: v.optional(v.nullable(v.boolean()), false),
	expect: expectationSchema,
});

/** Line in NAME.cases.jsonl: a completion and its expected reward. */
export type LabeledCase = v.InferOutput<typeof caseSchema> & {
	/** 1-based line number in the file. */
	readonly line: number;
	/** Name of the case, or "case N" by default, counting from 1. */
	readonly label: string;
};

export interface CaseFault {
	readonly line: number;
	/** Description of the problem, without its location. */
	readonly message: string;
	readonly action: string;
}

export interface ParsedCases {
	readonly cases: readonly LabeledCase[];
	readonly faults: readonly CaseFault[];
}

const form = '{"prompt": "2+2=", "completion": "<answer>4</answer>", "row": {"answer": "4"}, "expect": 1}';
const comment = /^\s*(?:\/\/|#)/;
/** Maximum number of characters per line. */
const longestCase = 4_000_000;

function faultOf(value: unknown): { message: string; action: string } {
	const decoded = decode(caseSchema, value);
	const [fault] = decoded.ok || Array.isArray(value) ? [] : decoded.faults;
	const key = fault?.path ?? '';
	if (key === 'expect') {
		return {
			message: 'has an invalid "expect"',
			action: 'Use a number, null, or a range such as {"min": 0.5, "max": 1}.',
		};
	}
	if (key === 'completion') return { message: 'is missing a "completion" string', action: `Use this format: ${form}.` };
	const known = Object.keys(caseSchema.entries).join(', ');
	return {
		message: key === '' ? 'is not a labeled case' : `has an unknown or invalid "${key.slice(0, 80)}"`,
		action: `Allowed keys: ${known}.`,
	};
}

/**
 * Parses labeled cases from JSONL. Blank lines and lines that start with `//` or `#` are skipped. Each invalid line is
 * reported as a fault with its line number; valid lines are kept.
 */
export function parseCases(text: string): ParsedCases {
	const cases: LabeledCase[] = [];
	const faults: CaseFault[] = [];
	for (const [i, raw] of text.split('\n').entries()) {
		const line = i + 1;
		const source = i === 0 ? raw.replace(/^\uFEFF/, '') : raw;
		if (source.trim() === '' || comment.test(source)) continue;
		if (source.length > longestCase) {
			faults.push({ line, message: `has more than ${longestCase} characters`, action: 'Shorten the case.' });
			continue;
		}
		let value: unknown;
		try {
			value = parseBoundedJson(source);
		} catch {
			faults.push({ line, message: 'is not valid JSON', action: `Write one object per line, such as ${form}.` });
			continue;
		}
		const decoded = decode(caseSchema, value);
		if (!decoded.ok || !isRange(decoded.value.expect)) {
			faults.push({ line, ...(decoded.ok ? emptyRange : faultOf(value)) });
			continue;
		}
		cases.push({ ...decoded.value, line, label: decoded.value.name ?? `case ${cases.length + faults.length + 1}` });
	}
	return { cases, faults };
}

const emptyRange = {
	message: 'has an "expect" range that matches no value or every value',
	action: 'Specify "min", "max", or both with min <= max.',
};

function isRange(expect: Expectation): boolean {
	if (expect === null || typeof expect === 'number') return expect === null || Number.isFinite(expect);
	const { min, max } = expect;
	if (min === undefined && max === undefined) return false;
	return min === undefined || max === undefined || min <= max;
}

/** Tolerance when comparing with an expected number. */
const tolerance = 1e-9;

/**
 * Returns whether a value meets an expectation: a number within 1e-9, a range including its endpoints, or exactly null.
 */
export function meetsExpectation(value: number | null, expect: Expectation): boolean {
	if (expect === null || value === null) return expect === value;
	if (typeof expect === 'number') return Math.abs(value - expect) <= tolerance;
	return value >= (expect.min ?? Number.NEGATIVE_INFINITY) && value <= (expect.max ?? Number.POSITIVE_INFINITY);
}

/** Formats an expectation: "1", "at least 0.5", "between 0 and 1", "null". */
export function describeExpectation(expect: Expectation): string {
	if (expect === null || typeof expect === 'number') return String(expect);
	const { min, max } = expect;
	if (min === undefined) return `at most ${max}`;
	return max === undefined ? `at least ${min}` : `between ${min} and ${max}`;
}

/**
 * Returns the function tested by a case without `reward`: the one with the same name as the file (`brevity` in
 * brevity.reward.ts; `-` and `.` match `_`), otherwise the first one.
 */
export function caseReward(fileName: string, rewards: readonly string[]): string | null {
	const plain = (name: string) => name.replace(/[-.]/g, '_').toLowerCase();
	const stem = plain(fileName.replace(/\.reward\.[a-z]+$/i, ''));
	return rewards.find((name) => plain(name) === stem) ?? rewards[0] ?? null;
}
