import assert from 'node:assert/strict';
import { cp, mkdir, mkdtemp, readFile, rename, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, test } from 'node:test';
import { type ForeignCode, foreignCodeOf, markStarted, usesOf } from '../../../src/runs/foreignCode.ts';
import { requireOwnPipeline } from '../../../src/runs/pipeline/foreignPipeline.ts';
import { preparePipeline, resumePipeline, startPipelineAgain } from '../../../src/runs/pipeline/startPipeline.ts';
import { prepareRun } from '../../../src/runs/prepareRun.ts';
import { runFiles } from '../../../src/runs/runFiles.ts';
import { RunRegistry } from '../../../src/runs/runRegistry.ts';
import { branchRun, resumeRun } from '../../../src/runs/startRun.ts';

let place = '';

/** Switches to another home: a different user, or the same one on another machine. */
async function anotherHome(): Promise<void> {
	process.env.REASONING_LAB_HOME = await mkdtemp(join(place, 'home-'));
}

const recipe = {
	name: 'small',
	workers: 1,
	dataset: { task: 'addition', digits: 1 },
	model: { layers: 1, width: 16, heads: 2 },
	rewards: [{ file: 'brief.reward.ts' }, { use: 'judge', url: 'http://127.0.0.1:9/v1', model: 'm' }],
	stages: [{ type: 'grpo', steps: 4, learning_rate: 0.001, prompts_per_step: 4, num_generations: 4 }],
};
const staged = { ...recipe, name: 'staged', stages: [{ ...recipe.stages[0], name: 'first' }] };

beforeEach(async () => {
	place = await mkdtemp(join(tmpdir(), 'rl-foreign-'));
	await anotherHome();
	await writeFile(join(place, 'brief.reward.ts'), 'export const brief = () => 1;\n');
	await writeFile(join(place, 'small.recipe.json'), JSON.stringify(recipe));
	await writeFile(join(place, 'staged.recipe.json'), JSON.stringify(staged));
	// Stand-ins for engine and runner that record whether they were started.
	await mkdir(join(place, 'dist'));
	for (const name of ['engine.js', 'pipeline.js']) {
		await writeFile(
			join(place, 'dist', name),
			`require('fs').writeFileSync(${JSON.stringify(join(place, 'started'))}, ''); process.exit(2);`,
		);
	}
});

const engine = () => ({ engine: join(place, 'dist', 'engine.js') });
const wasStarted = () =>
	readFile(join(place, 'started')).then(
		() => true,
		() => false,
	);
const preparedRun = async () => (await prepareRun(join(place, 'small.recipe.json'))).folder;

test('whether a run is external depends on the registry of the user, never on the run folder', async () => {
	const run = await preparedRun();
	assert.deepEqual((await foreignCodeOf(run, 'engine'))?.uses, ['rewards/brief.reward.ts', 'http://127.0.0.1:9/v1']);
	await markStarted(run);
	assert.equal(await foreignCodeOf(run, 'engine'), null);
	// A copy in another folder is a different run, which the registry does not contain.
	await cp(run, join(place, 'copy'), { recursive: true });
	assert.notEqual(await foreignCodeOf(join(place, 'copy'), 'engine'), null);
	// The same folder by another path is the same run; a moved run needs confirmation again.
	await symlink(run, join(place, 'link'));
	assert.equal(await foreignCodeOf(join(place, 'link'), 'engine'), null);
	await rename(run, join(place, 'moved'));
	assert.notEqual(await foreignCodeOf(join(place, 'moved'), 'engine'), null);
	await rename(join(place, 'copy'), run);
	assert.equal(await foreignCodeOf(run, 'engine'), null);
	const text = await readFile(join(run, runFiles.recipe), 'utf8');
	for (const changed of [text.replace('127.0.0.1:9', '127.0.0.1:8'), text.replace('"seed": 1', '"seed": 2')]) {
		assert.notEqual(changed, text);
		await writeFile(join(run, runFiles.recipe), changed);
		assert.notEqual(await foreignCodeOf(run, 'engine'), null);
	}
	await writeFile(join(run, runFiles.recipe), text);
	assert.equal(await foreignCodeOf(run, 'engine'), null);
	await anotherHome();
	assert.notEqual(await foreignCodeOf(run, 'engine'), null);
});

test('servers, clusters and packages need confirmation like reward files', () => {
	const uses = (more: object) => usesOf({ engine: 'pytorch', dataset: { path: '/d' }, rewards: [], ...more });
	assert.deepEqual(uses({ pytorch: { vllm: { mode: 'server', server: 'http://s:1' } } }), ['http://s:1']);
	assert.deepEqual(uses({ engine: 'ray', ray: { address: null, pip: ['a', 'b'] } }), ['a', 'b', 'a Ray cluster']);
	assert.deepEqual(uses({ engine: 'ray', ray: { address: 'ray://h:1', pip: [] } }), ['ray://h:1', 'a Ray cluster']);
	assert.deepEqual(uses({ stages: [{ search: { policy: { baseUrl: 'http://s:2' } } }] }), ['http://s:2']);
	assert.deepEqual(uses({ environment: { package: 'a-v1', server: 'http://s:3' } }), ['a-v1', 'http://s:3']);
	assert.deepEqual(uses({}), []);
});

test('an external run is not resumed or branched without confirmation', async () => {
	const run = await preparedRun();
	await anotherHome();
	const asked: ForeignCode[] = [];
	const no = async (code: ForeignCode) => asked.push(code) < 0;
	for (const resume of [
		(options: object) => resumeRun(run, { ...engine(), ...options }),
		(options: object) => branchRun(run, null, {}, { ...engine(), ...options }),
	]) {
		await assert.rejects(resume({}), { reason: 'denied', message: /You have not started.*brief\.reward\.ts/ });
		await assert.rejects(resume({ agree: no }), { reason: 'cancelled' });
	}
	assert.deepEqual(asked, Array(2).fill({ folder: run, uses: ['rewards/brief.reward.ts', 'http://127.0.0.1:9/v1'] }));
	assert.equal(await wasStarted(), false);
	// Confirming once starts the run and is remembered.
	await assert.rejects(resumeRun(run, { ...engine(), agree: async () => true }), { reason: 'internal' });
	assert.equal(await wasStarted(), true);
	assert.equal(await foreignCodeOf(run, 'engine'), null);
});

test('a run without external code resumes without confirmation', async () => {
	await writeFile(join(place, 'plain.recipe.json'), JSON.stringify({ ...recipe, rewards: [{ use: 'accuracy' }] }));
	const { folder } = await prepareRun(join(place, 'plain.recipe.json'));
	await anotherHome();
	await assert.rejects(resumeRun(folder, engine()), { reason: 'internal' });
	assert.equal(await wasStarted(), true);
});

test('an external pipeline is neither resumed nor restarted without confirmation', async () => {
	const own = await preparePipeline(join(place, 'staged.recipe.json'));
	await requireOwnPipeline(own, { recipe: true, stages: true }, undefined);
	await anotherHome();
	for (const start of [() => resumePipeline(own, {}, engine()), () => startPipelineAgain(own, engine())]) {
		await assert.rejects(start, { reason: 'denied', message: /brief\.reward\.ts/ });
	}
	assert.equal(await wasStarted(), false);
	await assert.rejects(resumePipeline(own, {}, { ...engine(), agree: async () => true }), { reason: 'internal' });
	await requireOwnPipeline(own, { recipe: true, stages: true }, undefined);
});

test('a run substituted for a stage needs confirmation', async () => {
	const own = await preparePipeline(join(place, 'staged.recipe.json'));
	const run = await preparedRun();
	await cp(run, join(own, 'first'), { recursive: true });
	await assert.rejects(resumePipeline(own, {}, engine()), { reason: 'denied', message: /rewards\/brief\.reward\.ts/ });
	// Even with the user's own recipe.
	const changes = { recipe: join(place, 'staged.recipe.json') };
	await assert.rejects(resumePipeline(own, changes, engine()), { reason: 'denied' });
	assert.equal(await wasStarted(), false);
});

test('a run that is removed and added again remains confirmed', async () => {
	const run = await preparedRun();
	await markStarted(run);
	const registry = new RunRegistry();
	const started = await registry.remove(run);
	assert.notEqual(await foreignCodeOf(run, 'engine'), null);
	await registry.add(run, undefined, started);
	assert.equal(await foreignCodeOf(run, 'engine'), null);
});
