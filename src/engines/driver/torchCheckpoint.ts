import { createHash } from 'node:crypto';
import { constants, copyFile, lstat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Failure } from '../../base/failure.ts';
import { ensureFolder, writeFileAtomic } from '../../files/atomicFile.ts';
import { openRegular, readJson } from '../../files/safeFile.ts';
import { checkpointFiles, checkpointFormat, checkpointStateSchema } from '../../protocol/checkpointState.ts';
import { decode } from '../../protocol/decode.ts';
import type { Engine } from '../../protocol/recipeKeys/recipeKey.ts';
import { type TorchCheckpointState, torchCheckpointStateSchema } from '../../protocol/trainerLink.ts';
import { checkpointFileNames, manifestName, readManifest } from '../../runs/checkpointFiles.ts';
import type { Progress } from '../shared/progress.ts';

/** A checkpoint to continue from, after its files have been verified. */
export interface StartCheckpoint {
	readonly folder: string;
	readonly engine: Engine;
	readonly run: { readonly id: string; readonly name: string };
	readonly progress: Progress;
	/** The trainer's own state. Empty in checkpoints of the embedded engine. */
	readonly trainer: Readonly<Record<string, unknown>>;
}

/** Hashes the files that a trainer wrote to `folder`, and writes state.json. */
export async function sealCheckpoint(
	folder: string,
	state: Omit<TorchCheckpointState, 'format' | 'engine' | 'files'>,
): Promise<void> {
	try {
		const files: TorchCheckpointState['files'] = {};
		for (const name of await checkpointFileNames(folder)) {
			if (name === checkpointFiles.state || name === manifestName) {
				throw new Failure('invalid', `Trainers must not write ${name} to a checkpoint.`);
			}
			files[name] = { bytes: (await lstat(join(folder, name))).size, sha256: await sha256Of(folder, name) };
		}
		if (Object.keys(files).length === 0) throw new Failure('internal', 'The trainer wrote no files to the checkpoint.');
		const sealed = { format: checkpointFormat, engine: 'pytorch', ...state, files };
		await writeFileAtomic(join(folder, checkpointFiles.state), `${JSON.stringify(sealed, null, '\t')}\n`);
	} catch (error) {
		throw Failure.from(error, `Cannot write the checkpoint for step ${state.step}`);
	}
}

/** Copies a checkpoint's trainer files to an empty folder. */
export async function copyCheckpoint(from: string, to: string): Promise<void> {
	for (const name of await checkpointFileNames(from)) {
		if (name === checkpointFiles.state || name === manifestName) continue;
		await ensureFolder(dirname(join(to, name)));
		await copyFile(join(from, name), join(to, name), constants.COPYFILE_FICLONE);
	}
}

async function sha256Of(folder: string, name: string): Promise<string> {
	const handle = await openRegular(folder, name);
	const hash = createHash('sha256');
	try {
		await pipeline(handle.createReadStream({ autoClose: false, highWaterMark: 1 << 20 }), hash);
		return hash.digest('hex');
	} finally {
		await handle.close();
	}
}

function damaged(folder: string, why: string): Failure {
	return new Failure('corrupt', `The checkpoint ${folder} is damaged: ${why}.`, 'Use another checkpoint.');
}

/**
 * Reads a checkpoint from this engine or the embedded one and verifies the size and hash of each file. Throws
 * `missing`, `corrupt` or `version`.
 */
export async function readStartCheckpoint(folder: string): Promise<StartCheckpoint> {
	const value = await readJson(folder, checkpointFiles.state).catch((error: unknown) => {
		const failure = Failure.from(error);
		if (failure.reason === 'corrupt') throw damaged(folder, `${checkpointFiles.state} is not JSON`);
		if (failure.reason !== 'missing') throw failure;
		throw new Failure(
			'missing',
			`${folder} is not a checkpoint: it has no ${checkpointFiles.state}.`,
			'Select a folder such as <run>/checkpoints/step_000100.',
		);
	});
	const { format, engine } = (value ?? {}) as { readonly format?: unknown; readonly engine?: unknown };
	if (typeof format === 'number' && format > checkpointFormat) {
		throw new Failure('version', `The checkpoint ${folder} uses the newer format ${format}.`, 'Update Reasoning Lab.');
	}
	const torch = engine === 'pytorch';
	const state = torch ? torchStart(folder, value) : embeddedStart(folder, value);
	if ((await readManifest(folder)) === null) throw damaged(folder, 'files are missing or truncated');
	for (const [name, { bytes, sha256 }] of Object.entries(state.files)) {
		const info = await lstat(join(folder, name)).catch(() => null);
		if (info?.size !== bytes) throw damaged(folder, `${name} is no longer its original size (${bytes} bytes)`);
		if ((await sha256Of(folder, name)) !== sha256)
			throw damaged(folder, `the content of ${name} does not match its hash`);
	}
	return state.start;
}

type ReadStart = { readonly start: StartCheckpoint; readonly files: TorchCheckpointState['files'] };

function torchStart(folder: string, value: unknown): ReadStart {
	const decoded = decode(torchCheckpointStateSchema, value);
	if (!decoded.ok) throw notValid(folder, decoded.faults[0]);
	const { run, trainer, files, generations, ...state } = decoded.value;
	return { files, start: { folder, engine: 'pytorch', run, trainer, progress: progressOf({ ...state, generations }) } };
}

function embeddedStart(folder: string, value: unknown): ReadStart {
	const decoded = decode(checkpointStateSchema, value);
	if (!decoded.ok) throw notValid(folder, decoded.faults[0]);
	const { run, files, random, ...state } = decoded.value;
	return {
		files,
		start: {
			folder,
			engine: 'embedded',
			run,
			trainer: {},
			progress: progressOf({ ...state, generations: random.generations }),
		},
	};
}

function notValid(folder: string, fault: { path: string; message: string } | undefined): Failure {
	return damaged(folder, `${checkpointFiles.state} is not valid at ${fault?.path}: ${fault?.message}`);
}

function progressOf(
	state: Pick<TorchCheckpointState, 'step' | 'stage' | 'tokens' | 'hyperparameters' | 'best' | 'evaluatedAt'> & {
		readonly generations: number;
	},
): Progress {
	const { step, stage, tokens, generations, hyperparameters, best, evaluatedAt } = state;
	return {
		step,
		stageIndex: stage.index,
		stageStep: stage.step,
		tokens,
		generations,
		hyperparameters,
		best,
		evaluatedAt,
		entropyBonus: null,
		curriculum: null,
	};
}
