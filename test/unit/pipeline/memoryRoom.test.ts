import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryRoom, type StageNeed } from '../../../src/pipeline/memoryRoom.ts';

const need = (bytes: number, device: StageNeed['device'] = 'cpu'): StageNeed => ({ device, bytes, available: 100 });

/** Enters without waiting for the result. */
function entering(room: MemoryRoom, name: string, wanted: StageNeed | null, signal = new AbortController().signal) {
	const log: string[] = [];
	const done = room.enter(name, wanted, signal, () => log.push('waits')).then((entered) => log.push(String(entered)));
	return { log, done };
}
const settle = () => new Promise((resolve) => setImmediate(resolve));

test('stages run together while they fit in 80% of the memory, separately for each device', async () => {
	const room = new MemoryRoom();
	const a = entering(room, 'a', need(30));
	const b = entering(room, 'b', need(50));
	const c = entering(room, 'c', need(1));
	const gpu = entering(room, 'gpu', need(80, 'cuda'));
	await settle();
	assert.deepEqual([a.log, b.log, c.log, gpu.log], [['true'], ['true'], ['waits'], ['true']]);
	room.leave('gpu');
	room.leave('unknown');
	await settle();
	assert.deepEqual(c.log, ['waits']);
	room.leave('a');
	await c.done;
	assert.deepEqual(c.log, ['waits', 'true']);
});

test('a stage that is too large, or whose need is unknown, runs alone', async () => {
	for (const wanted of [need(1000), null]) {
		const room = new MemoryRoom();
		const first = entering(room, 'first', wanted);
		const second = entering(room, 'second', need(1));
		await settle();
		assert.deepEqual([first.log, second.log], [['true'], ['waits']]);
		room.leave('first');
		await second.done;
		const third = entering(room, 'third', wanted);
		await settle();
		assert.deepEqual(third.log, ['waits']);
		room.leave('second');
		await third.done;
		assert.deepEqual(third.log, ['waits', 'true']);
	}
});

test('a waiting stage gives up when the pipeline is stopped', async () => {
	const room = new MemoryRoom();
	await entering(room, 'first', null).done;
	const stop = new AbortController();
	const second = entering(room, 'second', need(1), stop.signal);
	await settle();
	stop.abort();
	await second.done;
	assert.deepEqual(second.log, ['waits', 'false']);
	const late = entering(new MemoryRoom(), 'late', need(1), stop.signal);
	await late.done;
	assert.deepEqual(late.log, ['false']);
});
