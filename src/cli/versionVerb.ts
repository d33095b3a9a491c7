import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { controlVersion } from '../protocol/control.ts';
import { runFormat } from '../protocol/runRecord.ts';
import { defineVerb } from './verb.ts';

export const versionVerb = defineVerb({
	name: 'version',
	group: 'Setup',
	summary: 'Show the version.',
	async run({ output }) {
		const version = await packageVersion();
		output.object({ version, runFormat, control: controlVersion, node: process.version });
		output.line(version);
		return 0;
	},
});

export const packageVersion = async (): Promise<string> => (await packageFacts()).version;

/**
 * Reads the version from package.json and returns it along with the package folder. In a clone and in an installed
 * package alike, package.json is in a folder above the program.
 */
export async function packageFacts(): Promise<{ readonly version: string; readonly folder: string }> {
	for (const relative of ['../', '../../']) {
		const url = new URL(relative, import.meta.url);
		const text = await readFile(new URL('package.json', url), 'utf8').catch(() => null);
		if (text === null) continue;
		const { name, version } = JSON.parse(text) as { name?: string; version?: string };
		if (name === 'reasoning-lab' && version) return { version, folder: fileURLToPath(url) };
	}
	return { version: 'unknown', folder: dirname(fileURLToPath(import.meta.url)) };
}
