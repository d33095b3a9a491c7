import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';

async function filesBelow(folder: string): Promise<string[]> {
	const entries = await readdir(folder, { withFileTypes: true, recursive: true }).catch(() => []);
	return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

/** Returns the complete lines of all JSONL files in a folder, recursively, as a map from line hash to file. */
export async function writtenLines(folder: string): Promise<Map<string, string>> {
	const lines = new Map<string, string>();
	for (const path of await filesBelow(folder)) {
		if (!path.endsWith('.jsonl')) continue;
		const text = await readFile(path, 'utf8').catch(() => '');
		for (const line of text.slice(0, text.lastIndexOf('\n') + 1).split('\n')) {
			if (line !== '') lines.set(createHash('sha256').update(line).digest('base64'), relative(folder, path));
		}
	}
	return lines;
}

/** Returns the names of all files and folders in a folder, recursively. Ignores those set aside by a resume. */
export async function namesBelow(folder: string): Promise<Set<string>> {
	const entries = await readdir(folder, { withFileTypes: true, recursive: true }).catch(() => []);
	const names = entries.map((entry) => relative(folder, join(entry.parentPath, entry.name)));
	return new Set(names.filter((name) => !/(?:^|\/)superseded(?:\/|$)/.test(name)));
}
