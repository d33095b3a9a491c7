import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { objects, tinyRecipe, Workplace } from './cliFixtures.ts';

test('report writes a run as HTML and as Markdown, including an evaluation of its checkpoint', async (context) => {
	const place = await Workplace.make(context);
	await place.write('recipe.json', tinyRecipe);
	await place.train('recipe.json');
	const measured = await place.call(
		'evaluate',
		...['--policy', 'tiny@7', '--run', 'tiny', '--limit', '4', '--samples', '2'],
	);
	assert.equal(measured.status, 0, measured.stderr);

	const html = await place.run(context, 'report', 'tiny', '--json');
	assert.equal(html.status, 0, html.stderr);
	const [result] = objects(html.stdout) as { path: string; runs: string[]; bytes: number; gaps: string[] }[];
	assert.equal(result?.path, join(place.folder, 'tiny-report.html'));
	assert.deepEqual(result.gaps, []);
	const page = await readFile(result.path, 'utf8');
	assert.equal(Buffer.byteLength(page), result.bytes);
	for (const part of ['Stage 1: sft', 'Stage 2: grpo', 'held-out-run-step_000007', 'Best: reward', 'num_iterations']) {
		assert.ok(page.includes(part), part);
	}
	assert.ok(!page.includes('<script'));

	const out = join(place.folder, 'made.md');
	const markdown = await place.call('report', result.runs[0] as string, '--out', out);
	assert.equal(markdown.status, 0, markdown.stderr);
	assert.match(markdown.stdout, /made\.md: report for tiny \(\d/);
	const text = await readFile(out, 'utf8');
	assert.match(text, /^# tiny\n\nTraining run report, generated /);

	const part = ['--part', 'evaluations', '--format', 'markdown', '--out', '-'];
	const evaluations = await place.call('report', 'tiny', ...part, '--json');
	assert.equal(evaluations.status, 0, evaluations.stderr);
	const [shown] = objects(evaluations.stdout) as { text: string; path: null }[];
	assert.match(shown?.text ?? '', /^# Evaluations of tiny\n[\s\S]*\n## held-out-run-step\\_000007\n/);
	assert.ok(text.includes(basename(result.runs[0] as string).replaceAll('_', '\\_')));
});

test('report rejects invalid input with one message', async (context) => {
	const place = await Workplace.make(context);
	await mkdir(join(place.folder, 'empty'));
	await writeFile(join(place.folder, 'file'), '');
	for (const [args, words] of [
		[['empty'], /empty does not contain a run\./],
		[['nothing'], /Run nothing not found\./],
		[['empty', 'file'], /empty does not contain a run\./],
		[['empty', 'file', '--part', 'evaluations'], /--part applies only to a single run\./],
		[['empty', '--format', 'pdf'], /--format is "pdf"\. Choose one of html, markdown\./],
	] as const) {
		const { status, stderr } = await place.call('report', ...args);
		assert.equal(status, 2, args.join(' '));
		assert.match(stderr, words);
	}
});
