import assert from 'node:assert/strict';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { objects, tinyRecipe, Workplace } from './cliFixtures.ts';

/** Checks for one message (and an action), no stack, and status 2. */
function assertRefused(ended: { status: number | null; stdout: string; stderr: string }, message: RegExp): void {
	assert.match(ended.stderr, message);
	assert.equal(ended.status, 2, ended.stderr);
	assert.equal(ended.stderr.trimEnd().split('\n').length, 1, ended.stderr);
	assert.match(ended.stderr, /^reasoning-lab: /);
	assert.doesNotMatch(ended.stderr, /\bat .*\.ts:\d+/);
}

test('invalid command lines are rejected', async (context) => {
	const place = await Workplace.make(context);
	const cases: [string[], RegExp][] = [
		[['fly'], /Unknown command "fly"/],
		[['run'], /needs a recipe file/],
		[['run', 'a', 'b'], /Unexpected argument "b" for reasoning-lab run/],
		[['run', '--fast', 'a'], /--fast/],
		[['run', 'a', '--seed', 'x'], /--seed value "x" is not an integer/],
		[['run', 'a', '--set', 'steps'], /"steps" is not key=value/],
		[['run', 'a', '--control', 'mirror'], /The only valid value is shuffle/],
		[['stop', 'nowhere'], /Run nowhere not found/],
		[['status', '.'], /is not a run/],
		[['resume', 'nowhere', '--checkpoint', '-1'], /checkpoint/],
		[['export-onnx'], /needs a run or a checkpoint/],
		[['help', 'fly'], /Unknown command "fly"\. See reasoning-lab help/],
		[['rnu', 'x'], /Unknown command "rnu"\. Did you mean "run"\?/],
		[['help', 'evalute'], /Unknown command "evalute"\. Did you mean "evaluate"\?/],
		[['run', 'x', '--sede', '1'], /Unknown option "--sede" for reasoning-lab run\. Did you mean "--seed"\?/],
		[['run', 'x', '--zzzzzz'], /Unknown option "--zzzzzz" for reasoning-lab run\. See reasoning-lab help run/],
		[['pipeline', 'stpo', 'x'], /action of reasoning-lab pipeline is "stpo"\. .*Did you mean "stop"\?/],
		[['new', 'x', '--template', 'statrer'], /Did you mean "starter"\?/],
		[['setup-pytorch', '--installer', 'pipp'], /Choose one of auto, uv, pip\. Did you mean "pip"\?/],
	];
	for (const [i, [args, message]] of cases.entries()) {
		// A few in separate processes, to check exit status and streams.
		assertRefused(i % 9 === 0 ? await place.run(context, ...args) : await place.call(...args), message);
	}
});

test('recipes that cannot run are rejected', async (context) => {
	const place = await Workplace.make(context);
	await place.write('data.jsonl', '{"prompt":"1","answer":"1"}\n{"prompt":"2","answer"\n');
	await place.write('empty.jsonl', '\n\n');
	const stages = [{ type: 'grpo', steps: 1, learning_rate: 0.001 }];
	const cases: [string, unknown, RegExp][] = [
		['syntax', '{"name": ', /syntax\.recipe\.json, line 1/],
		['key', { ...tinyRecipe, color: 1 }, /line \d+, column \d+: "color" is not a valid key/],
		['type', { ...tinyRecipe, seed: 'one' }, /"seed" must be a whole number/],
		['size', { ...tinyRecipe, model: { layers: 1, width: 15, heads: 2 } }, /"width" 15 is not a multiple/],
		['gone', { ...tinyRecipe, dataset: { path: 'gone.jsonl' } }, /gone\.jsonl, which does not exist/],
		['empty', { ...tinyRecipe, stages, dataset: { path: 'empty.jsonl' } }, /empty\.jsonl/],
		['line', { ...tinyRecipe, stages, dataset: { path: 'data.jsonl' } }, /data\.jsonl.*line 2/],
		[
			'latin',
			{ ...tinyRecipe, stages, dataset: { path: 'latin.jsonl' } },
			/latin\.jsonl, line 2, is not valid UTF-8\.\s+The encoding looks like ISO-8859-1\. Convert the file to UTF-8/,
		],
	];
	const latin = '{"prompt":"1","answer":"1"}\n{"prompt":"Caf\u00e9","answer":"2"}\n';
	await writeFile(join(place.folder, 'latin.jsonl'), Buffer.from(latin, 'latin1'));
	for (const [name, value] of cases) await place.write(`${name}.recipe.json`, value);
	for (const [name, , message] of cases) assertRefused(await place.call('run', `${name}.recipe.json`), message);
	// Three of them were rejected by their engines without leaving anything behind.
	assert.deepEqual(await readdir(join(place.folder, 'runs')), []);
	const missing = await place.run(context, 'run', 'no.recipe.json', '--json');
	assertRefused(missing, /no\.recipe\.json does not exist/);
	assert.deepEqual(
		objects(missing.stdout).map(({ kind, error }) => [kind, (error as { reason: string }).reason]),
		[['error', 'missing']],
	);
});

test('folders with the wrong contents are rejected', async (context) => {
	const place = await Workplace.make(context);
	const path = await place.write('tiny.recipe.json', tinyRecipe);
	await writeFile(join(place.folder, 'runs'), 'a file in place of the folder');
	assertRefused(await place.call('run', path), /runs is not a folder, so nothing was written/);
	assert.deepEqual((await readdir(place.folder)).sort(), ['runs', 'tiny.recipe.json']);
	const foreign = join(place.folder, 'foreign');
	await mkdir(foreign);
	await writeFile(join(foreign, 'run.json'), JSON.stringify({ format: 7 }));
	assertRefused(await place.call('stop', foreign), /has format 7, but this version only reads formats up to 1/);
	await writeFile(join(foreign, 'run.json'), '{"format":1,"name":"\u001b[2Jevil"}');
	const { stderr } = await place.run(context, 'stop', foreign);
	// biome-ignore lint/suspicious/noControlCharactersInRegex: the point of the test
	assert.doesNotMatch(stderr, /\u001b/);
	const torch = join(place.folder, 'step_000010');
	await mkdir(torch);
	await writeFile(join(torch, 'state.json'), JSON.stringify({ format: 1, engine: 'pytorch', step: 10 }));
	const refused = await place.call('export-onnx', torch);
	assertRefused(refused, /is a PyTorch checkpoint; .*\n?.*optimum-cli export onnx --model "/);
});
