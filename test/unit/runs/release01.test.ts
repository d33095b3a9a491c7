import assert from 'node:assert/strict';
import { cp, readdir, readFile, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { compileStage, placeholders } from '../../../src/core/pipeline/compileStage.ts';
import { parseRecipe } from '../../../src/core/recipe/parseRecipe.ts';
import { decodeResolvedRecipe, resolveRecipe } from '../../../src/core/recipe/resolve.ts';
import { isRunnerStage } from '../../../src/protocol/recipeKeys/pipelineRecipe.ts';
import {
	listCheckpoints,
	readEvaluations,
	readEvents,
	readMetrics,
	readRecord,
	readResolvedRecipe,
	readRollouts,
} from '../../../src/runs/runReader.ts';
import { readTreeFile } from '../../../src/search/formats/readTreeFile.ts';
import { Workplace } from '../engines/embedded/engineProcess.ts';

const fixtures = fileURLToPath(new URL('../../fixtures/release-0.1/', import.meta.url));
const readJson = async (path: string): Promise<unknown> => JSON.parse(await readFile(path, 'utf8'));

/** Reads the metric names at each step, without timings, which may be missing. */
async function metricNames(run: string): Promise<readonly string[]> {
	return (await readMetrics(run)).map(({ step, stage, values }) => {
		const names = Object.keys(values).filter((name) => !/^(time|throughput)\//.test(name));
		return `${step} ${stage} ${names.sort().join(' ')}`;
	});
}

/** Omits keys that were added since, if they have the value that recipes of release 0.1 resolve to. */
const withoutNew = (key: string, value: unknown): unknown =>
	newKeys.has(key) && newKeys.get(key) === value ? undefined : value;
const newKeys: ReadonlyMap<string, unknown> = new Map<string, unknown>([
	['use_bias_correction_kl', false],
	['judged', 0],
	['proposed', 0],
	['active', null],
	['states', true],
]);

describe('release 0.1 files', () => {
	it('opens a finished run', async () => {
		const run = join(fixtures, 'finished');
		const record = await readRecord(run);
		assert.deepEqual([record.status, record.step, record.engine], ['finished', 12, 'embedded']);
		const lines = await readMetrics(run);
		assert.deepEqual(
			lines.map(({ step }) => step),
			[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
		);
		assert.equal(typeof lines[4]?.values.reward, 'number');
		const rollouts = await readRollouts(run, 5);
		assert.equal(rollouts.length, 16);
		assert.deepEqual(Object.keys(rollouts[0]?.rewards ?? {}), ['accuracy', 'format', 'brevity']);
		assert.equal((await readEvaluations(run)).length, 3);
		assert.deepEqual(
			(await listCheckpoints(run)).map(({ step }) => step),
			[12],
		);
		decodeResolvedRecipe(await readResolvedRecipe(run));
	});

	it('resumes an interrupted run to the end', async () => {
		await using place = await Workplace.make();
		const run = join(place.folder, 'interrupted');
		await cp(join(fixtures, 'interrupted'), run, { recursive: true });
		// Simulate a kill on this machine before a reboot, because a lock from another machine cannot be checked.
		const lock = join(run, 'run.lock', '000001');
		await writeFile(lock, (await readFile(lock, 'utf8')).replace('elsewhere', hostname()));
		const before = await readMetrics(run);
		const { code, stderr } = await place.run('--run', run, '--resume');
		assert.equal(code, 0, stderr);
		const record = await readRecord(run);
		assert.deepEqual([record.status, record.step, record.attempt], ['finished', 12, 2]);
		assert.deepEqual((await readMetrics(run)).slice(0, before.length), before);
		const whole = join(fixtures, 'finished');
		assert.deepEqual(await metricNames(run), await metricNames(whole));
		// The learning rate set during the pause, on the cosine schedule from 0.001.
		const [set, frozen] = [await readMetrics(run), await readMetrics(whole)].map(
			(lines) => lines[8]?.values.learning_rate ?? Number.NaN,
		);
		assert.ok(Math.abs((set ?? 0) / (frozen ?? 0) - 0.5) < 1e-9, `${set} is half of ${frozen}`);
		assert.ok((await readEvents(run)).some(({ type }) => type === 'resumed'));
		assert.deepEqual((await readRollouts(run, 9)).length, 16);
	});

	it('resolves recipes to the same values', async () => {
		const folder = join(fixtures, 'recipes');
		const machine = { cores: 2, resolvePath: (path: string) => (path.startsWith('/') ? path : `/project/${path}`) };
		const names = (await readdir(folder)).filter((name) => name.endsWith('.recipe.json'));
		assert.equal(names.length, 6);
		for (const name of names) {
			const parsed = parseRecipe(await readFile(join(folder, name), 'utf8'));
			assert.ok(parsed.ok, JSON.stringify(parsed));
			const { recipe, pipeline } = parsed;
			const stages = pipeline?.stages.filter(({ type }) => !isRunnerStage(type)) ?? [];
			const resolved =
				pipeline === null
					? resolveRecipe(recipe, machine)
					: stages.map((stage) => resolveRecipe(compileStage(pipeline, stage, placeholders(pipeline, stage)), machine));
			const before = await readJson(join(folder, name.replace('.recipe.', '.resolved.')));
			assert.deepEqual(JSON.parse(JSON.stringify(resolved, withoutNew)), before, name);
			for (const one of [before].flat()) {
				assert.deepEqual(JSON.parse(JSON.stringify(decodeResolvedRecipe(one), withoutNew)), one, name);
			}
		}
	});

	it('reads a search log', async () => {
		const { trees, format } = await readTreeFile(join(fixtures, 'search.jsonl'));
		assert.equal(format, 'reasoning-lab');
		assert.equal(trees.length, 1);
		const nodes = trees[0]?.events.filter(({ t }) => t === 'node');
		assert.equal(nodes?.length, 13);
	});

	it('knows every setting, with values that are still valid', async () => {
		const manifest = (await readJson(fileURLToPath(new URL('../../../package.json', import.meta.url)))) as {
			readonly contributes: { readonly configuration: { readonly properties: Readonly<Record<string, Setting>> } };
		};
		const { properties } = manifest.contributes.configuration;
		const settings = Object.entries((await readJson(join(fixtures, 'settings.json'))) as Record<string, unknown>);
		assert.ok(settings.length > 25);
		for (const [name, value] of settings) {
			const setting = properties[name];
			assert.ok(setting, name);
			const type = Array.isArray(value) ? 'array' : typeof value === 'number' ? /number|integer/ : typeof value;
			if (typeof type === 'string') assert.equal(setting.type, type, name);
			else assert.match(setting.type, type, name);
			if (setting.enum !== undefined) assert.ok(setting.enum.includes(value), name);
			if (setting.pattern !== undefined) assert.match(String(value), new RegExp(setting.pattern), name);
			assert.notDeepEqual(value, setting.default, name);
		}
	});
});

interface Setting {
	readonly type: string;
	readonly enum?: readonly unknown[];
	readonly pattern?: string;
	readonly default?: unknown;
}
