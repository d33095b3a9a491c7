import { Random } from '../../base/random.ts';
import type { BenchmarkName } from '../../protocol/benchmarks.ts';
import { goldText } from '../dataset/answer.ts';
import { promptKey } from '../dataset/datasetRows.ts';
import { type PresetReading, rowParts } from '../dataset/presets.ts';
import type { Problem } from '../dataset/problem.ts';

/**
 * How answers are judged: by mathematical equivalence, by the selected option, or by running the code against the row's
 * tests.
 */
export type BenchmarkJudge = 'math' | 'choice' | 'code';

export interface Benchmark {
	readonly title: string;
	readonly judge: BenchmarkJudge;
	/**
	 * Samples per question. DeepSeek-R1 used "4 to 64, depending on the size of the test set" (Guo et al. 2025, section 3)
	 * and 64 for AIME's cons@64; the other values are chosen from that range.
	 */
	readonly samples: number;
	/** Column with the question category, or null if there is none. */
	readonly category: string | null;
	readonly columns: {
		/** Candidate columns; the first one present in a row is used. */
		readonly prompt: readonly string[];
		readonly answer: readonly string[];
	};
	readonly reading: PresetReading | 'gpqa' | 'livecodebench';
}

export const benchmarks: Readonly<Record<BenchmarkName, Benchmark>> = {
	gsm8k: {
		title: 'GSM8K (Cobbe et al. 2021)',
		judge: 'math',
		samples: 4,
		category: null,
		columns: { prompt: ['question', 'problem', 'prompt'], answer: ['answer'] },
		reading: 'hashes',
	},
	'math-500': {
		title: 'MATH-500 (Lightman et al. 2023)',
		judge: 'math',
		samples: 4,
		category: 'subject',
		columns: { prompt: ['problem', 'question', 'prompt'], answer: ['answer'] },
		reading: 'columns',
	},
	aime: {
		title: 'AIME',
		judge: 'math',
		samples: 64,
		category: null,
		columns: { prompt: ['problem', 'Problem', 'question', 'prompt'], answer: ['answer', 'Answer'] },
		reading: 'columns',
	},
	'gpqa-diamond': {
		title: 'GPQA-Diamond (Rein et al. 2023)',
		judge: 'choice',
		samples: 16,
		category: 'High-level domain',
		columns: { prompt: ['Question'], answer: ['Correct Answer'] },
		reading: 'gpqa',
	},
	humaneval: {
		title: 'HumanEval (Chen et al. 2021)',
		judge: 'code',
		samples: 16,
		category: null,
		columns: { prompt: ['prompt'], answer: [] },
		reading: 'code',
	},
	mbpp: {
		title: 'MBPP (Austin et al. 2021)',
		judge: 'code',
		samples: 8,
		category: null,
		columns: { prompt: ['text', 'prompt'], answer: [] },
		reading: 'code',
	},
	livecodebench: {
		title: 'LiveCodeBench (Jain et al. 2024)',
		judge: 'code',
		samples: 8,
		category: 'difficulty',
		columns: { prompt: ['question_content'], answer: [] },
		reading: 'livecodebench',
	},
};

/** Columns that contain tests in code benchmarks. */
const testColumns = ['tests', 'test_list', 'test', 'input_output', 'test_cases', 'public_test_cases'] as const;

/**
 * Converts a benchmark file row to a problem, or returns an error such as "has no column ..." if the row is invalid.
 */
export function benchmarkProblem(name: BenchmarkName, value: unknown): Problem | string {
	if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'is not a JSON object';
	const row = value as Readonly<Record<string, unknown>>;
	const { columns, reading, judge } = benchmarks[name];
	const prompt = columns.prompt.find((column) => Object.hasOwn(row, column));
	const answer = columns.answer.find((column) => Object.hasOwn(row, column));
	if (prompt === undefined) return `has no column ${columns.prompt.map((one) => `"${one}"`).join(' or ')}`;
	if (answer === undefined && columns.answer.length > 0) {
		return `has no column ${columns.answer.map((one) => `"${one}"`).join(' or ')}`;
	}
	const asked = row[prompt];
	if (typeof asked !== 'string' || asked.trim() === '') return `has an empty or non-string "${prompt}"`;
	const made = (text: string, gold: string | null, fields = row): Problem => ({
		...{ prompt: text, answer: gold, solution: null, key: promptKey(asked), row: fields },
	});
	if (judge === 'code') {
		if (!testColumns.some((column) => Object.hasOwn(row, column))) return 'has no tests';
		if (reading === 'livecodebench') return made(withStarter(asked, row.starter_code), null);
		const { prompt: shown } = rowParts('code', row, { prompt, answer: 'answer', solution: 'solution' });
		return made(
			name === 'humaneval' ? `Complete this Python function. Write out the whole function:\n\n${shown}` : String(shown),
			null,
		);
	}
	if (reading === 'gpqa') return choiceProblem(asked, row, made);
	// Rows can contain the answer alone, or a solution followed by the answer.
	const stated = row[answer as string];
	const isWorked = reading === 'hashes' && typeof stated === 'string' && stated.includes('####');
	const parts = rowParts(isWorked ? 'hashes' : 'columns', row, { prompt, answer: answer as string, solution: '' });
	const gold = goldText(parts.answer);
	return gold === null ? `has a "${answer}" that cannot be compared` : made(asked, gold);
}

function withStarter(question: string, starter: unknown): string {
	const code = typeof starter === 'string' ? starter.trim() : '';
	const how =
		code === ''
			? 'Write a Python program that reads the input and prints the output.'
			: `Write a Python program that starts with this code:\n\n${code}`;
	return `${question}\n\n${how}`;
}

const wrongColumns = ['Incorrect Answer 1', 'Incorrect Answer 2', 'Incorrect Answer 3'] as const;

/**
 * Orders the options by a hash of the question, so that the order is the same in every evaluation and the correct
 * option can be at any position.
 */
function choiceProblem(
	question: string,
	row: Readonly<Record<string, unknown>>,
	made: (text: string, gold: string, fields: Readonly<Record<string, unknown>>) => Problem,
): Problem | string {
	const right = row['Correct Answer'];
	const wrong = wrongColumns.map((column) => row[column]);
	const texts = [right, ...wrong];
	if (!texts.every((text): text is string => typeof text === 'string')) return 'has options that are not strings';
	const options = Random.of('gpqa', question).shuffle(texts.map((text, i) => ({ text: text.trim(), right: i === 0 })));
	const letters = options.map((_, i) => String.fromCharCode(65 + i));
	const listed = options.map(({ text }, i) => `(${letters[i]}) ${text}`).join('\n');
	return made(
		`${question.trim()}\n\n${listed}\n\nAnswer with the letter of the correct option.`,
		letters[options.findIndex((option) => option.right)] as string,
		{ ...row, options: options.map(({ text }) => text) },
	);
}
