import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Sequencer } from '../../../base/async.ts';
import { ensureFolder, renameOver, syncFolder } from '../../../files/atomicFile.ts';
import {
	type CheckpointInfo,
	deleteFolder,
	listCheckpoints,
	manifestName,
	readManifest,
} from '../../../runs/checkpointFiles.ts';
import { runFiles, stepName } from '../../../runs/runFiles.ts';
import { copyRegular } from './copyRegular.ts';

/**
 * Copies a run's complete checkpoints to another run folder, and deletes copies of checkpoints that the run has
 * deleted.
 */
export class CheckpointMirror {
	readonly #source: string;
	readonly #run: string;
	readonly #queue = new Sequencer();

	constructor(source: string, run: string) {
		this.#source = source;
		this.#run = run;
	}

	/** Synchronizes the copies. Calls are serialized. */
	sync(theirs: readonly CheckpointInfo[]): Promise<void> {
		return this.#queue.queue(async () => {
			if (theirs.length === 0) return;
			const folder = join(this.#run, runFiles.checkpoints);
			await ensureFolder(folder);
			const mine = await listCheckpoints(this.#run);
			for (const checkpoint of theirs) {
				if (mine.some(({ step, time }) => step === checkpoint.step && time === checkpoint.time)) continue;
				await this.#copy(folder, checkpoint.step);
			}
			for (const { step } of mine) {
				if (theirs.some((other) => other.step === step)) continue;
				await deleteFolder(folder, stepName(step));
			}
		});
	}

	async #copy(folder: string, step: number): Promise<void> {
		const name = stepName(step);
		const from = join(this.#source, runFiles.checkpoints, name);
		const manifest = await readManifest(from);
		// The checkpoint was deleted in the meantime.
		if (manifest === null) return;
		const aside = join(folder, `.${name}.tmp`);
		await rm(aside, { recursive: true, force: true });
		await ensureFolder(aside);
		try {
			for (const file of manifest.files) await copyRegular(from, aside, file.name, file.bytes);
			await copyRegular(from, aside, manifestName);
		} catch (error) {
			await rm(aside, { recursive: true, force: true });
			if ((await readManifest(from)) === null) return;
			throw error;
		}
		const old = join(folder, `.${name}.old`);
		await rm(old, { recursive: true, force: true });
		await rename(join(folder, name), old).catch((error: NodeJS.ErrnoException) => {
			if (error.code !== 'ENOENT') throw error;
		});
		await renameOver(aside, join(folder, name));
		await syncFolder(folder);
		await rm(old, { recursive: true, force: true });
	}
}
