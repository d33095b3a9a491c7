import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { ScriptInput } from '../../../src/policies/scripted/script.ts';
import { decodeOrThrow } from '../../../src/protocol/decode.ts';
import { type SearchSpec, type SearchSpecInput, searchSpecSchema } from '../../../src/protocol/searchSpec.ts';
import { PolicyPool } from '../../../src/search/policyPool.ts';
import type { SearchContext } from '../../../src/search/searchContext.ts';
import { builtProgram } from '../../support/programs.ts';

const engine = builtProgram('dist/engine.js');

/** Script for an addition problem, correct two times out of three, with two lines and an answer. */
export const adder: ScriptInput = {
	name: 'adder',
	tags: { think: ['<think>', '</think>'], answer: ['<answer>', '</answer>'] },
	rules: [
		{
			say: [
				{ text: '<think>17 + 25\nis 42</think>\n<answer>42</answer>', weight: 2 },
				{ text: '<think>17 + 25\nis 43</think>\n<answer>43</answer>', weight: 1 },
			],
		},
	],
};

export const problem = { prompt: 'What is 17 + 25?', answer: '42', row: {} };

export async function folderFor(context: TestContext): Promise<string> {
	const folder = await mkdtemp(join(tmpdir(), 'search-'));
	context.after(() => rm(folder, { recursive: true, force: true }));
	return folder;
}

export async function scriptIn(folder: string, script: ScriptInput = adder, name = 'script.json'): Promise<string> {
	const file = join(folder, name);
	await writeFile(file, JSON.stringify(script));
	return file;
}

export function contextFor(context: TestContext, folder: string): SearchContext {
	const pool = new PolicyPool(0);
	context.after(() => pool.dispose());
	return { pool, policies: { engine, client: 'test', folder } };
}

export function specOf(spec: SearchSpecInput): SearchSpec {
	return decodeOrThrow(searchSpecSchema, spec, 'The search');
}

/** Parses the lines of a log, whose last line must be complete. */
export async function linesOf(log: string): Promise<Record<string, unknown>[]> {
	const text = await readFile(log, 'utf8');
	if (!text.endsWith('\n')) throw new Error(`The last line is incomplete: ${text.slice(-80)}`);
	return text
		.split('\n')
		.slice(0, -1)
		.map((line) => JSON.parse(line) as Record<string, unknown>);
}
