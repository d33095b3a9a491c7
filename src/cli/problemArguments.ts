import { resolve } from 'node:path';
import { Failure } from '../base/failure.ts';
import { decodeOrThrow } from '../protocol/decode.ts';
import { type ProblemsSpec, problemsSpecSchema } from '../protocol/strategyComparison.ts';
import { findRun } from './findRun.ts';
import { wholeNumber } from './parseArguments.ts';

/** How problems are named on the command line: what `compare-strategies` and `generate-data` share. */
export const problemOptions = {
	dataset: { type: 'string' },
	prompt: { type: 'string' },
	answer: { type: 'string' },
	task: { type: 'string' },
	run: { type: 'string' },
	part: { type: 'string' },
	limit: { type: 'string' },
} as const;

export type ProblemPart = 'held-out' | 'training';

/** @param part of generators and runs, where none is named: held-out problems measure, the others are for training */
export const problemOptionLines = (part: ProblemPart): readonly (readonly [string, string])[] => [
	['--dataset FILE', 'Problems of a dataset file; --prompt NAME and --answer NAME: its columns (default: guessed).'],
	['--task NAME', 'Problems of a generator: addition, countdown, ..., or {"task": NAME, ...}.'],
	['--run RUN', "Problems of a run's dataset."],
	['--part PART', `Of a generator or a run: held-out or training (default: ${part}).`],
	['--limit N', 'The first N of them (default: all, of a generator 500).'],
];

type Values = { readonly [K in keyof typeof problemOptions]?: string };

/** The problems that the options name; undefined: none are named. Fails with `invalid`. */
export async function problemsOf(values: Values, part: ProblemPart): Promise<ProblemsSpec | undefined> {
	const named = (['dataset', 'task', 'run'] as const).filter((name) => values[name] !== undefined);
	const limit = wholeNumber(values.limit, '--limit');
	if (named.length === 0) return undefined;
	if (named.length > 1) {
		throw new Failure(
			'invalid',
			`${named.map((name) => `--${name}`).join(' and ')} cannot be given together.`,
			'Choose one of them.',
		);
	}
	const common = limit === undefined ? {} : { limit };
	const spec = {
		dataset: () => ({
			from: 'file',
			path: resolve(values.dataset as string),
			...(values.prompt === undefined ? {} : { prompt: values.prompt }),
			...(values.answer === undefined ? {} : { answer: values.answer }),
		}),
		task: () => ({ from: 'task', task: taskOf(values.task as string), part: values.part ?? part }),
		run: async () => ({
			from: 'run',
			run: await findRun(values.run as string),
			part: values.part ?? part,
		}),
	}[named[0] as 'dataset' | 'task' | 'run'];
	return decodeOrThrow(problemsSpecSchema, { ...(await spec()), ...common }, `--${named[0]}`);
}

function taskOf(written: string): unknown {
	if (!written.trimStart().startsWith('{')) return { task: written };
	try {
		return JSON.parse(written);
	} catch {
		throw new Failure(
			'invalid',
			'--task is no JSON object.',
			'Write it like --task \'{"task": "addition", "digits": 2}\'.',
		);
	}
}
