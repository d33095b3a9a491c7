import { basename, dirname, resolve } from 'node:path';
import * as v from 'valibot';
import { Failure } from '../base/failure.ts';
import { formatCount, formatCounted } from '../base/format.ts';
import { requireInside } from '../files/ownFolder.ts';
import { readJson } from '../files/safeFile.ts';
import { decodeOrThrow } from '../protocol/decode.ts';
import { type ComparisonSpec, comparisonSpecSchema } from '../protocol/strategyComparison.ts';
import type { ComparisonProgress } from '../search/compare/comparedSearches.ts';
import { printable } from './cliOutput.ts';
import { cliSearchContext } from './cliSearchContext.ts';
import { comparedStrategyOf } from './comparedStrategies.ts';
import { comparisonLines } from './comparisonText.ts';
import { environmentOf, episodeOptions } from './episodeSearchArguments.ts';
import { onInterrupt } from './interrupts.ts';
import { flag, group, integer, number, type Options, type OptionValues, path, repeatable, text } from './options.ts';
import { problemOptions, problemsOf } from './problemArguments.ts';
import { given, policyOf, policyOptions, splitOf } from './searchArguments.ts';
import { defineVerb } from './verb.ts';
import { WorkProgress } from './workProgress.ts';

const options = {
	strategy: repeatable(
		text(
			'"S ..."',
			'A strategy and its points, such as "best-of-n n=4,16 judge=value tokens<=1000,4000"; also accepts guide=, split=, and name=.',
		),
	),
	spec: path('FILE', 'All settings as JSON. Command-line options take precedence.'),
	out: path(
		'DIR',
		'Folder for results and trees (default: comparisons/NAME). If it exists, the comparison continues where it left off.',
	),
	samples: integer('N', 'Number of independent samples per problem, used as the baseline for gains (default: 16).'),
	'band-samples': integer(
		'N',
		'Additional samples per problem for assigning difficulty bands (default: 8; 0 disables bands).',
	),
	bands: integer('N', 'Number of difficulty bands (default: 5).'),
	searches: integer('N', 'Concurrent searches (default: 64).'),
	concurrency: integer('N', 'Concurrent requests per search (default: 16).'),
	split: text('RULE', 'Rule for splitting completions into steps (default: lines).'),
	'no-trees': flag('Do not save search logs.'),
	seed: integer('S', 'Random seed (default: 0).'),
	...group('Sampling', {
		temperature: number('T', 'Sampling temperature (default: 1).'),
		'top-p': number('P', 'Nucleus sampling threshold (default: 1).'),
		'max-tokens': integer('N', 'Max tokens per completion.'),
		'max-step-tokens': integer('N', 'Max tokens per step (default: 256).'),
	}),
	...policyOptions,
	...problemOptions('held-out'),
	...episodeOptions,
} as const satisfies Options;

type Values = OptionValues<typeof options>;

export const compareStrategiesVerb = defineVerb({
	name: 'compare-strategies',
	group: 'Search and evaluate',
	usage: '--policy P --dataset FILE --strategy S [--strategy S ...] [options]',
	summary: 'Compare search strategies by accuracy and token usage (docs/strategy-comparison.md).',
	options,
	async run({ values, output, engine, args }) {
		const spec = await specOf(values);
		const own = spec.name.replace(/[^\w.-]+/g, '-');
		const folder =
			values.out === undefined ? await requireInside(process.cwd(), 'comparisons', own) : resolve(values.out);
		const { compareStrategies } = await import('../search/compare/compareStrategies.ts');
		const context = cliSearchContext(engine, args, values.python);
		const interrupt = new AbortController();
		const release = onInterrupt(() => interrupt.abort());
		const display = new WorkProgress<ComparisonProgress>(
			output,
			'line',
			(progress) => progress,
			({ done, total, tokens }) =>
				`${formatCount(done)} of ${formatCounted(total, 'search', 'searches')}, ${tokens} tokens`,
		);
		try {
			const summary = await compareStrategies({
				spec,
				folder,
				context,
				signal: interrupt.signal,
				onFault: display.fault,
				onProgress: display.progress,
			});
			display.end();
			output.object({ kind: 'comparison', folder, ...summary });
			for (const line of comparisonLines(summary)) output.line(printable(line));
			output.line(printable(`${folder}`));
			return summary.state === 'ended' && summary.failed === 0 ? 0 : 1;
		} finally {
			release();
			context.pool.dispose();
		}
	},
});

const playedSchema = v.pick(comparisonSpecSchema, ['environment']);

/** Returns the problems from the options, else from the spec, else from the environment's rows. */
async function problemsIn(values: Values, given: unknown, played: boolean): Promise<unknown> {
	const named = await problemsOf(values, 'held-out', played, 'reasoning-lab compare-strategies --environment');
	const { limit } = values;
	const own = played ? { from: 'environment', ...(limit === undefined ? {} : { limit }) } : undefined;
	return named ?? given ?? own;
}

async function specOf(values: Values): Promise<ComparisonSpec> {
	const file = values.spec === undefined ? {} : await readSpec(resolve(values.spec));
	const environment = await environmentOf(values, decodeOrThrow(playedSchema, file, values.spec ?? 'The comparison'));
	const problems = await problemsIn(values, file.problems, environment !== null);
	if (problems === undefined) {
		throw new Failure('invalid', 'No problems specified.', 'Use --dataset FILE, --task NAME, or --run RUN.');
	}
	const strategies =
		values.strategy === undefined ? file.strategies : await Promise.all(values.strategy.map(comparedStrategyOf));
	if (strategies === undefined) {
		throw new Failure('invalid', 'No strategy specified.', 'Use --strategy "self-consistency n=1,4,16".');
	}
	const spec = {
		name: values.out === undefined ? 'comparison' : basename(resolve(values.out)),
		...file,
		policy: await policyOf(values, file.policy),
		problems,
		...(environment === null ? {} : { environment }),
		strategies,
		sampling: {
			...(file.sampling as object | undefined),
			...given({
				temperature: values.temperature,
				topP: values['top-p'],
				maxTokens: values['max-tokens'],
				maxStepTokens: values['max-step-tokens'],
			}),
		},
		...(values.split === undefined ? {} : { split: splitOf(values.split) }),
		...given({
			samples: values.samples,
			bandSamples: values['band-samples'],
			bands: values.bands,
			concurrency: values.concurrency,
			searches: values.searches,
			seed: values.seed,
		}),
		...(values['no-trees'] ? { trees: false } : {}),
	};
	return decodeOrThrow(
		comparisonSpecSchema as v.GenericSchema<unknown, ComparisonSpec>,
		spec,
		values.spec ?? 'The comparison',
	);
}

/**
 * Reads a spec file, or `comparison.json` in a folder. Relative paths in the file are resolved against the working
 * directory.
 */
async function readSpec(path: string): Promise<Record<string, unknown>> {
	const value = await readJson(dirname(path), basename(path));
	const object = (one: unknown): one is Record<string, unknown> =>
		typeof one === 'object' && one !== null && !Array.isArray(one);
	if (!object(value)) throw new Failure('invalid', `${path} is not a JSON object.`);
	return object(value.spec) ? value.spec : value;
}
