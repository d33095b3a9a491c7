import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';

async function filesBelow(folder: string): Promise<string[]> {
	const entries = await readdir(folder, { withFileTypes: true, recursive: true }).catch(() => []);
	return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

/** Whole lines of all JSONL files below a folder, as hashes, each with the file that has it. */
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

/** Names of all files and folders below a folder; those that a resume set aside count as where they came from. */
export async function namesBelow(folder: string): Promise<Set<string>> {
	const entries = await readdir(folder, { withFileTypes: true, recursive: true }).catch(() => []);
	const names = entries.map((entry) => relative(folder, join(entry.parentPath, entry.name)));
	return new Set(names.filter((name) => !/(?:^|\/)superseded(?:\/|$)/.test(name)));
}
