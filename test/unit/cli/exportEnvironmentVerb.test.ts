// @reaches cli rewardPython
import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { environmentTargets, packageOf } from '../../../src/core/episode/export/environmentExport.ts';
import { exportEnvironment } from '../../../src/core/episode/export/exportEnvironment.ts';
import { guessing } from '../episodes/guessingEnvironment.ts';
import { objects, Workplace } from './cliFixtures.ts';

const limit = { timeout: 120_000 };

test('export-environment writes the environment, what it imports, and its rows', limit, async (context) => {
	const place = await Workplace.make(context);
	const row = { prompt: [{ role: 'user', content: 'Guess.' }], number: 3 };
	await place.write('rows.jsonl', JSON.stringify(row));
	await place.write('words.py', 'hint = "higher"\n');
	await place.write('my-guess.env.py', `# @dataset rows.jsonl\nfrom words import hint\n${guessing}`);
	const expected = {
		trl: ['my_guess_environment.py', 'requirements.txt', 'rows.jsonl', 'train.py', 'words.py'],
		verifiers: [
			'my_guess_env/__init__.py',
			'my_guess_env/environment/my_guess_environment.py',
			'my_guess_env/environment/words.py',
			'my_guess_env/episode.py',
			'my_guess_env/rows.jsonl',
			'my_guess_env/taskset.py',
			'my_guess_env/tools.py',
			'pyproject.toml',
		],
		openenv: [
			'__init__.py',
			'client.py',
			'openenv.yaml',
			'pyproject.toml',
			'server/Dockerfile',
			'server/__init__.py',
			'server/app.py',
			'server/environment/my_guess_environment.py',
			'server/environment/words.py',
			'server/requirements.txt',
			'server/rows.jsonl',
		],
	};
	for (const [target, files] of Object.entries(expected)) {
		const ended = await place.call('export-environment', 'my-guess.env.py', target, '--to', target, '--json');
		assert.equal(ended.status, 0, ended.stderr);
		const [said] = objects(ended.stdout) as { target: string; findings: { level: string }[] }[];
		assert.equal(said?.target, target);
		assert.ok(said.findings.some(({ level }) => level === 'warning'));
		const found = await readdir(join(place.folder, target), { recursive: true, withFileTypes: true });
		const names = found.flatMap((one) =>
			one.isFile() ? [join(one.parentPath, one.name).slice(join(place.folder, target).length + 1)] : [],
		);
		assert.deepEqual(names.map((name) => name.replaceAll('\\', '/')).sort(), files);
	}
	const written = await readFile(join(place.folder, 'trl/my_guess_environment.py'), 'utf8');
	assert.equal(written, await readFile(join(place.folder, 'my-guess.env.py'), 'utf8'));
	// GRPOTrainer takes the text returned by reset and appends it to a list of messages.
	assert.match(
		await readFile(join(place.folder, 'trl/train.py'), 'utf8'),
		/isinstance\(prompt, str\)[\s\S]*\.map\(conversational\)/,
	);
	const again = await place.call('export-environment', 'my-guess.env.py', 'trl', '--to', 'trl');
	assert.equal(again.status, 2);
	assert.match(again.stderr, /trl is not empty/);
});

test('export-environment reports what does not work in the target', limit, async (context) => {
	const place = await Workplace.make(context);
	await place.write('rows.jsonl', '{"number": 3}');
	await place.write('guess.env.py', `# @dataset rows.jsonl\n${guessing.replace(/""".*?"""/s, '')}`);
	const ended = await place.call('export-environment', 'guess.env.py', 'out', '--to', 'trl');
	assert.equal(ended.status, 1, ended.stderr);
	assert.match(ended.stdout, /^Guess: error: The rows have no prompt\. Add a "prompt" column/m);
	assert.match(ended.stdout, /^Guess: warning: TRL ignores done/m);
	for (const [args, message] of [
		[['guess.env.py', 'other'], /--to is required/],
		[['guess.env.py', 'rows2.jsonl', '--to', 'rows'], /does not provide rows/],
	] as const) {
		const refused = await place.call('export-environment', ...args);
		assert.equal(refused.status, 2, refused.stderr);
		assert.match(refused.stderr, message);
	}
});

test('export-environment does not overwrite its own files', limit, async (context) => {
	const place = await Workplace.make(context);
	await place.write('train.py', 'hint = "higher"\n');
	await place.write('guess.env.py', `from train import hint\n${guessing}`);
	const ended = await place.call('export-environment', 'guess.env.py', 'out', '--to', 'trl');
	assert.equal(ended.status, 2, ended.stdout);
	assert.match(ended.stderr, /Both the environment and the export have a file named train\.py/);
	await assert.rejects(readdir(join(place.folder, 'out')), /ENOENT/);
});

test('a file name cannot add code to an export', () => {
	const source = 'a"""\nimport os; os.abort()\n\\"""\u2028.env.py';
	for (const target of environmentTargets) {
		const { files } = exportEnvironment(target, {
			...{ stem: packageOf(source), source, columns: ['prompt'] },
			environment: {
				...{ name: 'Guess', tools: [], resetParameters: [], resetTakesAll: true, asyncReset: false },
				...{ ownsReward: true, reportsDone: true, location: { line: 1, endLine: 1 }, places: {} },
			},
		});
		for (const [path, text] of files) {
			const lines = text.split('\n').filter((line) => line.includes('abort'));
			for (const line of lines) assert.match(line, /^(# |"{3})Generated from a[^"\\\u2028]+ by "reasoning-lab/, path);
			// JSON can contain U+2028, at which Python's splitlines splits.
			assert.ok(!text.includes('splitlines'), path);
		}
	}
});

test('package names can be imported', () => {
	for (const [file, name] of [
		['a/number-guess.env.py', 'number_guess_env'],
		['C:\\tasks\\2048.env.py', 'e_2048_env'],
		['Émile.env.py', 'e__mile_env'],
	] as const) {
		assert.equal(packageOf(file), name);
	}
});
