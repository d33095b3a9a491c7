import { isAbsolute } from 'node:path';
import type { ResolvedRecipe } from '../../core/recipe/resolvedRecipe.ts';
import { trainerEnvironment as names } from '../../protocol/trainerLink.ts';

/** Environment variables that would change Python's behavior or search paths. */
const leftOut = ['NODE_OPTIONS', 'ELECTRON_RUN_AS_NODE', 'PYTHONHOME', 'PYTHONSTARTUP', 'PYTHONINSPECT', 'PYTHONDEBUG'];

/** Disables telemetry. */
const silent = {
	HF_HUB_DISABLE_TELEMETRY: '1',
	DISABLE_TELEMETRY: '1',
	DO_NOT_TRACK: '1',
	TRANSFORMERS_NO_ADVISORY_WARNINGS: '1',
	TRL_EXPERIMENTAL_SILENCE: '1',
	VLLM_NO_USAGE_STATS: '1',
	WANDB_MODE: 'disabled',
	HF_HUB_DISABLE_PROGRESS_BARS: '1',
};

/**
 * Settings for glibc's allocator, in bytes. They keep the memory of tensors freed at the end of a step in the process,
 * instead of returning it to the system and reallocating it page by page in each step. Values set by the user take
 * precedence.
 */
export const keptMemory = { MALLOC_MMAP_THRESHOLD_: String(32 << 20), MALLOC_TRIM_THRESHOLD_: String(1 << 30) };

const offline = { HF_HUB_OFFLINE: '1', HF_DATASETS_OFFLINE: '1', TRANSFORMERS_OFFLINE: '1' };

/** Returns whether a recipe refers to the Hub. Any path that is not absolute is a Hub id. */
export function namesHub(recipe: Pick<ResolvedRecipe, 'dataset' | 'model' | 'stages'>): boolean {
	const paths: unknown[] = [];
	if ('path' in recipe.dataset) paths.push(recipe.dataset.path, recipe.dataset.heldOut);
	if ('path' in recipe.model) paths.push(recipe.model.path);
	for (const stage of recipe.stages) {
		for (const part of Object.values(stage)) {
			if (typeof part === 'object' && part !== null && 'path' in part) paths.push(part.path);
		}
	}
	return paths.some((path) => typeof path === 'string' && !isAbsolute(path));
}

export interface TrainerEnvironmentOptions {
	readonly recipe: ResolvedRecipe | null;
	/** Folder that contains the Python package. */
	readonly folder: string;
	readonly socket: string;
	readonly token: string;
	/** Default: the environment of this process. */
	readonly environment?: NodeJS.ProcessEnv;
}

/** Returns a trainer's environment, without telemetry, and without network access unless the recipe needs it. */
export function trainerEnvironment(options: TrainerEnvironmentOptions): NodeJS.ProcessEnv {
	const { recipe, folder, socket, token, environment = process.env } = options;
	const kept = Object.fromEntries(Object.entries(environment).filter(([name]) => !leftOut.includes(name)));
	const processes = recipe?.pytorch?.processes ?? 1;
	// Use the number of threads from the start of the run, so resuming on another machine produces the same numbers.
	const threads =
		recipe === null ? {} : { OMP_NUM_THREADS: String(Math.max(1, Math.floor(recipe.workers / processes))) };
	return {
		...keptMemory,
		...kept,
		...silent,
		...(recipe === null || !namesHub(recipe) ? offline : {}),
		// torch cannot use devices that are hidden from it.
		...(recipe?.device === 'cpu' ? { CUDA_VISIBLE_DEVICES: '', ACCELERATE_USE_CPU: 'true' } : {}),
		...threads,
		PYTHONPATH: folder,
		PYTHONSAFEPATH: '1',
		PYTHONUNBUFFERED: '1',
		PYTHONFAULTHANDLER: '1',
		PYTHONDONTWRITEBYTECODE: '1',
		TOKENIZERS_PARALLELISM: 'false',
		[names.socket]: socket,
		[names.token]: token,
	};
}
