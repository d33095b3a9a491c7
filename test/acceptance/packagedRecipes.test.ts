/**
 * Runs every template and every dataset preset from the unpacked VSIX, to check that the package contains everything a
 * recipe needs at run time. The sources are not on any path: programs, templates and Python packages come from the
 * package.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { parse as parseJsonc } from 'jsonc-parser';
import { datasetPresets } from '../../src/core/dataset/presets.ts';
import { presetNames } from '../../src/protocol/recipeKeys/recipe.ts';
import { projectTemplates } from '../../src/runs/projectTemplates.ts';
import { makePackage } from '../scripts/package.ts';
import { findTestPython } from '../scripts/pythonEnvironment.ts';

const execute = promisify(execFile);
const found = await findTestPython(console.error);
const python = 'missing' in found ? null : found.python;
const skip = 'missing' in found && process.env.CI === undefined ? found.missing : false;
const tinyModel = fileURLToPath(new URL('../trainer/python', import.meta.url));

let folder = '';
let cli = '';

before(async () => {
	folder = await mkdtemp(join(tmpdir(), 'packaged-'));
	await mkdir(join(folder, 'r'), { mode: 0o700 });
	const vsix = join(folder, 'lab.vsix');
	await makePackage(`${process.platform}-${process.arch}`, vsix);
	await execute('python3', ['-m', 'zipfile', '-e', vsix, join(folder, 'unpacked')]);
	cli = join(folder, 'unpacked', 'extension', 'dist', 'cli.js');
});

after(() => rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 }));

/** Runs the packaged command line in a folder and returns its output. Throws if it fails. */
async function lab(where: string, ...args: string[]): Promise<string> {
	const environment = {
		...process.env,
		REASONING_LAB_HOME: join(folder, 'home'),
		XDG_RUNTIME_DIR: join(folder, 'r'),
		// Prevent downloads, whatever a recipe names.
		HF_HUB_OFFLINE: '1',
		...(python === null ? {} : { REASONING_LAB_TORCH_PYTHON: python }),
	};
	const { stdout } = await execute(process.execPath, [cli, ...args], {
		cwd: where,
		env: environment,
		maxBuffer: 64 << 20,
	});
	return stdout;
}

/** Creates a model with random weights on first use and returns its folder. */
async function model(): Promise<string> {
	const path = join(folder, 'model');
	if ((await stat(path).catch(() => null)) !== null) return path;
	const make = 'import sys; from pathlib import Path; from tiny_model import make_model; make_model(Path(sys.argv[1]))';
	await execute(python ?? '', ['-c', make, path], { env: { ...process.env, PYTHONPATH: tinyModel } });
	return path;
}

const ended = (text: string) =>
	JSON.parse(
		text
			.trimEnd()
			.split('\n')
			.findLast((line) => line.startsWith('{')) ?? '{}',
	);

/**
 * Shortens a template's recipe in place: two steps per stage and no conditions to wait for. Returns the total number of
 * steps.
 */
async function shorten(path: string): Promise<number> {
	const recipe = parseJsonc(await readFile(path, 'utf8'));
	for (const stage of recipe.stages) {
		delete stage.until;
		Object.assign(stage, { steps: 2, warmup_steps: 0 });
	}
	Object.assign(recipe, { device: 'cpu', evaluate: { every: 100, problems: 4 }, checkpoint: { every: 100, keep: 1 } });
	await writeFile(path, JSON.stringify(recipe));
	return 2 * recipe.stages.length;
}

for (const { id, recipe } of projectTemplates) {
	const needsTorch = id === 'pytorch';
	test(`creates and starts the ${id} template`, { skip: needsTorch && skip }, async () => {
		const project = join(folder, 'projects', id);
		await lab(folder, 'new', project, '--template', id);
		if (needsTorch) {
			// The template uses a hub model and a GPU, so only check the rest of the recipe and estimate its memory.
			const result = JSON.parse(
				await lab(
					project,
					...['estimate', 'gsm8k.recipe.json', '--gpu', '80', '--json', '--set', `model.path=${await model()}`],
				),
			);
			assert.deepEqual([result.kind, result.fits], ['estimate', true]);
		}
		if (['r1', 'think', 'expert-iteration', 'algorithms', 'curriculum', 'no-labels'].includes(id)) {
			// A full pipeline takes minutes, so stop it while its first stage trains.
			const started = ended(await lab(project, 'run', recipe, '--detach', '--json'));
			assert.equal(started.kind, 'started');
			const stopped = ended(await lab(project, 'pipeline', 'stop', started.folder, '--json'));
			assert.equal(stopped.status, 'stopped');
			return;
		}
		const steps = await shorten(join(project, recipe));
		const out = ended(await lab(project, 'run', recipe, '--json'));
		assert.deepEqual([out.kind, out.status, out.step], ['ended', 'finished', steps]);
	});
}

test('the preset table is next to the module that reads it', async () => {
	const trainer = join(dirname(cli), 'trainer');
	const { stdout } = await execute(
		'python3',
		['-c', 'import json; from reasoning_lab_trainer.data.presets import presets; print(json.dumps(sorted(presets())))'],
		{ cwd: trainer, env: { ...process.env, PYTHONPATH: trainer } },
	);
	assert.deepEqual(JSON.parse(stdout), [...presetNames].sort());
});

for (const preset of presetNames) {
	test(`a PyTorch recipe with the ${preset} preset trains on rows in its format`, { skip }, async () => {
		const project = join(folder, 'presets', preset);
		await mkdir(project, { recursive: true });
		const { prompt, reading, example } = datasetPresets[preset];
		// Use different prompts because the held-out rows are chosen by prompt hash.
		const rows = Array.from({ length: 16 }, (_, i) =>
			reading === 'countdown'
				? { ...example.row, target: 10 + i }
				: { ...example.row, [prompt]: `${i}. ${example.row[prompt]}` },
		);
		// Parquet, which the trainer reads without conversion.
		const write =
			'import sys, json, pyarrow as a, pyarrow.parquet as p; p.write_table(a.Table.from_pylist(json.loads(sys.argv[1])), sys.argv[2])';
		await execute(python ?? '', ['-c', write, JSON.stringify(rows), join(project, 'rows.parquet')]);
		const recipe = {
			name: preset,
			engine: 'pytorch',
			device: 'cpu',
			dataset: { preset, path: 'rows.parquet', heldOutShare: 0.5 },
			model: { path: await model() },
			rewards: [{ use: 'format' }],
			stages: [
				{
					type: 'grpo',
					steps: 1,
					num_generations: 2,
					prompts_per_step: 1,
					max_completion_length: 4,
					learning_rate: 1e-4,
				},
			],
			evaluate: { every: 100, problems: 2 },
		};
		await writeFile(join(project, 'a.recipe.json'), JSON.stringify(recipe));
		const out = ended(await lab(project, 'run', 'a.recipe.json', '--json'));
		assert.deepEqual([out.kind, out.status, out.step], ['ended', 'finished', 1]);
	});
}
