import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import * as v from 'valibot';
import { Failure, type Reason } from '../../base/failure.ts';
import { compileStage, placeholders } from '../../core/pipeline/compileStage.ts';
import { withContext } from '../../core/pipeline/modelContext.ts';
import { dependenciesOf, orderStages } from '../../core/pipeline/pipelineGraph.ts';
import { writtenPlace } from '../../core/pipeline/writtenPlace.ts';
import { resolveRecipe } from '../../core/recipe/resolve.ts';
import { openRegular, openToAppend } from '../../files/safeFile.ts';
import { ownIdentity } from '../../processes/processIdentity.ts';
import { decode } from '../../protocol/decode.ts';
import { type PipelineRecord, pipelineFormat, type StageState } from '../../protocol/pipeline.ts';
import { pipelineFiles } from '../../protocol/pipelineFiles.ts';
import type { NamedStage, PipelineRecipe } from '../../protocol/pipelineRecipe.ts';
import { engineReleased } from '../engineRelease.ts';
import type { Agree } from '../foreignCode.ts';
import { engineEnvironment, type LaunchOptions, lastWords } from '../launchEngine.ts';
import { changed, makeNewFolder, type RecipeChanges, requireFiles } from '../prepareRun.ts';
import { type ReadRecipe, readRecipeFile } from '../recipeFile.ts';
import { machineOf } from '../recipeMachine.ts';
import { connectRun } from '../runControl.ts';
import { isPipelineFolder } from '../runRegistry.ts';
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
	/** Told the folder as soon as it is known, before the runner works. */
	readonly onFolder?: (folder: string) => void;
	/** How long the runner may take until it works, in milliseconds; default 120000. */
	readonly waitMs?: number;
	/** Asks whether the code of a pipeline that this user has not started may run; without it such a one is refused. */
	readonly agree?: Agree;
};

export interface ResumeChanges {
	/** A changed recipe; default: the one that the pipeline has. */
	readonly recipe?: string;
	/** Takes what stages have made as it is there now. */
	readonly acceptChanges?: boolean;
}

export interface StartedPipeline {
	readonly folder: string;
	readonly record: PipelineRecord;
}

/** The pipeline of a recipe file; null: its stages have no names. Fails as `readRecipeFile` does. */
export async function readPipelineFile(path: string, changes: RecipeChanges = {}): Promise<PipelineRecipe | null> {
	return (await readChanged(path, changes)).pipeline;
}

function readChanged(path: string, changes: RecipeChanges): Promise<ReadRecipe> {
	const plain = Object.values(changes).every((change) => change === undefined);
	return readRecipeFile(resolve(path), plain ? undefined : (value) => changed(value, changes));
}

/** Fails with `missing` or `invalid` for a file that a stage names and that is missing, before the first one begins. */
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
		'Give its stages names.',
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

/** Stages in the order in which they are run. */
export function orderedStages(recipe: PipelineRecipe): readonly NamedStage[] {
	const ordered = orderStages(recipe.stages);
	if (ordered.ok) return ordered.stages;
	throw new Failure('invalid', `The stages wait for each other in a cycle: ${ordered.cycle.join(', ')}.`);
}

/** Makes the folder of a new pipeline: `runs/<name>-<time>-<4 hex>` beside its recipe. Nothing is made of one at fault. */
export async function preparePipeline(recipePath: string, changes: RecipeChanges = {}): Promise<string> {
	return prepareIn(dirname(resolve(recipePath)), await requirePipeline(recipePath, changes));
}

/** @param recipeFolder where relative paths of the recipe start */
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

/** Starts a new pipeline by the recipe that another one was started with; that one stays as it is. */
export async function startPipelineAgain(folder: string, options: PipelineOptions): Promise<StartedPipeline> {
	const { recipeFolder } = await readPipeline(folder);
	if (!(await stat(recipeFolder).catch(() => null))?.isDirectory()) {
		throw new Failure(
			'missing',
			`The folder of its recipe, ${recipeFolder}, no longer exists.`,
			'Start its recipe instead.',
		);
	}
	await requireOwnPipeline(folder, { recipe: true, stages: false }, options.agree);
	return launchPipeline(await prepareIn(recipeFolder, await readPipelineRecipe(folder)), {}, options);
}

/**
 * Continues with a pipeline that has ended or whose runner is gone. Fails with `busy` while one is at work, and with
 * `mismatch` where a file that a stage has made was changed since, and with `denied` for one of others that is not agreed to.
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

/** Stops a pipeline: its running stage ends with a checkpoint. Resolves when it has stopped. Fails with `unavailable`. */
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

/** Beside the engine: dist/pipeline.js, or src/pipeline/main.ts. */
function runnerProgram(engine: string): string {
	return engine.endsWith('.ts')
		? join(dirname(dirname(engine)), 'pipeline', 'main.ts')
		: join(dirname(engine), 'pipeline.js');
}

/** Starts the runner as a separate process and waits until it works, or says why not. */
async function launchPipeline(
	folder: string,
	changes: ResumeChanges,
	options: PipelineOptions,
): Promise<StartedPipeline> {
	options.onFolder?.(folder);
	const program = runnerProgram(options.engine);
	if (!(await stat(program).catch(() => null))?.isFile()) {
		throw new Failure('missing', `The runner program ${program} is missing.`, 'Reinstall or rebuild it.');
	}
	await refuseLinks(folder);
	const before = (await readPipeline(folder)).attempt;
	const log = await openToAppend(join(folder, pipelineFiles.log)).catch((error: unknown) => {
		throw Failure.from(error, `Cannot write into ${folder}`);
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
		// Before the record is read: what the runner wrote at its end is then in it.
		const over = ended;
		const record = await readPipeline(folder).catch(() => null);
		if (record !== null && record.pid === pid && record.attempt > before && record.status !== 'starting') {
			return { folder, record };
		}
		if (over !== null) throw await whyEnded(folder, start, over);
		if (options.signal?.aborted)
			throw new Failure('cancelled', 'Waiting was canceled; the pipeline is still starting.');
		if (Date.now() > deadline) {
			throw new Failure('timeout', `The runner of ${folder} did not start in time.`, 'See pipeline.log there.');
		}
		await new Promise((resolve) => setTimeout(resolve, 30));
	}
}

/** The runner's own files must be files, so that nothing is written elsewhere. */
async function refuseLinks(folder: string): Promise<void> {
	const own = new Set<string>(Object.values(pipelineFiles));
	for (const entry of await readdir(folder, { withFileTypes: true })) {
		if (!own.has(entry.name) || entry.isFile() || entry.isDirectory()) continue;
		throw new Failure('invalid', `${join(folder, entry.name)} is neither a file nor a folder.`, 'Remove it.');
	}
}

const failureSchema = v.object({ reason: v.string(), message: v.string(), action: v.optional(v.string()) });

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
		const decoded = decode(failureSchema, parsed(line));
		if (decoded.ok) return new Failure(decoded.value.reason as Reason, decoded.value.message, decoded.value.action);
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

/** Pipelines in `runs` folders at a place and around runs that are known. */
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
