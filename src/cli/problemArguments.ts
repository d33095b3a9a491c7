import { resolve } from 'node:path';
import * as v from 'valibot';
import { Failure } from '../base/failure.ts';
import { type DatasetPart, datasetParts } from '../protocol/datasetPart.ts';
import { decode, decodeOrThrow } from '../protocol/decode.ts';
import { type ProblemsSpec, problemsSpecSchema } from '../protocol/strategyComparison.ts';
import { readResolvedRecipe } from '../runs/runReader.ts';
import { findRun } from './findRun.ts';
import { choice, group, integer, type OptionValues, path, text } from './options.ts';

/**
 * Returns the options for specifying problems, shared by `evaluate`, `compare-strategies`, and `generate-data`.
 * @param part default part for generators and runs: held-out problems for evaluation, training problems otherwise
 */
export const problemOptions = (part: DatasetPart) =>
	group('Problems', {
		dataset: path('FILE', 'Use problems from a dataset file.'),
		prompt: text('COLUMN', 'Prompt column (default: detected).'),
		answer: text('COLUMN', 'Answer column (default: detected).'),
		task: text('NAME', 'Use problems from a generator: addition, countdown, ..., or {"task": NAME, ...}.'),
		run: path('RUN', "Use problems from a run's dataset."),
		part: choice(datasetParts, 'PART', `Split of a generator or run (default: ${part}).`),
		limit: integer('N', 'Use only the first N problems (default: all; 500 for generators).'),
	});

/** Matches the recipe of a run that trains on an environment. */
const episodesSchema = v.looseObject({ environment: v.looseObject({}) });

type Values = OptionValues<ReturnType<typeof problemOptions>>;

/**
 * Returns the problems selected by the options, or undefined if none are specified. Fails with `invalid`.
 * @param played whether the problems are played as episodes; if so, a run with an environment can provide them
 * @param player command and option that play episodes on a run's problems
 */
export async function problemsOf(
	values: Values,
	part: DatasetPart,
	played = false,
	player = 'reasoning-lab evaluate --environment',
): Promise<ProblemsSpec | undefined> {
	const named = (['dataset', 'task', 'run'] as const).filter((name) => values[name] !== undefined);
	const { limit } = values;
	if (named.length === 0) return undefined;
	if (named.length > 1) {
		throw new Failure(
			'invalid',
			`${named.map((name) => `--${name}`).join(' and ')} cannot be combined.`,
			'Use only one of them.',
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
			run: await (played ? findRun(values.run as string) : singleTurnRun(values.run as string, player)),
			part: values.part ?? part,
		}),
	}[named[0] as 'dataset' | 'task' | 'run'];
	return decodeOrThrow(problemsSpecSchema, { ...(await spec()), ...common }, `--${named[0]}`);
}

/** Finds a run whose problems are questions. Fails with `unsupported` if it trains on episodes. */
async function singleTurnRun(written: string, player: string): Promise<string> {
	const run = await findRun(written);
	const recipe = decode(episodesSchema, await readResolvedRecipe(run).catch(() => null));
	if (!recipe.ok) return run;
	throw new Failure(
		'unsupported',
		`${written} trains on an environment, but this command only asks questions unless it is given an environment.`,
		`Play episodes with "${player}", or query accuracy: reasoning-lab query ${written} "from evaluations".`,
	);
}

function taskOf(written: string): unknown {
	if (!written.trimStart().startsWith('{')) return { task: written };
	try {
		return JSON.parse(written);
	} catch {
		throw new Failure(
			'invalid',
			'--task is not a JSON object.',
			'Use the format --task \'{"task": "addition", "digits": 2}\'.',
		);
	}
}
