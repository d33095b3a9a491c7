import { randomBytes } from 'node:crypto';
import { lstat, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import * as v from 'valibot';
import { ensureFolder, writeFileAtomic } from '../files/atomicFile.ts';
import { readJson } from '../files/safeFile.ts';
import { decodeOrThrow } from '../protocol/decode.ts';
import { labHome } from './runRegistry.ts';

const writtenReportSchema = v.object({
	format: v.literal(1),
	/** Absolute paths of the run folder and the report. */
	run: v.string(),
	path: v.string(),
	/** Folders of the project the agent works in. */
	folders: v.array(v.string()),
});
export type WrittenReport = Omit<v.InferOutput<typeof writtenReportSchema>, 'format'>;

/** File names of notices; a file with such a name is complete. */
export const writtenReportName = /^[0-9a-f]{32}\.json$/;
/** Notices are removed after an hour. Windows read them immediately. */
const keptMs = 3_600_000;

/** Returns the folder for notices about reports stored outside projects, in the user's data folder. */
export const writtenReportsFolder = (home = labHome()): string => join(home, 'reports');

/**
 * Leaves a notice for the editor's windows about a report that is stored outside its project, where they would not find
 * it.
 */
export async function noticeReport(report: WrittenReport, home = labHome()): Promise<void> {
	const folder = writtenReportsFolder(home);
	await ensureFolder(folder);
	for (const name of await readdir(folder)) {
		if (!writtenReportName.test(name)) continue;
		const path = join(folder, name);
		const info = await lstat(path).catch(() => null);
		if (info !== null && Date.now() - info.mtimeMs > keptMs) await rm(path, { force: true });
	}
	const notice = JSON.stringify({ format: 1, ...report });
	await writeFileAtomic(join(folder, `${randomBytes(16).toString('hex')}.json`), notice, { mode: 0o600 });
}

/** Reads a notice by its name. Fails if it is damaged or no longer exists. */
export async function readWrittenReport(name: string, home = labHome()): Promise<WrittenReport> {
	return decodeOrThrow(writtenReportSchema, await readJson(writtenReportsFolder(home), name), 'The notice');
}
