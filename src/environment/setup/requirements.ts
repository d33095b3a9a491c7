import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '../../base/failure.ts';
import { trainerFolder } from '../trainerFolder.ts';

/** Optional packages that can be installed in addition to the required ones. */
export const setupExtras = ['ray', 'gpu', 'vllm', 'qlora'] as const;
export type SetupExtra = (typeof setupExtras)[number];

/** Returns the names that are known extras, in installation order. */
export function knownExtras(names: readonly unknown[]): SetupExtra[] {
	return setupExtras.filter((extra) => names.includes(extra));
}

export const extraWords: Readonly<Record<SetupExtra, string>> = {
	ray: 'Ray: multiple workers and clusters',
	gpu: 'NVIDIA Management Library: GPU memory, load, and temperature in the dashboard',
	vllm: 'vLLM: faster generation on CUDA GPUs (Linux only)',
	qlora: 'bitsandbytes: 4-bit and 8-bit models (QLoRA)',
};

/** The requirements files for a setup. */
export interface Requirements {
	/** `base` and the extras, in installation order. */
	readonly files: readonly string[];
	/** All lines of these files, such as `trl==1.13.0`. */
	readonly pins: readonly string[];
}

/**
 * Reads the requirements files for a setup. Fails with `missing`.
 * @param folder folder with `base.txt`, `ray.txt`, and so on; null to use the trainer's own
 */
export async function readRequirements(
	extras: readonly SetupExtra[],
	folder: string | null = null,
): Promise<Requirements> {
	const place = folder ?? (await requirementsFolder());
	const files = ['base', ...knownExtras(extras)].map((name) => join(place, `${name}.txt`));
	const texts = await Promise.all(
		files.map((file) =>
			readFile(file, 'utf8').catch((error: unknown) => {
				throw new Failure('missing', `Cannot read the requirements file ${file}.`, undefined, { cause: error });
			}),
		),
	);
	return { files, pins: texts.flatMap(requirementLines) };
}

export async function requirementsFolder(): Promise<string> {
	return join(await trainerFolder(), 'requirements');
}

/** Returns the lines of a requirements file that specify packages. */
export function requirementLines(text: string): string[] {
	return text
		.split('\n')
		.map((line) => line.replace(/\s*(^|\s)#.*$/, '').trim())
		.filter((line) => line !== '' && !line.startsWith('-'));
}

/**
 * Parses a requirement: `ray[default]==2.58.1` is the package `ray` pinned to `2.58.1`. The version is null if
 * unpinned.
 */
export function pinOf(line: string): { readonly name: string; readonly version: string | null } {
	const [, name = line, version = null] = /^([\w.-]+)(?:\[[^\]]*\])?\s*(?:==\s*([\w.+!]+))?/.exec(line) ?? [];
	return { name: name.toLowerCase().replace(/[._]/g, '-'), version };
}
