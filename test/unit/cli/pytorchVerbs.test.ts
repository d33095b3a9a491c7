import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { findPythons } from '../../../src/environment/pythons/findPythons.ts';
import { decodeOrThrow } from '../../../src/protocol/decode.ts';
import { doctorLineSchema } from '../../../src/protocol/torchEnvironment.ts';
import { objects, Workplace } from './cliFixtures.ts';

const pythons = (await findPythons()).filter(({ unusable }) => unusable === null);
const skip = pythons.length === 0 ? 'no Python was found' : false;

describe('reasoning-lab setup-pytorch', () => {
	it('plans without changing anything', { skip }, async (context) => {
		const work = await Workplace.make(context);
		const folder = join(work.folder, 'torch');
		const args = ['setup-pytorch', '--plan', '--json', '--device', 'cpu', '--with', 'ray,qlora', '--folder', folder];
		const { status, stdout, stderr } = await work.run(context, ...args);
		assert.equal(status, 0, stderr);
		const [plan = {}] = objects(stdout);
		assert.equal(plan.kind, 'plan');
		assert.ok(Number(plan.downloadBytes) > 1e8 && Number(plan.diskBytes) > 1e9);
		assert.ok(String(plan.folder).startsWith(folder));
		assert.match(String(plan.commands), /^Creating the virtual environment,/);
	});

	it('rejects unknown options and an unusable Python', async (context) => {
		const work = await Workplace.make(context);
		for (const [args, words] of [
			[['--device', 'tpu'], /--device is "tpu"\. Choose one of auto, cpu, cuda, rocm/],
			[['--plan', '--python', '/nowhere/python'], /specifies \/nowhere\/python, which does not exist/],
		] as const) {
			const { status, stderr } = await work.call('setup-pytorch', '--folder', work.folder, ...args);
			assert.deepEqual([status, words.test(stderr)], [2, true], stderr);
		}
	});
});

describe('reasoning-lab doctor', () => {
	it('prints one row per line, recommends fixes, and exits with 1 if something is missing', async (context) => {
		const work = await Workplace.make(context);
		const { status, stdout, stderr } = await work.run(context, 'doctor', '--quick', '--json');
		assert.equal(status, 1, stderr);
		const lines = objects(stdout).map((line) => decodeOrThrow(doctorLineSchema, line, 'a line'));
		const python = lines.find((line) => line.kind === 'row' && line.id === 'python');
		assert.ok(python?.kind === 'row' && python.status === 'error');
		assert.match(python.action ?? '', /setup-pytorch/);
		assert.equal(lines.at(-1)?.kind, 'report');
		const people = await work.run(context, 'doctor', '--quick');
		assert.match(people.stdout, /^Python +ERROR +No PyTorch environment is set up\.\n +Run Set Up/);
		assert.match(people.stdout, /\n\d+ errors?, \d+ warnings?\n$/);
	});
});
