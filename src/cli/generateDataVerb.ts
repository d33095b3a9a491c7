import { basename, dirname, resolve } from 'node:path';
import type * as v from 'valibot';
import { Failure } from '../base/failure.ts';
import { formatBytes, formatClock, formatCounted } from '../base/format.ts';
import { requireInside } from '../files/ownFolder.ts';
import { readJson } from '../files/safeFile.ts';
import { type DataSpec, dataExports, dataSpecSchema, keptSolutions } from '../protocol/dataSpec.ts';
import { decodeOrThrow } from '../protocol/decode.ts';
import type { DataRunProgress } from '../search/data/generateData.ts';
import { printable } from './cliOutput.ts';
import { cliSearchContext } from './cliSearchContext.ts';
import { onInterrupt } from './interrupts.ts';
import { choice, flag, group, integer, number, type Options, type OptionValues, path, text } from './options.ts';
import { problemOptions, problemsOf } from './problemArguments.ts';
import { given, searchOptions, searchSpecOf } from './searchArguments.ts';
import { defineVerb } from './verb.ts';
import { WorkProgress } from './workProgress.ts';

const { spec: _, ...omitSpec } = searchOptions;

const options = {
	export: text('KINDS', `Comma-separated list of ${dataExports.join(', ')} (default: solutions).`),
	out: path('DIR', 'Output folder (default: data/NAME). If it exists, the command continues where it left off.'),
	spec: path('FILE', 'All settings as JSON, like data.json in an output folder. Command-line options take precedence.'),
	keep: choice(
		keptSolutions,
		'WHICH',
		'Solutions to keep (default: correct if a gold answer is available, else best).',
	),
	most: integer('N', 'Max solutions per problem (default: 4).'),
	least: number('X', 'Min reward per solution.'),
	form: text('FORM', 'sft, journey, dpo: standard (default) or conversational.'),
	trees: flag('Save the logs of all searches.'),
	searches: integer('N', 'Concurrent problems (default: 64).'),
	...group('Data types', {
		trials: integer('N', 'journey: abandoned branches narrated per branching point (default: 1).'),
		span: text('SPAN', 'dpo: step (default) or completion.'),
		pairs: integer('N', 'dpo: max pairs per node.'),
		margin: number('X', 'dpo: min score difference within a pair.'),
		solutions: integer('N', 'step labels: solutions per problem (default: 1).'),
		completions: integer('N', 'step labels: completions sampled from each step (default: 8).'),
		threshold: number('X', 'step labels: min fraction of correct completions for a correct step (default: any).'),
	}),
	...problemOptions('training'),
	...omitSpec,
} as const satisfies Options;

type Values = OptionValues<typeof options>;

export const generateDataVerb = defineVerb({
	name: 'generate-data',
	group: 'Search and evaluate',
	usage: '--policy P --strategy S --dataset FILE [options]',
	summary: 'Run searches on a dataset and write the results as training data (docs/data-generation.md).',
	options,
	async run({ values, output, engine, args }) {
		const spec = await specOf(values);
		const name = basename(values.dataset ?? values.run ?? 'problems').replace(/\.jsonl?$/, '');
		const own = `${name.replace(/[^\w.-]+/g, '-')}-${spec.search.strategy}`;
		const folder = values.out === undefined ? await requireInside(process.cwd(), 'data', own) : resolve(values.out);
		const { generateData } = await import('../search/data/generateData.ts');
		const context = cliSearchContext(engine, args);
		const interrupt = new AbortController();
		const release = onInterrupt(() => interrupt.abort());
		const display = new WorkProgress<DataRunProgress>(
			output,
			'line',
			({ problems, seconds }) => ({ done: problems, total: null, seconds }),
			({ problems, seconds, tokens }) =>
				`${formatCounted(problems, 'problem')}, ${formatCounted(tokens, 'token')}, ${formatClock(seconds)}`,
		);
		try {
			const made = await generateData({
				spec,
				folder,
				context,
				signal: interrupt.signal,
				onFault: display.fault,
				onProgress: display.progress,
			});
			display.end();
			output.object({ kind: 'data', folder, ...made });
			const { problems, before, failed, failures, tokens, lines, bytes, seconds, state } = made;
			const earlier = before === 0 ? '' : ` (including ${before} from earlier runs)`;
			output.line(
				`${formatCounted(problems, 'problem')}${earlier}, ${formatCounted(tokens, 'token')}, ${formatClock(seconds)}`,
			);
			for (const kind of spec.exports) {
				output.line(`  ${kind}.jsonl: ${lines[kind] ?? 0} lines (${formatBytes(bytes[kind] ?? 0)})`);
			}
			if (problems > 0 && spec.exports.every((kind) => (lines[kind] ?? 0) === 0)) output.line(`  ${whyNothing(spec)}`);
			if (failed > 0) {
				output.line(`  failed: ${formatCounted(failed, 'problem')}; rerun the same command to retry`);
				for (const { message, count } of failures) output.line(printable(`    ${count}: ${message}`));
			}
			if (state === 'stopped') output.line('stopped; rerun the same command to continue');
			output.line(printable(folder));
			return state === 'ended' && failed === 0 ? 0 : 1;
		} finally {
			release();
			context.pool.dispose();
		}
	},
});

/** Explains why no examples were written. */
function whyNothing({ keep, least: min }: DataSpec): string {
	if (keep === 'all') return 'no examples kept: no search found a solution';
	const missing =
		keep === 'best' || min !== undefined ? 'no solution meets the reward criterion' : 'no solution is correct';
	return `no examples kept: ${missing} (use --keep all to keep every solution)`;
}

async function specOf(values: Values): Promise<DataSpec> {
	const file = values.spec === undefined ? {} : await readSpec(resolve(values.spec));
	const problems = (await problemsOf(values, 'training')) ?? file.problems;
	if (problems === undefined) {
		throw new Failure('invalid', 'No problems specified.', 'Use --dataset FILE, --task NAME, or --run RUN.');
	}
	const { spec: _, ...search } = values;
	const searched = file.search as Record<string, unknown> | undefined;
	const own = searched !== undefined && search.policy === undefined ? { policy: JSON.stringify(searched.policy) } : {};
	const spec = {
		...file,
		problems,
		search: { ...searched, ...changed(await searchSpecOf({ ...search, ...own }), values, searched) },
		...given({
			exports: values.export?.split(',').map((kind) => kind.trim()),
			keep: values.keep,
			most: values.most,
			least: values.least,
			form: values.form,
			searches: values.searches,
			trees: values.trees,
		}),
		journey: { ...(file.journey as object | undefined), ...given({ trials: values.trials }) },
		pairs: {
			...(file.pairs as object | undefined),
			...given({ span: values.span, most: values.pairs, margin: values.margin }),
		},
		labels: {
			...(file.labels as object | undefined),
			...given({
				solutions: values.solutions,
				completions: values.completions,
				threshold: values.threshold,
			}),
		},
	};
	return decodeOrThrow(dataSpecSchema as v.GenericSchema<unknown, DataSpec>, spec, values.spec ?? 'The data');
}

const optionsOf: Readonly<Record<string, readonly (keyof Values)[]>> = {
	policy: ['policy'],
	strategy: ['strategy'],
	params: ['param', 'strategy'],
	guide: ['guide', 'reward'],
	judge: ['judge'],
	budget: ['budget'],
	split: ['split'],
	concurrency: ['concurrency'],
	seed: ['seed'],
	sampling: ['temperature', 'top-p', 'max-tokens', 'max-step-tokens', 'alternatives'],
};

/** Returns the search settings given on the command line, or all settings if there is no spec file. */
function changed(search: object, values: Values, file: object | undefined): object {
	if (file === undefined) return search;
	return Object.fromEntries(
		Object.entries(search).filter(([name]) => optionsOf[name]?.some((option) => values[option] !== undefined)),
	);
}

/**
 * Reads a spec file, or `data.json` from a data folder. Relative paths in the file are resolved against the current
 * folder.
 */
async function readSpec(path: string): Promise<Record<string, unknown>> {
	const value = await readJson(dirname(path), basename(path));
	const object = (one: unknown): one is Record<string, unknown> =>
		typeof one === 'object' && one !== null && !Array.isArray(one);
	if (!object(value)) throw new Failure('invalid', `${path} is not a JSON object.`);
	return object(value.spec) ? value.spec : value;
}
