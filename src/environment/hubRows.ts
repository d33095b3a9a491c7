import { randomBytes } from 'node:crypto';
import { rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { parseBoundedJson } from '../base/boundedJson.ts';
import { Failure, type Reason } from '../base/failure.ts';
import { hasHubDatasetForm } from '../core/recipe/hubId.ts';
import { ensureFolder } from '../files/atomicFile.ts';
import { runProgram } from '../processes/runProgram.ts';
import { decode } from '../protocol/decode.ts';
import { hubRowsLineSchema } from '../protocol/hubRows.ts';
import { trainerFolder } from './trainerFolder.ts';

/** A split of a dataset of the Hugging Face hub. */
export interface HubSplit {
	/** `name` or `owner/name`. */
	readonly id: string;
	/** null: its only one. */
	readonly config: string | null;
	readonly split: string;
}

export interface HubRowsOptions {
	/** The Python of the PyTorch engine. */
	readonly python: string;
	/** At most so many rows, the first ones; 0: all. */
	readonly rows: number;
	/** A JSONL file: whole, or not there. One that is there is replaced. */
	readonly out: string;
	readonly signal?: AbortSignal;
	readonly onProgress?: (rows: number) => void;
	readonly environment?: Readonly<Record<string, string>>;
}

/** Configurations and splits go to a program as they are. */
const namePattern = /^[\w.][\w.+-]{0,199}$/;

/**
 * Downloads rows of a dataset of the hub: the only thing here that uses the network, so a person must have asked for it. Fails
 * with `invalid` for what is no id, as the loader does (`missing`, `denied`, `unavailable` without a network), or `cancelled`;
 * then nothing is left at the place.
 */
export async function downloadHubRows(
	{ id, config, split }: HubSplit,
	{ python, rows, out, signal, onProgress, environment = {} }: HubRowsOptions,
): Promise<{ readonly rows: number; readonly whole: boolean }> {
	if (!hasHubDatasetForm(id)) {
		throw new Failure('invalid', `"${id.slice(0, 200)}" is not a Hub dataset id.`, 'Use the form openai/gsm8k.');
	}
	for (const [what, name] of [
		['configuration', config],
		['split', split],
	] as const) {
		if (name === null || namePattern.test(name)) continue;
		throw new Failure('invalid', `"${name.slice(0, 200)}" is no name of a ${what}.`, "See the dataset's page.");
	}
	await ensureFolder(dirname(out));
	const aside = `${out}.${randomBytes(4).toString('hex')}.part`;
	let ended: { rows: number; whole: boolean } | null = null;
	let failure: Failure | null = null;
	const onLine = (text: string) => {
		const line = decode(hubRowsLineSchema, parsed(text));
		if (!line.ok) return;
		if ('failure' in line.value) {
			const { reason, message, action } = line.value.failure;
			failure = new Failure(reason as Reason, message, action);
		} else if (line.value.whole !== undefined) ended = { rows: line.value.rows, whole: line.value.whole };
		else onProgress?.(line.value.rows);
	};
	try {
		const { code, stderr } = await runProgram(
			python,
			[
				...['-m', 'reasoning_lab_trainer.data.hub_rows', id, '--split', split],
				...(config === null ? [] : ['--config', config]),
				...['--rows', String(rows), '--out', aside],
			],
			{ cwd: await trainerFolder(), environment, onLine, ...(signal === undefined ? {} : { signal }) },
		);
		if (failure !== null) throw failure as Failure;
		if (code !== 0 || ended === null) {
			const last = stderr.trim().split('\n').at(-1) ?? '';
			throw new Failure(
				last.includes('ModuleNotFoundError') ? 'missing' : 'internal',
				`Cannot read the dataset ${id}: ${last.slice(0, 300) || `${python} exited with ${code}`}.`,
				'Run Doctor to see what the Python environment lacks.',
			);
		}
		await rename(aside, out).catch((error: unknown) => {
			throw Failure.from(error, `Cannot write ${out}`);
		});
		return ended;
	} finally {
		await rm(aside, { force: true }).catch(() => undefined);
	}
}

function parsed(text: string): unknown {
	try {
		return parseBoundedJson(text);
	} catch {
		return null;
	}
}
