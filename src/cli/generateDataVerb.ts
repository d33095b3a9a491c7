import { basename, dirname, resolve } from 'node:path';
import type * as v from 'valibot';
import { Failure } from '../base/failure.ts';
import { formatBytes, formatClock, formatCounted } from '../base/format.ts';
import { type DataSpec, dataExports, dataSpecSchema, keptSolutions } from '../protocol/dataSpec.ts';
import { decodeOrThrow } from '../protocol/decode.ts';
import { requireInside } from '../runs/ownFolder.ts';
import { readJson } from '../runs/safeFile.ts';
import type { DataRunProgress } from '../search/data/generateData.ts';
import { printable } from './cliOutput.ts';
import { cliSearchContext } from './cliSearchContext.ts';
import { onInterrupt } from './interrupts.ts';
import { parseArguments, wholeNumber } from './parseArguments.ts';
import { problemOptionLines, problemOptions, problemsOf } from './problemArguments.ts';
import { searchOptionLines, searchOptions, searchSpecOf } from './searchArguments.ts';
import type { Verb } from './verb.ts';
import { WorkTold } from './workTold.ts';

const text = { type: 'string' } as const;
const options = {
	...searchOptions,
	...problemOptions,
	export: text,
	out: text,
	keep: text,
	most: text,
	least: text,
	form: text,
	trials: text,
	span: text,
	pairs: text,
	margin: text,
	solutions: text,
	completions: text,
	threshold: text,
	trees: { type: 'boolean' },
	searches: text,
} as const;
type Values = ReturnType<typeof parseArguments<typeof options>>['values'];

export const generateDataVerb: Verb = {
	name: 'generate-data',
	usage: '--policy P --strategy S --dataset FILE [--export KINDS]',
	summary: 'Run searches over a dataset and write training data of them (docs/data-generation.md).',
	options: [
		...searchOptionLines.filter(([option]) => !option.startsWith('--spec')),
		['--spec FILE', 'All of it as JSON, as data.json of such a folder has it; what is given besides goes before it.'],
		...problemOptionLines('training'),
		['--export KINDS', `${dataExports.join(', ')}: one or several, with commas (default solutions).`],
		['--out DIR', 'The folder of the data (default: data/NAME); one that is there goes on.'],
		['--keep WHICH', `${keptSolutions.join(', ')} (default: correct, where a gold answer can tell; else best).`],
		['--most N', 'Solutions of one problem at most (default 4); --least X: of at least this reward.'],
		['--form FORM', 'sft, journey, dpo: standard (default) or conversational.'],
		['--trials N', 'journey: abandoned branches that are told at each place (default 1).'],
		['--span SPAN', 'dpo: step (default) or completion; --pairs N: of one node at most; --margin X.'],
		['--completions N', 'step labels: completions from each step (default 8); --solutions N of a problem (default 1).'],
		['--threshold X', 'step labels: share of right completions that makes a step right (default: any).'],
		['--trees', 'Keep the logs of all searches.'],
		['--searches N', 'Problems under way at a time (default 64).'],
	],
	async run({ args, output, engine }) {
		const { values } = parseArguments('generate-data', args, options, { names: [], least: 0, most: 0 });
		const spec = await specOf(values);
		const name = basename(values.dataset ?? values.run ?? 'problems').replace(/\.jsonl?$/, '');
		const own = `${name.replace(/[^\w.-]+/g, '-')}-${spec.search.strategy}`;
		const folder = values.out === undefined ? await requireInside(process.cwd(), 'data', own) : resolve(values.out);
		const { generateData } = await import('../search/data/generateData.ts');
		const context = cliSearchContext(engine, args);
		const interrupt = new AbortController();
		const release = onInterrupt(() => interrupt.abort());
		const told = new WorkTold<DataRunProgress>(
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
				onFault: told.fault,
				onProgress: told.progress,
			});
			told.end();
			output.object({ kind: 'data', folder, ...made });
			const { problems, before, failed, failures, tokens, lines, bytes, seconds, state } = made;
			const earlier = before === 0 ? '' : ` (${before} of them earlier)`;
			output.line(
				`${formatCounted(problems, 'problem')}${earlier}, ${formatCounted(tokens, 'token')}, ${formatClock(seconds)}`,
			);
			for (const kind of spec.exports) {
				output.line(`  ${kind}.jsonl: ${lines[kind] ?? 0} lines (${formatBytes(bytes[kind] ?? 0)})`);
			}
			if (problems > 0 && spec.exports.every((kind) => (lines[kind] ?? 0) === 0)) output.line(`  ${whyNothing(spec)}`);
			if (failed > 0) {
				output.line(`  failed: ${formatCounted(failed, 'problem')}; the same command retries them`);
				for (const { message, count } of failures) output.line(printable(`    ${count}: ${message}`));
			}
			if (state === 'stopped') output.line('stopped; the same command goes on');
			output.line(printable(folder));
			return state === 'ended' && failed === 0 ? 0 : 1;
		} finally {
			release();
			context.pool.dispose();
		}
	},
};

/** No line was written. */
function whyNothing({ keep, least }: DataSpec): string {
	if (keep === 'all') return 'nothing was kept: no search came to a solution';
	const missing = keep === 'best' || least !== undefined ? 'no solution has such a reward' : 'no solution is right';
	return `nothing was kept: ${missing} (--keep all keeps every one)`;
}

async function specOf(values: Values): Promise<DataSpec> {
	const given = values.spec === undefined ? {} : await readSpec(resolve(values.spec));
	const number = (name: keyof Values) => {
		const written = values[name] as string | undefined;
		if (written === undefined) return undefined;
		const value = Number(written);
		if (written.trim() !== '' && Number.isFinite(value)) return value;
		throw new Failure('invalid', `--${name} is "${written}", which is not a number.`);
	};
	const some = (entries: Record<string, unknown>) =>
		Object.fromEntries(Object.entries(entries).filter(([, value]) => value !== undefined));
	const problems = (await problemsOf(values, 'training')) ?? given.problems;
	if (problems === undefined) {
		throw new Failure('invalid', 'No problems are named.', 'Name them: --dataset FILE, --task NAME or --run RUN.');
	}
	const { spec: _, ...search } = values;
	const searched = given.search as Record<string, unknown> | undefined;
	const own = searched !== undefined && search.policy === undefined ? { policy: JSON.stringify(searched.policy) } : {};
	const spec = {
		...given,
		problems,
		search: { ...searched, ...changed(await searchSpecOf({ ...search, ...own }), values, searched) },
		...some({
			exports: values.export?.split(',').map((kind) => kind.trim()),
			keep: values.keep,
			most: wholeNumber(values.most, '--most'),
			least: number('least'),
			form: values.form,
			searches: wholeNumber(values.searches, '--searches'),
			trees: values.trees,
		}),
		journey: { ...(given.journey as object | undefined), ...some({ trials: wholeNumber(values.trials, '--trials') }) },
		pairs: {
			...(given.pairs as object | undefined),
			...some({ span: values.span, most: wholeNumber(values.pairs, '--pairs'), margin: number('margin') }),
		},
		labels: {
			...(given.labels as object | undefined),
			...some({
				solutions: wholeNumber(values.solutions, '--solutions'),
				completions: wholeNumber(values.completions, '--completions'),
				threshold: number('threshold'),
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

/** Of a search what was given on the command line, where a file says the rest. */
function changed(search: object, values: Values, file: object | undefined): object {
	if (file === undefined) return search;
	return Object.fromEntries(
		Object.entries(search).filter(([name]) => optionsOf[name]?.some((option) => values[option] !== undefined)),
	);
}

/** A specification's file, or `data.json` of a folder of data; its relative paths start in the current folder. */
async function readSpec(path: string): Promise<Record<string, unknown>> {
	const value = await readJson(dirname(path), basename(path));
	const object = (one: unknown): one is Record<string, unknown> =>
		typeof one === 'object' && one !== null && !Array.isArray(one);
	if (!object(value)) throw new Failure('invalid', `${path} is no JSON object.`);
	return object(value.spec) ? value.spec : value;
}
