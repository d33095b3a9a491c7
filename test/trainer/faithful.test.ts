/** Checks that GRPO through the real driver and its reward hosts matches a plain TRL script bit for bit. */
// @reaches driver trainer
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { openDataset } from '../../src/runs/openDataset.ts';
import { listCheckpoints, readMetrics, readRecord } from '../../src/runs/runReader.ts';
import { findTestPython } from '../scripts/pythonEnvironment.ts';
import { forkingPython, runPython } from '../support/loadedPython.ts';
import { withOneThread } from '../support/oneThread.ts';
import { builtProgram } from '../support/programs.ts';
import { Workplace } from '../unit/engines/embedded/engineProcess.ts';

const found = await findTestPython(console.log);
const skip = 'missing' in found && process.env.CI === undefined ? found.missing : false;
const driver = builtProgram('dist/driver.js');
const script = fileURLToPath(new URL('python/plain_trl.py', import.meta.url));
const trainer = fileURLToPath(new URL('../../src/engines/trainer', import.meta.url));

const seed = 5;
const steps = 6;
const promptsPerStep = 4;
const dataset = { task: 'addition', digits: 2 } as const;
const rewards = `
def digits(completions, **kwargs):
    return [sum(c.isdigit() for c in text) / max(1, len(text)) for text in completions]

def length(completions, **kwargs):
    return [None if "+" in text else 1 - min(4, abs(4 - len(text))) / 4 for text in completions]
`;
const stage = {
	type: 'grpo',
	steps,
	prompts_per_step: promptsPerStep,
	num_generations: 4,
	steps_per_generation: 1,
	num_iterations: 1,
	max_completion_length: 8,
	learning_rate: 1e-3,
	lr_scheduler_type: 'cosine',
	warmup_steps: 2,
	temperature: 1,
	beta: 0.02,
	epsilon: 0.2,
	epsilon_high: 0.28,
	loss_type: 'dapo',
	scale_rewards: 'group',
	use_bias_correction_kl: false,
};

describe('the pytorch engine', { skip, timeout: 280_000 }, async () => {
	const place = await Workplace.make(driver);
	after(() => place[Symbol.asyncDispose]());
	const python = 'python' in found ? found.python : '';
	place.environment.REASONING_LAB_TORCH_PYTHON = forkingPython(python);

	it('trains exactly like TRL', async () => {
		const file = join(place.folder, 'own.reward.py');
		await writeFile(file, rewards);
		const { source } = await openDataset(dataset);
		const prompts = Array.from({ length: steps * promptsPerStep }, (_, i) => source.training(seed, i).prompt);
		const config = join(place.folder, 'plain.json');
		const names = ['digits', 'length'];
		await writeFile(config, JSON.stringify({ folder: place.folder, stage, seed, prompts, rewards: { file, names } }));
		// The script also creates the model.
		await runPython({ python, script, args: [config], env: { PYTHONPATH: trainer } });
		const run = await place.prepare({
			name: 'faithful',
			engine: 'pytorch',
			device: 'cpu',
			seed,
			whenBusy: 'share',
			dataset,
			model: { path: join(place.folder, 'model') },
			template: { prompt: '{prompt}', think: null, answer: null },
			rewards: [
				{ file, name: 'digits' },
				{ file, name: 'length', weight: 0.5 },
			],
			pytorch: { precision: 'float32' },
			stages: [stage],
			evaluate: { every: 4, problems: 4 },
			checkpoint: { every: 4 },
		});
		const exit = await place.run('--run', await withOneThread(run));
		assert.equal(exit.code, 0, `${exit.stderr} ${JSON.stringify((await readRecord(run)).error)}`);
		const plain = JSON.parse(await readFile(join(place.folder, 'lines.json'), 'utf8')) as Record<string, number>[];
		const lines = (await readMetrics(run)).filter(({ step }) => step > 0);
		assert.equal(lines.length, steps);
		for (const [i, line] of plain.entries()) {
			for (const [name, value] of Object.entries(line)) {
				if (name !== 'step_time') assert.equal(lines[i]?.values[name], value, `${name} of step ${i + 1}`);
			}
		}
		const last = (await listCheckpoints(run)).at(-1);
		assert.equal(last?.step, steps);
		assert.deepEqual(
			tensorsOf(await readFile(join(last.path, 'model.safetensors'))),
			tensorsOf(await readFile(join(place.folder, 'plain.safetensors'))),
		);
	});
});

/** Returns the bytes of each tensor in a safetensors file, as a string. */
function tensorsOf(file: Buffer): Record<string, string> {
	const start = 8 + Number(file.readBigUInt64LE());
	const header = JSON.parse(file.toString('utf8', 8, start)) as Record<string, { data_offsets?: [number, number] }>;
	return Object.fromEntries(
		Object.entries(header)
			.filter(([name]) => name !== '__metadata__')
			.map(([name, { data_offsets: [from, to] = [0, 0] }]) => [name, file.toString('base64', start + from, start + to)])
			.sort(),
	);
}
