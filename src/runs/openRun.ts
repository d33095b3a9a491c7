import { realpath } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Failure } from '../base/failure.ts';
import { ownFormat } from './annotationFolder.ts';
import { DiskFolder } from './importers/diskFolder.ts';
import { findFormats, firstFormat } from './importers/findFormats.ts';
import { type ForeignOptions, ForeignRun } from './importers/foreignRun.ts';
import { formats } from './importers/formats.ts';
import type { RunFormat } from './importers/runFormat.ts';
import { OwnRun } from './ownRun.ts';
import type { RunContent } from './runContent.ts';
import { isRunFolder } from './runFolders.ts';
import { RunRegistry } from './runRegistry.ts';

export interface OpenOptions extends Pick<ForeignOptions, 'live'> {
	/** Name of the format; default: the one the user selected for the folder, otherwise the most likely one. */
	readonly format?: string;
}

/**
 * Opens a run from any trainer for reading. Fails with `missing` if the folder does not exist, and with `invalid` if
 * it is not a run, in which case the message lists what was looked for.
 */
export async function openRun(folder: string, options: OpenOptions = {}): Promise<RunContent> {
	const path = await realpath(folder).catch((error: unknown) => {
		throw Failure.from(error, `Cannot open ${folder}`);
	});
	// The run reuses the folder listings from format detection.
	const disk = new DiskFolder(path);
	const format = await disk.snapshot(() => formatIn(disk, path, options.format));
	return format === null ? new OwnRun(path) : new ForeignRun(path, format, { ...options, disk });
}

/** Returns the format of a run, or null for our own. Fails with `invalid` if the folder is not a run. */
export async function formatOf(folder: string, wanted?: string): Promise<RunFormat | null> {
	const path = await realpath(folder).catch(() => resolve(folder));
	return formatIn(new DiskFolder(path), folder, wanted);
}

async function formatIn(disk: DiskFolder, folder: string, wanted: string | undefined): Promise<RunFormat | null> {
	if (wanted === ownFormat || (wanted === undefined && (await isRunFolder(folder)))) return null;
	const chosen = wanted ?? (await new RunRegistry().readerOf(folder));
	const format = await firstFormat(disk, chosen);
	if (format !== null && (wanted === undefined || format.name === wanted)) return format;
	if (wanted !== undefined) throw noRunOf(wanted, resolve(folder), await findFormats(folder));
	throw noRun(resolve(folder));
}

/** Builds the error for a folder that is not a run in the requested format, naming the formats that do match. */
function noRunOf(wanted: string, folder: string, found: readonly RunFormat[]): Failure {
	const known = formats.find(({ name }) => name === wanted);
	if (known === undefined) {
		const names = [ownFormat, ...formats.map(({ name }) => name)].join(', ');
		return new Failure('invalid', `Unknown format "${wanted}".`, `Use one of ${names}.`);
	}
	const fit = found.map(({ title, name }) => `${title} (${name})`).join(', ');
	const message = `${folder} does not contain a ${known.title} run. Looked for: ${known.looksFor}.`;
	return new Failure(
		'invalid',
		message,
		fit === '' ? 'Choose the folder that the trainer writes to.' : `It can be read as ${fit}.`,
	);
}

/** Builds the error for a folder that is not a run, listing what was looked for. */
export function noRun(folder: string): Failure {
	const looked = ['run.json (Reasoning Lab)', ...formats.map(({ title, looksFor }) => `${looksFor} (${title})`)];
	return new Failure(
		'invalid',
		`${folder} does not contain a run. Looked for: ${looked.join('; ')}.`,
		'Choose the folder that the trainer writes to.',
	);
}
