import type { PresetName } from '../../protocol/recipeKeys/recipe.ts';
import { findBoxed } from '../math/statedAnswer.ts';
import { columnCell, promptOfMessages } from './columnCell.ts';

/**
 * How to turn a row into a problem:
 * - `columns`: prompt, answer, and solution are in separate columns.
 * - `hashes`: the answer column contains the solution, `####`, and the answer (GSM8K).
 * - `boxed`: the answer is in the last `\boxed{}` of the solution (MATH).
 * - `code`: there is no answer; the row's tests determine correctness, and the prompt includes those in `test_list`.
 * - `countdown`: the prompt is built from the numbers and the target; any expression that reaches it is correct.
 */
export type PresetReading = 'columns' | 'hashes' | 'boxed' | 'code' | 'countdown';

/** A widely used dataset: its Hub location and how to interpret its rows. */
export interface DatasetPreset {
	readonly title: string;
	readonly path: string;
	readonly config: string | null;
	readonly split: string;
	/** Evaluation split, or null if there is none and a fraction of the rows is held out instead. */
	readonly heldOut: string | null;
	readonly prompt: string;
	readonly answer: string;
	readonly solution: string;
	readonly reading: PresetReading;
	/** A row in the dataset's format and the problem it produces; both implementations are tested against it. */
	readonly example: {
		readonly row: Readonly<Record<string, unknown>>;
		readonly problem: { readonly prompt: string; readonly answer: string | null; readonly solution: string | null };
	};
}

/** Source for the trainer's presets.json, which test/scripts/writeTrainerTables.ts generates. */
export const datasetPresets: Readonly<Record<PresetName, DatasetPreset>> = {
	gsm8k: {
		title: 'GSM8K, grade-school math (Cobbe et al. 2021)',
		path: 'openai/gsm8k',
		config: 'main',
		split: 'train',
		heldOut: 'test',
		prompt: 'question',
		answer: 'answer',
		solution: 'answer',
		reading: 'hashes',
		example: {
			row: {
				question: 'A box holds 12 pens. How many pens are in 90 boxes and one more pen?',
				answer: 'There are 12*90 = <<12*90=1080>>1080 pens.\nAnd one more: 1080+1 = <<1080+1=1081>>1081.\n#### 1,081',
			},
			problem: {
				prompt: 'A box holds 12 pens. How many pens are in 90 boxes and one more pen?',
				answer: '1081',
				solution: 'There are 12*90 = 1080 pens.\nAnd one more: 1080+1 = 1081.',
			},
		},
	},
	math: {
		title: 'MATH, competition math (Hendrycks et al. 2021)',
		path: 'DigitalLearningGmbH/MATH-lighteval',
		config: 'default',
		split: 'train',
		heldOut: 'test',
		prompt: 'problem',
		answer: 'solution',
		solution: 'solution',
		reading: 'boxed',
		example: {
			row: {
				problem: 'What is half of $\\frac{3}{2}$?',
				level: 'Level 1',
				type: 'Prealgebra',
				solution: 'It is not \\boxed{1}: half of it is $\\frac12\\cdot\\frac32=\\boxed{\\frac{3}{4}}$.',
			},
			problem: {
				prompt: 'What is half of $\\frac{3}{2}$?',
				answer: '\\frac{3}{4}',
				solution: 'It is not \\boxed{1}: half of it is $\\frac12\\cdot\\frac32=\\boxed{\\frac{3}{4}}$.',
			},
		},
	},
	aime: {
		title: 'AIME 2024, 30 problems',
		path: 'HuggingFaceH4/aime_2024',
		config: null,
		split: 'train',
		heldOut: null,
		prompt: 'problem',
		answer: 'answer',
		solution: 'solution',
		reading: 'columns',
		example: {
			row: { id: 60, problem: 'Find $100+4$.', solution: 'It is $\\boxed{104}$.', answer: '104', year: '2024' },
			problem: { prompt: 'Find $100+4$.', answer: '104', solution: 'It is $\\boxed{104}$.' },
		},
	},
	humaneval: {
		title: 'HumanEval, Python functions (Chen et al. 2021)',
		path: 'openai/openai_humaneval',
		config: 'openai_humaneval',
		split: 'test',
		heldOut: null,
		prompt: 'prompt',
		answer: 'answer',
		solution: 'canonical_solution',
		reading: 'code',
		example: {
			row: {
				task_id: 'HumanEval/0',
				prompt: 'def double(x):\n    """ Twice x. """\n',
				canonical_solution: '    return 2 * x\n',
				test: 'def check(candidate):\n    assert candidate(2) == 4\n',
				entry_point: 'double',
			},
			problem: {
				prompt: 'def double(x):\n    """ Twice x. """\n',
				answer: null,
				solution: '    return 2 * x\n',
			},
		},
	},
	mbpp: {
		title: 'MBPP, mostly basic Python problems (Austin et al. 2021)',
		path: 'google-research-datasets/mbpp',
		config: 'full',
		split: 'train',
		heldOut: 'test',
		prompt: 'text',
		answer: 'answer',
		solution: 'code',
		reading: 'code',
		example: {
			row: {
				task_id: 601,
				text: 'Write a function that doubles a number.',
				code: 'def double(x):\n    return 2 * x',
				test_list: ['assert double(2) == 4', 'assert double(0) == 0'],
				test_setup_code: '',
				challenge_test_list: [],
			},
			problem: {
				prompt:
					'Write a function that doubles a number.\n\nYour code should pass these tests:\nassert double(2) == 4\nassert double(0) == 0',
				answer: null,
				solution: 'def double(x):\n    return 2 * x',
			},
		},
	},
	countdown: {
		title: 'Countdown with 3 or 4 numbers (TinyZero)',
		path: 'Jiayi-Pan/Countdown-Tasks-3to4',
		config: null,
		split: 'train',
		heldOut: null,
		prompt: 'nums',
		answer: 'target',
		solution: 'solution',
		reading: 'countdown',
		example: {
			row: { target: 98, nums: [44, 19, 35] },
			problem: {
				prompt:
					'Using the numbers 44, 19, 35, make an expression that equals 98. You can use + - * / and parentheses, and each number exactly once.',
				answer: '98',
				solution: null,
			},
		},
	},
};

/** Raw values of the roles in a row; callers must validate them. */
export interface RowParts {
	readonly prompt: unknown;
	readonly answer: unknown;
	/** Worked solution, or undefined if the row has no solution column. */
	readonly solution: unknown;
	/** All columns of the row, as passed to rewards. */
	readonly row: Readonly<Record<string, unknown>>;
}

type Columns = Pick<DatasetPreset, 'prompt' | 'answer' | 'solution'>;
type Row = Readonly<Record<string, unknown>>;

/** Returns the columns that a row must have for this interpretation. */
export function neededColumns(reading: PresetReading, { prompt, answer }: Columns): (readonly [string, string])[] {
	return reading === 'code'
		? [['prompt', prompt]]
		: [
				['prompt', prompt],
				['answer', answer],
			];
}

/** Extracts the role values from a row, which must have the columns returned by {@link neededColumns}. */
export function rowParts(reading: PresetReading, row: Row, columns: Columns): RowParts {
	const prompt = columnCell(row, columns.prompt);
	const answer = columnCell(row, columns.answer);
	const solution = columnCell(row, columns.solution);
	switch (reading) {
		case 'columns':
			return { prompt: promptOfMessages(prompt), answer, solution, row };
		case 'hashes': {
			if (typeof answer !== 'string') return { prompt, answer, solution: undefined, row };
			const at = answer.lastIndexOf('####');
			if (at < 0) return { prompt, answer: undefined, solution: undefined, row };
			// Remove calculator annotations such as "2*3 = <<2*3=6>>6".
			const worked = answer.slice(0, at).replace(/<<[^<>]*>>/g, '');
			return {
				prompt,
				answer: answer
					.slice(at + 4)
					.trim()
					.replaceAll(/(?<=\d),(?=\d{3})/g, ''),
				solution: worked.trim(),
				row,
			};
		}
		case 'boxed': {
			const box = typeof answer === 'string' ? findBoxed(answer).at(-1)?.content.trim() : undefined;
			return { prompt, answer: box, solution, row };
		}
		case 'code': {
			const tests = row.test_list;
			const shown = Array.isArray(tests) && tests.length > 0 && tests.every((test) => typeof test === 'string');
			const asked =
				typeof prompt === 'string' && shown
					? `${prompt}\n\nYour code should pass these tests:\n${tests.join('\n')}`
					: prompt;
			return { prompt: asked, answer: null, solution, row };
		}
		case 'countdown': {
			const numbers = Array.isArray(prompt) && prompt.every((one) => Number.isInteger(one)) ? prompt : null;
			const asked =
				numbers === null
					? undefined
					: `Using the numbers ${numbers.join(', ')}, make an expression that equals ${String(answer)}. ` +
						'You can use + - * / and parentheses, and each number exactly once.';
			// The task verifier reads these field names.
			return { prompt: asked, answer, solution, row: { ...row, numbers, target: answer } };
		}
	}
}
