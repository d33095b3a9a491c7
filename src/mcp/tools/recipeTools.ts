import * as v from 'valibot';
import { Failure } from '../../base/failure.ts';
import { formatAddress } from '../../core/address/dataAddress.ts';
import { recipeDiff } from '../../core/comparison/recipeDiff.ts';
import { explainKey, recipeKeyPaths } from '../../core/recipe/explainKey.ts';
import { parseRecipe } from '../../core/recipe/parseRecipe.ts';
import { didYouMean } from '../../core/recipe/suggest.ts';
import { readJson, readNamed } from '../../files/safeFile.ts';
import { runFiles } from '../../runs/runFiles.ts';
import { pageOf, quote, quoteAll } from '../answer.ts';
import * as input from '../inputs.ts';
import { readColumns } from '../metricColumns.ts';
import { summarize } from '../metricSummary.ts';
import { keyPath, largestRecipe, readRunRecipe, recipeAddress, recipeLine } from '../recipeLines.ts';
import type { Runs } from '../runs.ts';
import { defineTool } from '../tool.ts';

export const checkRecipe = defineTool({
	name: 'check_recipe',
	title: 'Check a recipe',
	description:
		'Check a recipe (JSON with comments), given as text or as a file, and list errors with line, column and suggested fix. Does not start anything.',
	input: v.object({
		text: v.optional(input.text('Recipe text.', 200_000)),
		path: v.optional(input.text('Recipe file: absolute path, or relative to a server folder.')),
	}),
	async run(given, { runs }) {
		const text = await recipeText(given, runs);
		const parsed = parseRecipe(text);
		if (!parsed.ok) return { valid: false, errors: parsed.faults.slice(0, 50) };
		const { recipe, pipeline } = parsed;
		return {
			valid: true,
			engine: recipe.engine ?? 'embedded',
			stages: (pipeline?.stages ?? recipe.stages).map((stage) => ({
				type: stage.type,
				...('name' in stage ? { name: stage.name } : {}),
			})),
		};
	},
});

async function recipeText({ text, path }: { text?: string | undefined; path?: string | undefined }, runs: Runs) {
	if ((text === undefined) === (path === undefined)) {
		throw new Failure('invalid', 'Pass the recipe either as text or as a file.', 'Pass text or path.');
	}
	if (text !== undefined) return text;
	const file = await runs.fileWithin(path as string);
	return (await readNamed(file, { largest: largestRecipe })).toString('utf8');
}

export const readRecipe = defineTool({
	name: 'read_recipe',
	title: 'Read a recipe',
	description:
		'Read the recipe of a run, or a recipe file, line by line. Pass keys such as stages.0.learning_rate to get only the lines that set them.',
	input: v.object({
		run: v.optional(input.run),
		path: v.optional(input.text('Recipe file: absolute path, or relative to a server folder.')),
		keys: v.optional(
			input.described(v.pipe(v.array(v.pipe(v.string(), v.maxLength(300))), v.maxLength(50)), 'Paths of recipe keys.'),
		),
		limit: input.limit(100),
		cursor: input.cursor,
	}),
	async run({ run: named, path, keys, limit, cursor }, { runs }) {
		if ((named === undefined) === (path === undefined)) {
			throw new Failure('invalid', 'Specify either a run or a recipe file.', 'Pass run or path.');
		}
		const run = named === undefined ? null : await runs.find(named);
		const text = run === null ? await recipeText({ path }, runs) : await readRunRecipe(run.folder);
		const where = run === null ? { path } : { run: run.name, address: recipeAddress(run.name) };
		const lines = text.split('\n');
		if (keys === undefined) {
			const page = pageOf(lines, cursor, limit);
			return { ...where, ...page, items: page.items.map((line, i) => ({ line: cursor + i + 1, text: quote(line) })) };
		}
		const found = keys.map((key) => recipeLine(text, keyPath(key)) ?? { key, line: null });
		return { ...where, lines: lines.length, ...pageOf(found, cursor, limit) };
	},
});

export const explainRecipeKey = defineTool({
	name: 'explain_recipe_key',
	title: 'Explain a recipe key',
	description:
		'Explain a recipe key: meaning, allowed values, default, engines that do not support it, and whether it can change during a run. Accepts names from other trainers, such as kl_coef.',
	input: v.object({
		key: input.text('Name or path, such as beta, grpo.beta or pytorch.lora.r.', 200),
		limit: input.limit(20),
		cursor: input.cursor,
	}),
	async run({ key, limit, cursor }) {
		const found = explainKey(key);
		if (found.length > 0) return { key, ...pageOf(found, cursor, limit) };
		const names = [...new Set(recipeKeyPaths().map((path) => path.split('.').at(-1) as string))];
		const hint = didYouMean(key.split('.').at(-1) ?? key, names);
		const message = `There is no recipe key "${key}".${hint === null ? '' : ` ${hint}`}`;
		throw new Failure('missing', message, 'docs/recipe.md lists all keys.');
	},
});

/** Reads a run's recipe. Returns undefined if it is missing or unreadable. */
const recipeOf = (folder: string): Promise<unknown> =>
	readJson(folder, runFiles.recipe, largestRecipe).catch(() => undefined);

export const compareRuns = defineTool({
	name: 'compare_runs',
	title: 'Compare runs',
	description:
		'Compare two to eight runs: recipe keys that differ, and first, last, min, max and mean of the metrics they share.',
	input: v.object({
		runs: input.described(
			v.pipe(v.array(v.pipe(v.string(), v.maxLength(4096))), v.minLength(2), v.maxLength(8)),
			'Run names.',
		),
		metrics: v.optional(
			input.described(v.pipe(v.array(v.pipe(v.string(), v.maxLength(200))), v.maxLength(30)), 'Metric names.'),
			['reward', 'eval/accuracy', 'kl', 'entropy', 'completions/mean_length'],
		),
	}),
	async run({ runs: names, metrics }, { runs, signal }) {
		if (new Set(names).size < names.length) {
			throw new Failure('invalid', 'The same run is listed twice.', 'Pass different runs.');
		}
		const opened = await Promise.all(names.map((name) => runs.open(name)));
		const recipes = await Promise.all(opened.map(({ run }) => recipeOf(run.folder)));
		const { changed, same, without } = recipeDiff(recipes);
		const table = [];
		for (const { run, content } of opened) {
			const { steps, columns } = await readColumns(content, metrics, signal);
			const summaries = metrics.map((name, i) => {
				const address = formatAddress({ kind: 'metric', run: run.name, metric: name, step: null });
				return [name, { address, ...summarize(steps, columns[i] ?? []) }] as const;
			});
			table.push({
				...{ run: run.name, address: formatAddress({ kind: 'run', run: run.name }) },
				...{ recipe_address: recipeAddress(run.name) },
				metrics: Object.fromEntries(summaries.filter(([, { count }]) => count > 0)),
			});
		}
		return {
			recipe_differences: quoteAll(changed),
			equal_keys: same,
			runs_without_recipe: without.map((i) => names[i]),
			runs: table,
		};
	},
});
