import { stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import * as v from 'valibot';
import { parseBoundedJson } from '../base/boundedJson.ts';
import { Failure } from '../base/failure.ts';
import type { ProblemSource } from '../core/dataset/problemSource.ts';
import { isReadByTrainer } from '../core/dataset/readableHere.ts';
import type { MemoryFacts } from '../core/memory/estimateRecipe.ts';
import { type ReadShape, shapeOfConfig, shapeOfSizes } from '../core/memory/modelShape.ts';
import { hasHubForm } from '../core/recipe/hubId.ts';
import type { ResolvedRecipe } from '../core/recipe/resolvedRecipe.ts';
import { contextFor, type SequenceLengths, sequenceLengths } from '../core/recipe/sequenceLengths.ts';
import { buildTokenizer } from '../core/text/vocabulary.ts';
import { readNamed } from '../files/safeFile.ts';
import { modelShapeSchema } from '../protocol/checkpointState.ts';
import { openDataset } from './openDataset.ts';

/** Size limit for configuration files, which are small. */
const largestConfig = 4 << 20;
/** Size limit for datasets that are read to determine row lengths. */
const largestRead = 50_000_000;
/** Vocabulary size assumed for a new model whose data is not read here. */
const assumedVocabulary = 128;
/** Characters per token in Hugging Face tokenizers; a low value, so that lengths are overestimated. */
const charactersPerToken = 3;

type Facts = Pick<MemoryFacts, 'model' | 'promptTokens' | 'textTokens'>;

/**
 * Returns the facts about a recipe's model and data needed for a memory estimate, without loading either. Fails with
 * `missing` if a Hub model is not on this machine, and with `invalid` if a folder contains no language model.
 */
export async function memoryFacts(recipe: ResolvedRecipe, variables: NodeJS.ProcessEnv = process.env): Promise<Facts> {
	const source = await openSource(recipe);
	const lengths = source === null ? null : sequenceLengths(source, recipe.template);
	if (!('path' in recipe.model)) {
		return { model: newModel(recipe, recipe.model, source, lengths), ...tokensOf(lengths, 1) };
	}
	const model = await readShape(recipe.model.path, recipe.model.revision ?? 'main', variables);
	return { model, ...tokensOf(lengths, model.family === 'reasoning-lab' ? 1 : charactersPerToken) };
}

function tokensOf(lengths: SequenceLengths | null, perToken: number): Pick<Facts, 'promptTokens' | 'textTokens'> {
	if (lengths === null) return { promptTokens: null, textTokens: null };
	return {
		promptTokens: Math.ceil(lengths.prompt / perToken),
		textTokens: Math.ceil((lengths.prompt + lengths.completion) / perToken),
	};
}

async function openSource(recipe: ResolvedRecipe): Promise<ProblemSource | null> {
	const { dataset } = recipe;
	if (!('task' in dataset)) {
		if (isReadByTrainer(dataset)) return null;
		const file = await stat(dataset.path).catch(() => null);
		if (file === null || !file.isFile() || file.size > largestRead) return null;
	}
	return (await openDataset(dataset)).source;
}

function newModel(
	recipe: ResolvedRecipe,
	sizes: Exclude<ResolvedRecipe['model'], { path: string }>,
	source: ProblemSource | null,
	lengths: SequenceLengths | null,
): ReadShape {
	const vocabulary = source === null ? assumedVocabulary : buildTokenizer(recipe.template, source.symbols).size;
	const completions = recipe.stages.flatMap((stage) =>
		'max_completion_length' in stage ? [stage.max_completion_length ?? 1] : [],
	);
	const teaches = recipe.stages.some(({ type }) => type === 'sft');
	const context = sizes.context ?? (lengths === null ? 1024 : contextFor(lengths, completions, teaches));
	return { shape: shapeOfSizes({ ...sizes, context }, vocabulary), family: 'reasoning-lab', known: true };
}

/**
 * Returns the dimensions of a model folder, a checkpoint of either engine, an adapter's base model, or a model in the
 * Hub cache.
 */
async function readShape(path: string, revision: string, variables: NodeJS.ProcessEnv, depth = 0): Promise<ReadShape> {
	const folder = hasHubForm(path) ? await cachedFolder(path, revision, variables) : path;
	const config = await readJson(join(folder, 'config.json'));
	if (config !== null) return shapeOfConfig(config, join(folder, 'config.json'));
	const state = v.safeParse(v.looseObject({ shape: modelShapeSchema }), await readJson(join(folder, 'state.json')));
	if (state.success) {
		const { vocabulary, ...sizes } = state.output.shape;
		return { shape: shapeOfSizes(sizes, vocabulary), family: 'reasoning-lab', known: true };
	}
	const adapter = v.safeParse(
		v.looseObject({ base_model_name_or_path: v.pipe(v.string(), v.minLength(1)) }),
		await readJson(join(folder, 'adapter_config.json')),
	);
	if (adapter.success && depth === 0) {
		return readShape(adapter.output.base_model_name_or_path, 'main', variables, depth + 1);
	}
	throw new Failure(
		'invalid',
		`The folder ${folder} does not contain a model: config.json is missing.`,
		'Use a folder written by save_pretrained, or a checkpoint from a run.',
	);
}

/**
 * Reads a JSON file; returns null if the file is missing, too large, or not JSON. Follows links, because the Hub cache
 * consists of symlinks.
 */
async function readJson(path: string): Promise<unknown> {
	try {
		return parseBoundedJson((await readNamed(path, { largest: largestConfig })).toString('utf8'));
	} catch {
		return null;
	}
}

/** Returns where huggingface_hub stores a downloaded model; fails with `missing` if it has not been downloaded. */
async function cachedFolder(id: string, revision: string, variables: NodeJS.ProcessEnv): Promise<string> {
	const home = variables.HF_HOME ?? join(variables.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'huggingface');
	const cache = variables.HF_HUB_CACHE ?? join(home, 'hub');
	const model = join(cache, `models--${id.replaceAll('/', '--')}`);
	const ref = await readNamed(join(model, 'refs', revision), { largest: 1024 }).catch(() => null);
	const named = (ref?.toString('utf8') ?? revision).trim();
	const folder = join(model, 'snapshots', named);
	if (/^[\w.-]+$/.test(named) && (await stat(folder).catch(() => null))?.isDirectory()) return folder;
	throw new Failure(
		'missing',
		`The size of ${id} is unknown because it is not in the cache of downloaded models (${cache}).`,
		'Download it first, or set "model" to its folder.',
	);
}
