import '../vscodeHook.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { viewOf } from '../fixtureRun.ts';

const { runProblems } = await import('../../../../src/extension/search/runProblems.ts');

const runs = Array.from({ length: 40 }, (_, i) => viewOf(`/runs/r${i}`, 'finished', 10));
const shown = (policy: Parameters<typeof runProblems>[1]) =>
	runProblems(runs, policy).map(({ value }) => (value.from === 'run' ? `${value.run} ${value.part}` : value.from));

test("a policy's own problems come first, even if its run is not among the latest", () => {
	const own = shown({ kind: 'checkpoint', folder: '/runs/r35/checkpoints/step_20' });
	assert.deepEqual(own.slice(0, 3), ['/runs/r35 held-out', '/runs/r35 training', '/runs/r0 held-out']);
	assert.equal(own.filter((one) => one.startsWith('/runs/r35 ')).length, 2);
	assert.deepEqual(shown({ kind: 'engine', run: '/runs/r1' }).slice(0, 3), [
		'/runs/r1 held-out',
		'/runs/r1 training',
		'/runs/r0 held-out',
	]);
	assert.deepEqual(shown({ kind: 'scripted', file: '/p.jsonl' }).slice(0, 2), [
		'/runs/r0 held-out',
		'/runs/r1 held-out',
	]);
	assert.equal(shown(null).length, 30);
});
