import { readFile } from 'node:fs/promises';
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

/** Reads the version from package.json, which is above the program both in a clone and in an installed package. */
export async function packageVersion(): Promise<string> {
	for (const relative of ['../package.json', '../../package.json']) {
		const text = await readFile(new URL(relative, import.meta.url), 'utf8').catch(() => null);
		if (text === null) continue;
		const { name, version } = JSON.parse(text) as { name?: string; version?: string };
		if (name === 'reasoning-lab' && version) return version;
	}
	return 'unknown';
}
