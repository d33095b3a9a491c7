import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CliOutput } from '../../src/cli/cliOutput.ts';
import { runCommandLine } from '../../src/cli/runCommandLine.ts';
import type { EnvironmentRunner } from '../../src/episodes/environmentRunner.ts';
import type { EpisodeTurn, ToolCall } from '../../src/protocol/episode.ts';
import { root } from '../scripts/paths.ts';
import { Written } from './written.ts';

type Row = Readonly<Record<string, unknown>>;

/** Writes the template with number guessing to a folder, and returns its file and its rows. */
export async function writeGuess(folder: string): Promise<{ file: string; rows: readonly Row[] }> {
	const template = join(root, 'media/templates/environment/guess');
	const source = await readFile(`${template}.env.py`, 'utf8');
	const file = join(folder, 'guess.env.py');
	await writeFile(file, source.replaceAll('__CLASS__', 'Guess').replaceAll('__NAME__', 'guess'));
	const lines = await readFile(`${template}.rows.jsonl`, 'utf8');
	await writeFile(join(folder, 'guess.rows.jsonl'), lines);
	return {
		file,
		rows: lines
			.trim()
			.split('\n')
			.map((line) => JSON.parse(line) as Row),
	};
}

export interface Played {
	readonly observation: string | null;
	readonly contents: readonly (readonly string[])[];
	readonly done: readonly (boolean | null)[];
	readonly reward: number | null;
}

/** Plays a row's whole solution after a wrong guess, or nothing if `idle`. */
export async function playGuess(runner: EnvironmentRunner, row: Row, sent: Row, idle = false): Promise<Played> {
	const solution = (row.calls as ToolCall[]).slice(0, -1);
	const last = (row.calls as ToolCall[]).at(-1) as ToolCall;
	const calls = idle
		? []
		: [{ name: 'guess', arguments: { number: 1 } }, ...solution, { name: 'peek', arguments: {} }, last];
	const session = runner.start(sent);
	const { observation } = await session.reset();
	const turns: EpisodeTurn[] = [];
	for (const call of calls) turns.push(await session.call([call]));
	const reward = await session.reward();
	await session.end({ discard: true });
	assert.equal(turns.at(-1)?.done ?? true, true);
	return {
		observation,
		contents: turns.map(({ results }) => results.map(({ content }) => content)),
		done: turns.map(({ done }) => done),
		reward,
	};
}

/** Runs `export-environment` in this process and returns its JSON. */
export async function exportedTo(target: string, file: string, folder: string): Promise<unknown> {
	const [out, err] = [new Written(), new Written()];
	const argv = ['export-environment', file, folder, '--to', target, '--json'];
	const status = await runCommandLine(argv, new CliOutput(true, out.stream, err.stream), '');
	assert.equal(status, 0, err.text);
	return JSON.parse(out.text);
}
