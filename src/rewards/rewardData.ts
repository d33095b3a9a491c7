import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename, dirname, relative, resolve } from 'node:path';
import { Failure } from '../base/failure.ts';
import { formatCounted } from '../base/format.ts';
import { createTask } from '../core/dataset/createTask.ts';
import { onlyTrainerReads, verifiedTask } from '../core/dataset/readableHere.ts';
import { keyContext } from '../core/recipe/keyContext.ts';
import { resolveDataset } from '../core/recipe/resolveDataset.ts';
import type { ResolvedDataset, ResolvedReward } from '../core/recipe/resolvedRecipe.ts';
import { exactVerifier, type Verifier } from '../core/reward/accuracyReward.ts';
import { datasetComment } from '../core/reward/verification/datasetComment.ts';
import { resolveTemplate, type Template } from '../core/text/template.ts';
import type { FileDataset, TaskDataset } from '../protocol/recipeKeys/recipe.ts';
import type { RewardContext } from '../protocol/rewardHost.ts';
import { findRewardRecipes, type RewardRecipe, readRewardRecipe, recipeNames } from './rewardRecipe.ts';

export interface RewardDataRequest {
	/** Absolute path to the reward file. */
	readonly file: string;
	/** Text of the reward file, if an editor has a newer version than the one on disk. */
	readonly text?: string;
	/** Folders that are searched for recipes: the workspace folders. */
	readonly folders: readonly string[];
	/** Absolute path to a JSONL file selected by the user. Takes precedence over the comment and the recipe. */
	readonly dataset?: string;
	/** Absolute path to a recipe selected by the user. */
	readonly recipe?: string;
}

/** Data and settings for verifying a reward file. Anything missing is reported as a remark rather than an error. */
export interface RewardData {
	readonly file: string;
	readonly dataset: ResolvedDataset | null;
	/** Where the dataset was specified. */
	readonly source: 'given' | 'comment' | 'recipe' | 'near' | null;
	/** Display name: "data/train.jsonl", "the addition task". */
	readonly described: string;
	readonly recipe: RewardRecipe | null;
	readonly template: Template;
	/** Determines whether a generated answer is incorrect. */
	readonly verify: Verifier;
	/** Context passed to the reward host. */
	readonly context: RewardContext;
	/** Other rewards in the recipe, including those in the same file if the recipe uses only some of them. */
	readonly others: readonly ResolvedReward[];
	readonly remarks: readonly string[];
	/** Files, other than the reward file, that this data depends on. */
	readonly files: readonly string[];
}

const largestHead = 64 << 10;

/** Reads the start of a reward file. Returns an empty string if it cannot be read; loading the file reports why. */
export async function readHead(file: string): Promise<string> {
	// Do not block on a pipe that has no writer.
	const handle = await open(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)).catch(() => null);
	if (handle === null) return '';
	try {
		if (!(await handle.stat()).isFile()) return '';
		const buffer = Buffer.alloc(largestHead);
		const { bytesRead } = await handle.read(buffer, 0, buffer.length, 0);
		return buffer.toString('utf8', 0, bytesRead);
	} finally {
		await handle.close();
	}
}

/** Resolves a dataset named in a comment or by the user: always a file or a task. */
function resolveNamed(dataset: TaskDataset | FileDataset, folder: string): ResolvedDataset {
	const machine = { cores: 1, resolvePath: (path: string) => resolve(folder, path) };
	return resolveDataset(dataset, keyContext(machine, true, null));
}

const isTask = (dataset: ResolvedDataset): dataset is Extract<ResolvedDataset, { task: unknown }> => 'task' in dataset;

/** Returns the dataset for a file, with the recipe's column names if the recipe uses the same file. */
function likeRecipe(dataset: ResolvedDataset, recipe: RewardRecipe | null): ResolvedDataset {
	const other = recipe?.recipe.dataset;
	return other && !isTask(other) && !isTask(dataset) && other.path === dataset.path ? other : dataset;
}

/** Returns a display path: relative to the first folder that contains it, or else just the file name. */
export function pathInside(folders: readonly string[], path: string): string {
	const inside = folders
		.map((folder) => relative(folder, path))
		.find((near) => near !== '' && !/^\.\.|^[A-Za-z]:/.test(near));
	return inside?.replaceAll('\\', '/') ?? basename(path);
}

function describe(dataset: ResolvedDataset | null, request: RewardDataRequest): string {
	if (dataset === null) return '';
	if (isTask(dataset)) return `the ${dataset.task} task`;
	return pathInside(request.folders, dataset.path);
}

/** Returns a hint on how to specify the data. */
export function datasetHint(file: string): string {
	const sign = file.endsWith('.py') ? '#' : '//';
	return `Add "${sign} @dataset ../data/train.jsonl" to the reward file, or add the file to a recipe.`;
}

/**
 * Finds the data for a reward file: the user's selection, its `@dataset` comment, a recipe that uses it, or a nearby
 * recipe.
 */
export async function findRewardData(request: RewardDataRequest): Promise<RewardData> {
	const { file, folders } = request;
	const folder = dirname(file);
	const remarks: string[] = [];
	const recipe = await chooseRecipe(request, remarks);
	const comment = datasetComment(request.text ?? (await readHead(file)));
	if (comment?.fault !== undefined) remarks.push(`Line ${comment.line}: ${comment.fault}`);
	let dataset: ResolvedDataset | null = null;
	let source: RewardData['source'] = null;
	let verify: Verifier = exactVerifier;
	try {
		if (request.dataset !== undefined) {
			dataset = likeRecipe(resolveNamed({ path: request.dataset }, folder), recipe);
			source = 'given';
		} else if (comment?.dataset) {
			dataset = likeRecipe(resolveNamed(comment.dataset, folder), recipe);
			source = 'comment';
		} else if (recipe !== null) {
			dataset = recipe.recipe.dataset;
			source = recipe.names ? 'recipe' : 'near';
		} else remarks.push(`No dataset found for ${basename(file)}. ${datasetHint(file)}`);
		const unread = dataset === null ? null : onlyTrainerReads(dataset);
		if (unread !== null) {
			remarks.push(`${unread} ${datasetHint(file)}`);
			dataset = null;
		}
		const verified = dataset === null ? null : verifiedTask(dataset);
		if (verified !== null) {
			const task = createTask(verified);
			verify = (question, answer) => task.verify(question, answer);
		}
	} catch (error) {
		remarks.push(Failure.from(error).toString());
		dataset = null;
	}
	const { template, ...rest } = fromRecipe(recipe);
	return {
		file,
		dataset,
		source: dataset === null ? null : source,
		described: describe(dataset, { ...request, folders }),
		recipe,
		template,
		verify,
		context: {
			tags: { think: copyPair(template.think), answer: copyPair(template.answer) },
			task: dataset === null ? null : verifiedTask(dataset),
			folder: recipe === null ? folder : dirname(recipe.path),
		},
		...rest,
		remarks,
		files: [
			...(recipe === null ? [] : [recipe.path]),
			...(dataset === null || isTask(dataset) ? [] : [dataset.path]),
			...rest.others.flatMap((reward) => ('file' in reward && reward.file !== file ? [reward.file] : [])),
		],
	};
}

const copyPair = (pair: Template['think']): [string, string] | null => (pair === null ? null : [pair[0], pair[1]]);

function fromRecipe(recipe: RewardRecipe | null): Pick<RewardData, 'template' | 'others'> {
	if (recipe === null) return { template: resolveTemplate('r1'), others: [] };
	const { template, rewards } = recipe.recipe;
	return {
		template: { ...template },
		// A recipe that is only nearby determines how prompts look, but not which other rewards apply.
		others: recipe.names ? rewards : [],
	};
}

async function chooseRecipe(request: RewardDataRequest, remarks: string[]): Promise<RewardRecipe | null> {
	const { file, folders } = request;
	if (request.recipe !== undefined) {
		try {
			const recipe = await readRewardRecipe(request.recipe);
			return { path: request.recipe, recipe, names: await recipeNames(recipe, file) };
		} catch (error) {
			remarks.push(Failure.from(error).toString());
			return null;
		}
	}
	const { recipes, faults } = await findRewardRecipes(file, folders);
	const [first, second] = recipes;
	if (first?.names && second?.names) {
		const more = recipes.filter(({ names }) => names).length - 1;
		remarks.push(
			`Using ${basename(first.path)}; ${formatCounted(more, 'more recipe uses', 'more recipes use')} the file.`,
		);
	}
	if (first === undefined) for (const fault of faults) remarks.push(fault.message);
	return first ?? null;
}
