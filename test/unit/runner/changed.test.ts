import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { bundles } from '../../../esbuild.mjs';
import { reachOf } from '../../runner/changed.ts';
import { ImportGraph } from '../../runner/importGraph.ts';
import { findSuites } from '../../runner/suites.ts';
import { root } from '../../scripts/paths.ts';

const suites = findSuites();
const graph = new ImportGraph();
/** Assumes ten seconds per file, and five for files with engine runs. */
const within = (budgetSeconds: number, ...files: string[]) =>
	reachOf(files, suites, {
		graph,
		secondsOf: (file) => (file.includes('/engine/') ? 5 : 10),
		budgetSeconds,
	});
const reach = (...files: string[]) =>
	new Map(within(1e6, ...files).suites.map(({ name, files: chosen }) => [name, chosen]));

test('a changed formula selects its own tests and those of the programs that use it', () => {
	const chosen = reach('src/core/grpo/kl.ts');
	assert.ok(chosen.get('unit')?.includes('test/unit/core/grpo/objective/rowLoss.test.ts'));
	assert.ok(chosen.get('unit')?.includes('test/unit/engines/embedded/grpoRun.test.ts'));
	assert.ok(!chosen.get('unit')?.includes('test/unit/core/math/compareMath.test.ts'));
	assert.ok(chosen.get('e2e')?.includes('test/e2e/firstLight.test.ts'));
	assert.ok(!chosen.get('e2e')?.includes('test/e2e/rewards.test.ts'));
});

test('a short budget selects all direct importers, the fastest test per program and one in the workbench', () => {
	const { suites: few, leftOut } = within(0, 'src/core/grpo/kl.ts');
	const files = few.flatMap(({ files }) => files);
	const importing = suites
		.filter(({ byProgram }) => !byProgram)
		.flatMap(({ files }) => graph.dependents(files, new Set(['src/core/grpo/kl.ts']), false));
	for (const file of importing) assert.ok(files.includes(file), file);
	for (const program of [
		'src/engines/embedded/main.ts',
		'src/engines/driver/main.ts',
		'src/cli.ts',
		'webview/rollouts/main.ts',
	])
		assert.ok(
			files.some((file) => graph.dependencies(file).has(program)),
			program,
		);
	assert.equal(few.filter(({ needs }) => needs.includes('workbench')).flatMap(({ files }) => files).length, 1);
	const more = within(400, 'src/core/grpo/kl.ts');
	assert.ok(more.leftOut.length < leftOut.length);
	// Nothing is lost: files not selected are listed.
	const all = [...reach('src/core/grpo/kl.ts').values()].flat();
	for (const { suites: some, leftOut: rest } of [within(0, 'src/core/grpo/kl.ts'), more])
		assert.deepEqual([...some.flatMap(({ files }) => files), ...rest].sort(), all.toSorted());
	// Files in a program's folder always select its tests.
	assert.ok(
		within(0, 'src/engines/embedded/main.ts').suites.some(({ files }) => files.includes('test/e2e/firstLight.test.ts')),
	);
});

test('a webview file selects the tests of its page and the related suites', () => {
	const chosen = reach('webview/rollouts/tokenScale.ts');
	assert.ok(chosen.get('pages')?.includes('test/unit/webview/rollouts/rolloutsViews.test.ts'));
	assert.ok(!chosen.get('pages')?.includes('test/unit/webview/tree/treePage.test.ts'));
	assert.ok(chosen.get('e2e')?.includes('test/e2e/views.test.ts'));
	assert.deepEqual(chosen.get('trainer'), []);
});

test('style sheets, fixtures and programs that tests start count as dependencies', () => {
	const depends = (test: string, file: string) => assert.ok(graph.dependencies(test).has(file), `${test}: ${file}`);
	depends('test/unit/webview/dashboard/dashboardPage.test.ts', 'webview/dashboard/dashboard.css');
	depends('test/unit/engines/embedded/grpoRun.test.ts', 'src/engines/embedded/main.ts');
	depends('test/unit/cli/badInput.test.ts', 'src/cli.ts');
	depends('test/unit/rewards/hostPython.test.ts', 'src/rewards/python/reward_host.py');
	depends('test/trainer/python.test.ts', 'src/engines/trainer/reasoning_lab_trainer/trl/options.py');
});

test('a test depends on itself and on nothing it does not mention', () => {
	const itself = 'test/unit/core/grpo/objective/rowLoss.test.ts';
	assert.deepEqual(graph.dependents(['test/unit/core/grpo/lossWeights.test.ts', itself], new Set([itself])), [itself]);
	assert.deepEqual([...reach('LICENSE').values()].flat(), []);
});

test('a change to the packages or the runner selects everything', () => {
	const all = suites.flatMap(({ files }) => files).length;
	for (const file of ['package-lock.json', 'test/runner/worker.ts'])
		assert.equal([...reach(file).values()].flat().length, all);
});

test('every file that starts programs declares them, and every program is covered', () => {
	const names = Object.keys(bundles());
	const said = new Set<string>();
	for (const { byProgram, files } of suites) {
		if (!byProgram) continue;
		for (const file of files) {
			const text = readFileSync(join(root, file), 'utf8');
			const programs = [...text.matchAll(/^\/\/ @reaches (.+)$/gm)].flatMap(([, line]) => (line ?? '').split(' '));
			assert.ok(programs.length > 0, `${file} has no line "// @reaches"`);
			for (const program of programs) {
				assert.ok(names.includes(program), `${file} reaches ${program}, which is no bundle of esbuild.mjs`);
				said.add(program);
			}
		}
	}
	// Parts of other programs, and the CLI itself.
	const others = new Set(['decoding', 'rewardSources', 'cli']);
	assert.deepEqual(
		names.filter((name) => !said.has(name) && !others.has(name)),
		[],
	);
});
