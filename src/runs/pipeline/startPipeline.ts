import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { Failure } from '../../base/failure.ts';
import { compileStage, placeholders } from '../../core/pipeline/compileStage.ts';
import { withContext } from '../../core/pipeline/modelContext.ts';
import { dependenciesOf, orderStages } from '../../core/pipeline/pipelineGraph.ts';
import { writtenPlace } from '../../core/pipeline/writtenPlace.ts';
import { resolveRecipe } from '../../core/recipe/resolve.ts';
import { openRegular, openToAppend } from '../../files/safeFile.ts';
import { ownIdentity } from '../../processes/processIdentity.ts';
import { decode } from '../../protocol/decode.ts';
import { failureDataSchema } from '../../protocol/failureData.ts';
import { type PipelineRecord, pipelineFormat, type StageState } from '../../protocol/pipeline.ts';
import { pipelineFiles } from '../../protocol/pipelineFiles.ts';
import type { NamedStage, PipelineRecipe } from '../../protocol/recipeKeys/pipelineRecipe.ts';
import { engineReleased } from '../engineRelease.ts';
import type { Agree } from '../foreignCode.ts';
import { engineEnvironment, type LaunchOptions, lastWords } from '../launchEngine.ts';
import { changed, makeNewFolder, type RecipeChanges, requireFiles } from '../prepareRun.ts';
import { type ReadRecipe, readRecipeFile } from '../recipeFile.ts';
import { machineOf } from '../recipeMachine.ts';
import { connectRun } from '../runControl.ts';
import { isPipelineFolder } from '../runFolders.ts';
import { markPipelineStarted, requireOwnPipeline } from './foreignPipeline.ts';
import {
	claimsRunning,
	hashRecipe,
	readPipeline,
	readPipelineRecipe,
	readPipelineState,
	writePipeline,
	writePipelineRecipe,
} from './pipelineFolder.ts';

export type PipelineOptions = Pick<LaunchOptions, 'engine' | 'node' | 'environment' | 'signal'> & {
	/** Called with the folder as soon as it is known, before the runner starts. */
	readonly onFolder?: (folder: string) => void;
	/** Startup time limit for the runner, in milliseconds; default 120000. */
	readonly waitMs?: number;
	/**
	 * Asks whether to run the code of a pipeline that this user has not started; without it, such pipelines are rejected.
	 */
	readonly agree?: Agree;
	/** Maximum number of stages that run at the same time; default: that of the last attempt, otherwise 1. */
	readonly parallel?: number;
};

export interface ResumeChanges {
	/** A modified recipe; default: the pipeline's current one. */
	readonly recipe?: string;
	/** Whether to accept stage outputs that have been modified since they were produced. */
	readonly acceptChanges?: boolean;
}

export interface StartedPipeline {
	readonly folder: string;
	readonly record: PipelineRecord;
}

/**
 * Reads a pipeline from a recipe file; returns null if its stages have no names. Fails with the same errors as
 * `readRecipeFile`.
 */
export async function readPipelineFile(path: string, changes: RecipeChanges = {}): Promise<PipelineRecipe | null> {
	return (await readChanged(path, changes)).pipeline;
}

function readChanged(path: string, changes: RecipeChanges): Promise<ReadRecipe> {
	const plain = Object.values(changes).every((change) => change === undefined);
	return readRecipeFile(resolve(path), plain ? undefined : (value) => changed(value, changes));
}

/** Fails with `missing` or `invalid`, before the first stage starts, if a file that a stage refers to is missing. */
async function requireInputs(recipe: PipelineRecipe, places: ReadRecipe['places'], path: string): Promise<void> {
	for (const [i, stage] of recipe.stages.entries()) {
		const compiled = compileStage(recipe, stage, placeholders(recipe, stage));
		const resolved = resolveRecipe(withContext(recipe, stage, compiled), await machineOf(compiled, dirname(path)));
		await requireFiles(resolved, path, { place: (key) => writtenPlace(stage, places[i] ?? ['stages', i], key) });
	}
}

async function requirePipeline(path: string, changes: RecipeChanges): Promise<PipelineRecipe> {
	const { pipeline, places } = await readChanged(path, changes);
	if (pipeline !== null) {
		await requireInputs(pipeline, places, resolve(path));
		return pipeline;
	}
	throw new Failure(
		'invalid',
		`${resolve(path)} is not a pipeline: its stages have no names.`,
		'Give each stage a name.',
	);
}

export const freshState = (stage: NamedStage): StageState => ({
	name: stage.name,
	type: stage.type,
	...(stage.round === undefined ? {} : { round: { ...stage.round } }),
	status: 'waiting',
	after: dependenciesOf(stage),
	inputHash: null,
	outputs: [],
	started: null,
	ended: null,
	attempt: null,
	accuracy: null,
});

/** Returns the stages in the order they run. */
export function orderedStages(recipe: PipelineRecipe): readonly NamedStage[] {
	const ordered = orderStages(recipe.stages);
	if (ordered.ok) return ordered.stages;
	throw new Failure('invalid', `The stages depend on each other in a cycle: ${ordered.cycle.join(', ')}.`);
}

/**
 * Creates the folder for a new pipeline: `runs/<name>-<time>-<4 hex>` next to its recipe. Creates nothing if the recipe
 * is invalid.
 */
export async function preparePipeline(recipePath: string, changes: RecipeChanges = {}): Promise<string> {
	return prepareIn(dirname(resolve(recipePath)), await requirePipeline(recipePath, changes));
}

/** @param recipeFolder base folder for relative paths in the recipe */
async function prepareIn(recipeFolder: string, recipe: PipelineRecipe): Promise<string> {
	const now = Date.now() / 1000;
	const record: PipelineRecord = {
		format: pipelineFormat,
		id: randomUUID(),
		name: recipe.name,
		status: 'stopped',
		attempt: 0,
		created: now,
		updated: now,
		heartbeat: now,
		...(await ownIdentity()),
		recipeFolder,
		hashes: { recipe: hashRecipe(recipe) },
		stages: orderedStages(recipe).map(freshState),
	};
	const made = await makeNewFolder(join(recipeFolder, 'runs'), recipe.name, async (folder) => {
		await writePipelineRecipe(folder, recipe);
		await writePipeline(folder, record);
	});
	await markPipelineStarted(made).catch(() => undefined);
	return made;
}

/** Starts a new pipeline. */
export async function startPipeline(
	recipePath: string,
	changes: RecipeChanges,
	options: PipelineOptions,
): Promise<StartedPipeline> {
	const folder = await preparePipeline(recipePath, changes);
	return launchPipeline(folder, {}, options);
}

/** Starts a new pipeline using an existing pipeline's recipe. The existing pipeline is left unchanged. */
export async function startPipelineAgain(folder: string, options: PipelineOptions): Promise<StartedPipeline> {
	const { recipeFolder } = await readPipeline(folder);
	if (!(await stat(recipeFolder).catch(() => null))?.isDirectory()) {
		throw new Failure(
			'missing',
			`The pipeline's recipe folder, ${recipeFolder}, no longer exists.`,
			'Run the recipe directly.',
		);
	}
	await requireOwnPipeline(folder, { recipe: true, stages: false }, options.agree);
	return launchPipeline(await prepareIn(recipeFolder, await readPipelineRecipe(folder)), {}, options);
}

/**
 * Continues a pipeline that has ended or whose runner has died. Fails with `busy` if a runner is active, with
 * `mismatch` if a file produced by a stage has since been modified, and with `denied` if the pipeline belongs to
 * someone else and the user does not agree to run it.
 */
export async function resumePipeline(
	folder: string,
	changes: ResumeChanges,
	options: PipelineOptions,
): Promise<StartedPipeline> {
	const { record, status } = await readPipelineState(folder);
	if (claimsRunning({ status })) {
		throw new Failure('busy', `The pipeline ${folder} is ${status} (process ${record.pid}).`, 'Stop it first.');
	}
	if (changes.recipe !== undefined) await requirePipeline(changes.recipe, {});
	else await readPipelineRecipe(folder);
	await requireOwnPipeline(folder, { recipe: changes.recipe === undefined, stages: true }, options.agree);
	return launchPipeline(folder, changes, options);
}

/**
 * Stops a pipeline. Its current stage ends with a checkpoint. Resolves when the pipeline has stopped. Fails with
 * `unavailable`.
 */
export async function stopPipeline(folder: string, signal?: AbortSignal): Promise<void> {
	const record = await readPipeline(folder);
	const client = await connectRun(folder, record, 'reasoning-lab');
	try {
		await client.request('pipeline/stop', {}, signal);
	} finally {
		client.dispose();
	}
	await engineReleased(folder, record, { lock: pipelineFiles.lock, signal });
}

/** Returns the runner next to the engine: dist/pipeline.js or src/pipeline/main.ts. */
function runnerProgram(engine: string): string {
	return engine.endsWith('.ts')
		? join(dirname(dirname(engine)), 'pipeline', 'main.ts')
		: join(dirname(engine), 'pipeline.js');
}

/** Starts the runner as a separate process and waits until it is running or reports why it cannot run. */
async function launchPipeline(
	folder: string,
	changes: ResumeChanges,
	options: PipelineOptions,
): Promise<StartedPipeline> {
	options.onFolder?.(folder);
	const program = runnerProgram(options.engine);
	if (!(await stat(program).catch(() => null))?.isFile()) {
		throw new Failure('missing', `The runner program ${program} does not exist.`, 'Reinstall or rebuild it.');
	}
	await refuseLinks(folder);
	const before = (await readPipeline(folder)).attempt;
	const log = await openToAppend(join(folder, pipelineFiles.log)).catch((error: unknown) => {
		throw Failure.from(error, `Cannot write to ${folder}`);
	});
	let ended: number | string | null = null;
	let pid: number | undefined;
	let start: number;
	try {
		start = (await log.stat()).size;
		const child = spawn(
			options.node ?? process.execPath,
			[
				program,
				'--pipeline',
				folder,
				'--engine',
				options.engine,
				...(changes.recipe === undefined ? [] : ['--recipe', resolve(changes.recipe)]),
				...(changes.acceptChanges ? ['--accept-changes'] : []),
				...(options.parallel === undefined ? [] : ['--parallel', String(options.parallel)]),
			],
			{
				cwd: dirname(folder),
				detached: true,
				windowsHide: true,
				stdio: ['ignore', log.fd, log.fd],
				env: engineEnvironment({ ...process.env, ...options.environment }),
			},
		);
		pid = child.pid;
		child.once('exit', (code, signal) => {
			ended = code ?? signal;
		});
		child.once('error', (error) => {
			ended = error.message;
		});
		child.unref();
	} finally {
		await log.close();
	}
	const deadline = Date.now() + (options.waitMs ?? 120_000);
	for (;;) {
		// Check this before reading the record, so that the record includes the runner's last write.
		const over = ended;
		const record = await readPipeline(folder).catch(() => null);
		if (record !== null && record.pid === pid && record.attempt > before && record.status !== 'starting') {
			return { folder, record };
		}
		if (over !== null) throw await whyEnded(folder, start, over);
		if (options.signal?.aborted)
			throw new Failure('cancelled', 'Stopped waiting for the pipeline, which is still starting.');
		if (Date.now() > deadline) {
			throw new Failure(
				'timeout',
				`The runner for ${folder} did not start in time.`,
				'See pipeline.log in the pipeline folder.',
			);
		}
		await new Promise((resolve) => setTimeout(resolve, 30));
	}
}

/** Checks that the runner's own files are regular files, so that nothing is written elsewhere. */
async function refuseLinks(folder: string): Promise<void> {
	const own = new Set<string>(Object.values(pipelineFiles));
	for (const entry of await readdir(folder, { withFileTypes: true })) {
		if (!own.has(entry.name) || entry.isFile() || entry.isDirectory()) continue;
		throw new Failure('invalid', `${join(folder, entry.name)} is neither a file nor a folder.`, 'Remove it.');
	}
}

async function whyEnded(folder: string, start: number, how: number | string): Promise<Failure> {
	const handle = await openRegular(folder, pipelineFiles.log).catch(() => null);
	let text = '';
	if (handle !== null) {
		try {
			const buffer = Buffer.alloc(64 << 10);
			const { bytesRead } = await handle.read(buffer, 0, buffer.length, start);
			text = buffer.toString('utf8', 0, bytesRead);
		} finally {
			await handle.close();
		}
	}
	for (const line of text.trim().split('\n').toReversed()) {
		const decoded = decode(failureDataSchema, parsed(line));
		if (decoded.ok) return Failure.of(decoded.value);
	}
	const words = lastWords(text);
	return new Failure(
		'internal',
		`The runner exited (${how}) before it started working${words === '' ? '' : `: ${words}`}`.replace(/[.]?$/, '.'),
		`See ${join(folder, pipelineFiles.log)}.`,
	);
}

function parsed(line: string): unknown {
	try {
		return JSON.parse(line);
	} catch {
		return null;
	}
}

/** Finds pipelines in the `runs` subfolders of `folders` and next to known runs. */
export async function pipelinesOf(folders: readonly string[], runs: readonly string[]): Promise<string[]> {
	const found = new Set<string>();
	for (const run of runs) if (await isPipelineFolder(dirname(run))) found.add(dirname(run));
	for (const folder of folders) {
		for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
			if (!entry.isDirectory() || entry.name.startsWith('.')) continue;
			const path = join(folder, entry.name);
			if (await isPipelineFolder(path)) found.add(path);
		}
	}
	return [...found].sort((a, b) => (basename(a) < basename(b) ? -1 : 1));
}
