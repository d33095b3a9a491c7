import { readFile } from 'node:fs/promises';
import { controlVersion } from '../protocol/control.ts';
import { runFormat } from '../protocol/runRecord.ts';
import { parseArguments } from './parseArguments.ts';
import type { Verb } from './verb.ts';

export const versionVerb: Verb = {
	name: 'version',
	usage: '',
	summary: 'Print the version.',
	options: [],
	async run({ args, output }) {
		parseArguments('version', args, {}, { names: [], least: 0, most: 0 });
		const version = await packageVersion();
		output.object({ version, runFormat, control: controlVersion, node: process.version });
		output.line(version);
		return 0;
	},
};

/** package.json lies above the program, in a clone and in an installed package. */
export async function packageVersion(): Promise<string> {
	for (const relative of ['../package.json', '../../package.json']) {
		const text = await readFile(new URL(relative, import.meta.url), 'utf8').catch(() => null);
		if (text === null) continue;
		const { name, version } = JSON.parse(text) as { name?: string; version?: string };
		if (name === 'reasoning-lab' && version) return version;
	}
	return 'unknown';
}
