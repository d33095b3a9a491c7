import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { deferred } from '../../../../../src/base/async.ts';
import { type GpuMemory, GpuMemoryWatch } from '../../../../../src/engines/embedded/run/gpuMemoryWatch.ts';

const memory = (used: number): GpuMemory => ({ used, total: 80 });

test('the reported GPU memory is the maximum since the last row, or else the newest reading', async () => {
	const answers = [memory(10), memory(50), memory(30), null, new Error('nvidia-smi failed')];
	const last = deferred<void>();
	const read = async () => {
		const answer = answers.shift();
		if (answer === undefined) {
			last.resolve();
			await new Promise(() => undefined);
		}
		if (answer instanceof Error) throw answer;
		return answer ?? null;
	};
	const watch = await GpuMemoryWatch.start(read, 0);
	assert.ok(watch !== null);
	assert.deepEqual(watch.take(), memory(10));
	await last.promise;
	assert.deepEqual(watch.take(), memory(50));
	assert.equal(watch.take(), null, 'an earlier reading is not the current one');
	watch.dispose();
});

test('a machine without an NVIDIA GPU, or with a broken tool, has no measurements', async () => {
	assert.equal(await GpuMemoryWatch.start(async () => null), null);
	assert.equal(await GpuMemoryWatch.start(() => Promise.reject(new Error('no'))), null);
});

test('disposal cancels a reading, and no other follows', async () => {
	let readings = 0;
	let aborted = false;
	const started = deferred<void>();
	const watch = await GpuMemoryWatch.start(async (signal) => {
		if (++readings > 1) {
			started.resolve();
			await new Promise((_, reject) => signal.addEventListener('abort', reject, { once: true })).catch(() => {
				aborted = true;
			});
		}
		return memory(1);
	}, 0);
	await started.promise;
	watch?.dispose();
	await setImmediate();
	assert.deepEqual([readings, aborted], [2, true]);
});
