import assert from 'node:assert/strict';
import { test } from 'node:test';
import { criticalPaths, schedule, type Task } from '../../runner/scheduler.ts';

/** Creates tasks whose ends the test decides, and a log of the tasks in start order. */
function table(specs: Record<string, Partial<Task>>) {
	const log: string[] = [];
	const ends = new Map<string, (success: boolean) => void>();
	const tasks = Object.entries(specs).map(
		([id, spec]): Task => ({
			id,
			needs: [],
			cores: 1,
			seconds: 1,
			run: () => {
				log.push(id);
				return new Promise((resolve) => ends.set(id, resolve));
			},
			...spec,
		}),
	);
	const end = async (id: string, success = true) => {
		const finish = ends.get(id);
		assert.ok(finish, `${id} runs`);
		finish(success);
		await new Promise((resolve) => setImmediate(resolve));
	};
	return { tasks, log, end };
}

const options = (more: object = {}) => ({
	cores: 2,
	signal: new AbortController().signal,
	onBlocked: () => {},
	...more,
});

test('the longest chain starts first, and concurrency is limited to the number of cores', async () => {
	const { tasks, log, end } = table({
		short: { seconds: 1 },
		long: { seconds: 5 },
		build: { seconds: 2 },
		last: { seconds: 9, needs: ['build'] },
	});
	const done = schedule(tasks, options());
	assert.deepEqual(log, ['build', 'long']);
	await end('long');
	assert.deepEqual(log, ['build', 'long', 'short']);
	await end('build');
	assert.deepEqual(log, ['build', 'long', 'short', 'last']);
	await end('short');
	await end('last');
	await done;
});

test('a task never starts before its dependencies have succeeded', async () => {
	const { tasks, log, end } = table({ a: { seconds: 0 }, b: { needs: ['a'], seconds: 100 }, c: { needs: ['b'] } });
	const blocked: string[] = [];
	const done = schedule(tasks, options({ onBlocked: (task: Task, by: string) => blocked.push(`${task.id} by ${by}`) }));
	assert.deepEqual(log, ['a']);
	await end('a', false);
	await done;
	assert.deepEqual(log, ['a']);
	assert.deepEqual(blocked, ['b by a', 'c by b']);
});

test('a task that needs the whole machine waits until it is free, and nothing overtakes it', async () => {
	const { tasks, log, end } = table({
		first: { seconds: 9 },
		whole: { seconds: 5, cores: 2 },
		small: { seconds: 1 },
	});
	const done = schedule(tasks, options());
	assert.deepEqual(log, ['first']);
	await end('first');
	assert.deepEqual(log, ['first', 'whole']);
	await end('whole');
	await end('small');
	await done;
});

test('after an abort, running tasks finish and no others start', async () => {
	const { tasks, log, end } = table({ a: {}, b: {}, c: {} });
	const stop = new AbortController();
	let ended = false;
	const done = schedule(tasks, options({ signal: stop.signal })).then(() => {
		ended = true;
	});
	stop.abort();
	await end('a');
	assert.equal(ended, false);
	await end('b');
	await done;
	assert.deepEqual(log, ['a', 'b']);
});

test('tasks that cannot be scheduled are rejected', async () => {
	const none = { cores: 1, seconds: 1, run: async () => true };
	await assert.rejects(schedule([{ id: 'a', needs: ['b'], ...none }], options()), /a needs b, which is not a task/);
	const circle = [
		{ id: 'a', needs: ['b'], ...none },
		{ id: 'b', needs: ['a'], ...none },
	];
	assert.throws(() => criticalPaths(circle), /need each other: a > b > a/);
});

/** Waits until a condition holds; the assertion that follows fails otherwise. */
async function until(holds: () => boolean): Promise<void> {
	for (let i = 0; i < 400 && !holds(); i++) await new Promise((resolve) => setTimeout(resolve, 5));
}

const ids = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'];
const decreasing = () => table(Object.fromEntries(ids.map((id, i) => [id, { seconds: 9 - i }])));

test('one more task starts whenever cores are idle, up to three per core, and a finished one is replaced', async () => {
	const { tasks, log, end } = decreasing();
	const idle = [2, 0.2, 0.4, 0.2, 0.3];
	let asked = 0;
	const done = schedule(tasks, options({ idleCores: () => idle[asked++] ?? 2, idleMs: 1 }));
	assert.deepEqual(log, ['a', 'b']);
	await until(() => log.length >= 6);
	assert.deepEqual(log, ids.slice(0, 6));
	const then = asked;
	await until(() => asked > then + 5);
	assert.equal(log.length, 6, 'no more than three per core');
	await end('a');
	assert.deepEqual(log, ids.slice(0, 7), 'the next one takes the place at once');
	for (const id of ids.slice(1)) {
		await until(() => log.includes(id));
		await end(id);
	}
	await done;
});

test('once the cores are busy, fewer extra tasks run', async () => {
	const { tasks, log, end } = decreasing();
	const idle = [2, 0.5, 0.5];
	let asked = 0;
	const done = schedule(tasks, options({ idleCores: () => idle[asked++] ?? 0, idleMs: 1 }));
	await until(() => log.length === 4 && asked > 40);
	assert.deepEqual(log, ids.slice(0, 4));
	await end('a');
	await end('b');
	assert.equal(log.length, 4, 'two run, which is what the cores have room for');
	await end('c');
	assert.deepEqual(log, ids.slice(0, 5));
	for (const id of ids.slice(3)) {
		await until(() => log.includes(id));
		await end(id);
	}
	await done;
});

test('no extra task starts while the cores are busy', async () => {
	const { tasks, log, end } = table({ a: { seconds: 3 }, b: { seconds: 2 }, c: { seconds: 1 } });
	let asked = 0;
	const idleCores = () => {
		asked++;
		return 0.29;
	};
	const done = schedule(tasks, options({ idleCores, idleMs: 1 }));
	await until(() => asked > 20);
	assert.deepEqual(log, ['a', 'b']);
	for (const id of ['a', 'b', 'c']) await end(id);
	await done;
});
