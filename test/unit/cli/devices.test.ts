import assert from 'node:assert/strict';
import { test } from 'node:test';
import { objects, tinyRecipe, Workplace } from './cliFixtures.ts';

/** Only on Linux can a test hide a machine's GPUs. */
const skip = process.platform === 'linux' ? false : 'the machine may have a GPU';
const limit = { skip, timeout: 180_000 };

/** The Vulkan loader finds no driver. */
function hideAdapters(): void {
	process.env.VK_ICD_FILENAMES = '/nonexistent/icd.json';
	process.env.VK_DRIVER_FILES = '/nonexistent/icd.json';
}

test('device: webgpu without an adapter exits with 2, one sentence and advice', limit, async (context) => {
	hideAdapters();
	const place = await Workplace.make(context);
	await place.write('tiny.recipe.json', { ...tinyRecipe, device: 'webgpu' });
	const { status, stderr } = await place.run(context, 'run', 'tiny.recipe.json');
	assert.equal(status, 2, stderr);
	assert.match(
		stderr.trim(),
		/^reasoning-lab: Cannot use the device webgpu: no WebGPU adapter was found\. Install [^\n]*$/i,
	);
});

test('device: auto without an adapter uses the CPU and says why', limit, async (context) => {
	hideAdapters();
	const place = await Workplace.make(context);
	await place.write('tiny.recipe.json', { ...tinyRecipe, device: 'auto' });
	const { status, stdout, stderr } = await place.run(context, 'run', 'tiny.recipe.json', '--json');
	assert.equal(status, 0, stderr);
	const lines = objects(stdout) as { kind: string; lines?: { type: string }[] }[];
	const event = lines.flatMap(({ kind, lines: events }) => (kind === 'events' ? (events ?? []) : []));
	const device = event.find(({ type }) => type === 'device') as Record<string, unknown> | undefined;
	assert.equal(device?.took, 'cpu');
	assert.equal(device?.asked, 'auto');
	const tried = device?.tried as { provider: string; error: string }[];
	assert.equal(tried.find(({ provider }) => provider === 'webgpu')?.error, 'no WebGPU adapter was found');
});

test('doctor lists the devices of the embedded engine', limit, async (context) => {
	hideAdapters();
	const place = await Workplace.make(context);
	const { stdout } = await place.run(context, 'doctor', '--json');
	const rows = objects(stdout) as { kind: string; id?: string; status?: string; found?: string }[];
	const row = rows.find(({ id }) => id === 'embedded-webgpu');
	assert.deepEqual([row?.status, row?.found], ['absent', 'no WebGPU adapter was found']);
});
