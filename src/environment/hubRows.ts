import { randomBytes } from 'node:crypto';
import { rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { parseBoundedJson } from '../base/boundedJson.ts';
import { Failure } from '../base/failure.ts';
import { hasHubDatasetForm } from '../core/recipe/hubId.ts';
import { ensureFolder } from '../files/atomicFile.ts';
import { runProgram } from '../processes/runProgram.ts';
import { decode } from '../protocol/decode.ts';
import { hubRowsLineSchema } from '../protocol/hubRows.ts';
import { trainerFolder } from './trainerFolder.ts';

/** Identifies a split of a Hugging Face dataset. */
export interface HubSplit {
	/** Dataset ID, `name` or `owner/name`. */
	readonly id: string;
	/** Configuration; null if the dataset has only one. */
	readonly config: string | null;
	readonly split: string;
}

export interface HubRowsOptions {
	/** Python executable of the PyTorch engine. */
	readonly python: string;
	/** Maximum number of rows, from the start of the split; 0 for all. */
	readonly rows: number;
	/** Output JSONL file, written atomically. An existing file is replaced. */
	readonly out: string;
	readonly signal?: AbortSignal;
	readonly onProgress?: (rows: number) => void;
	readonly environment?: Readonly<Record<string, string>>;
}

/** Restricts configuration and split names, which are passed to a program unescaped. */
const namePattern = /^[\w.][\w.+-]{0,199}$/;

/**
 * Downloads rows from a Hugging Face dataset. Uses the network, so call it only at the user's explicit request. Fails
 * with `invalid` for a malformed ID, with the loader's errors (`missing`, `denied`, `unavailable` without a network),
 * or with `cancelled`; in each case, no output file is left behind.
 */
export async function downloadHubRows(
	{ id, config, split }: HubSplit,
	{ python, rows, out, signal, onProgress, environment = {} }: HubRowsOptions,
): Promise<{ readonly rows: number; readonly whole: boolean }> {
	if (!hasHubDatasetForm(id)) {
		throw new Failure(
			'invalid',
			`"${id.slice(0, 200)}" is not a Hugging Face dataset ID.`,
			'Use the format openai/gsm8k.',
		);
	}
	for (const [what, name] of [
		['configuration', config],
		['split', split],
	] as const) {
		if (name === null || namePattern.test(name)) continue;
		throw new Failure(
			'invalid',
			`"${name.slice(0, 200)}" is not a valid ${what} name.`,
			"Check the dataset's page for valid names.",
		);
	}
	await ensureFolder(dirname(out));
	const aside = `${out}.${randomBytes(4).toString('hex')}.part`;
	let ended: { rows: number; whole: boolean } | null = null;
	let failure: Failure | null = null;
	const onLine = (text: string) => {
		const line = decode(hubRowsLineSchema, parsed(text));
		if (!line.ok) return;
		if ('failure' in line.value) {
			failure = Failure.of(line.value.failure);
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
				'Run Doctor to check the Python environment.',
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
