import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Failure } from '../../../../../src/base/failure.ts';
import { cpuLimits, gpuLimits } from '../../../../../src/core/memory/microBatchLimits.ts';
import { cacheBytes, gradientBytes, safeTensorBytes } from '../../../../../src/core/memory/rowBytes.ts';
import { deviceFailure, isStuck } from '../../../../../src/engines/embedded/compute/deviceFailure.ts';
import { MicroBatchRows } from '../../../../../src/engines/embedded/compute/microBatchRows.ts';

const shape = { vocabulary: 24, context: 2048, width: 512, heads: 8, layers: 8, feedForward: 2048 };
const most = { sample: 256, train: 64 };

describe('rows per micro-batch', () => {
	test('are as many as the largest tensor permits, and at least one', () => {
		const rows = new MicroBatchRows(shape, most, gpuLimits(false, null));
		assert.equal(rows.size('train', 64), 64);
		// Feed-forward states: 268 x 2048 numbers per row; scores: 8 x 268².
		assert.equal(rows.size('train', 268), Math.floor(safeTensorBytes / (4 * Math.max(8 * 268 ** 2, 268 * 2048))));
		assert.equal(rows.size('train', 1024), Math.floor(safeTensorBytes / (4 * 8 * 1024 ** 2)));
		assert.equal(rows.size('train', 100_000), 1);
		// A long completion of a short prompt: only the cache grows with it.
		assert.equal(rows.size('sample', 2048, 16), Math.floor(safeTensorBytes / (4 * 512 * 2048)));
		assert.equal(rows.size('sample', 64, 16), 256);
		// On the CPU, the limit is the memory for a gradient.
		const onCpu = new MicroBatchRows(shape, most, cpuLimits);
		assert.deepEqual(
			[64, 2048, 100_000].map((tokens) => onCpu.size('train', tokens)),
			[64, Math.floor(2 ** 31 / gradientBytes(shape, 2048)), 1],
		);
		assert.equal(onCpu.size('sample', 2048), 256);
	});

	test('on a GPU of known size, leave memory for everything else', () => {
		const large = gpuLimits(true, 80e9);
		const many = { sample: 1000, train: 1000 };
		const rows = new MicroBatchRows(shape, many, large);
		// A tensor can be larger than WebGPU allows.
		assert.equal(rows.size('train', 1024), 2 ** 31 / (4 * 8 * 1024 ** 2));
		assert.equal(new MicroBatchRows(shape, many, gpuLimits(true, null)).size('train', 1024), 4);
		const medium = new MicroBatchRows(shape, many, gpuLimits(true, 16e9));
		assert.equal(medium.size('train', 512), Math.floor(4e9 / gradientBytes(shape, 512)));
		// The whole cache exists at once, for the tokens of the request rather than the context.
		assert.equal(rows.size('sample', 2048, 16), Math.floor(5e9 / cacheBytes(shape, 2048)));
		assert.equal(rows.size('sample', 64, 16), 1000);
		const small = new MicroBatchRows(shape, many, gpuLimits(false, 4e9));
		assert.equal(small.size('train', 128), Math.floor(1e9 / gradientBytes(shape, 128)));
		assert.equal(gpuLimits(false, 80e9).tensorBytes, safeTensorBytes);
		assert.equal(gpuLimits(true, 200e9).tensorBytes, 2 ** 31);
	});

	test('are halved until they fit when the device runs out of memory, only for the operation that failed, and stay reduced', async () => {
		const told: number[] = [];
		const rows = new MicroBatchRows(shape, most, gpuLimits(false, null), (_, count) => told.push(count));
		const sizes: number[] = [];
		const run = async (size: number) => {
			sizes.push(size);
			if (Math.min(size, 40) > 10) throw new Failure('full', 'The memory is full.');
			return size;
		};
		// Half of 40, not of 64: the first attempt had 40 rows.
		assert.equal(await rows.fitting('train', { count: 40, tokens: 64 }, run), 10);
		assert.deepEqual(
			[sizes, told],
			[
				[64, 20, 10],
				[20, 10],
			],
		);
		assert.equal(rows.size('train', 64), 10);
		assert.equal(rows.size('sample', 64), 256);
	});

	test('shrink only for the next attempt if the device cannot recover from running out of memory', async () => {
		const reported: [string, number][] = [];
		const stuck = (failure: Failure) => isStuck('webgpu', failure);
		const onFewer = (use: string, rows: number) => reported.push([use, rows]);
		const rows = new MicroBatchRows(shape, most, gpuLimits(false, null), onFewer, stuck);
		const sizes = { count: 40, tokens: 64 };
		const shortage = deviceFailure('webgpu', new Error('[Invalid Buffer (unlabeled)] is invalid')) as Failure;
		const attempts: number[] = [];
		const run = async (size: number) => {
			attempts.push(size);
			throw shortage;
		};
		await assert.rejects(rows.fitting('train', sizes, run), {
			reason: 'full',
			message: 'Device webgpu is out of memory, with micro-batches of 40 rows of up to 64 tokens.',
			action:
				'Resume the run to continue from its last checkpoint with at most 20 rows. If that is not enough: reduce "context" or the model size in the recipe, or set "device" to "cpu".',
		});
		assert.deepEqual([attempts, reported], [[64], [['train', 20]]]);
		await assert.rejects(
			rows.afterwards('train', sizes, () => Promise.reject(shortage)),
			/micro-batches of 20 rows/,
		);
		assert.deepEqual(reported.at(-1), ['train', 10]);
		// A tensor that exceeds the limit of the device is an error before anything is allocated.
		const large = deviceFailure('webgpu', new Error('Buffer size (3600) exceeds the max buffer size limit (1073)'));
		assert.ok(large !== null && !stuck(large) && !isStuck('cuda', shortage));
		const other = new Failure('internal', 'No.');
		await assert.rejects(
			rows.afterwards('train', sizes, () => Promise.reject(other)),
			other,
		);
		assert.equal(await rows.afterwards('train', sizes, async () => 7), 7);
	});

	test('do not hide other failures, or a single row that does not fit', async () => {
		const rows = new MicroBatchRows(shape, most, gpuLimits(false, null));
		const failing = (reason: Failure['reason']) => () => Promise.reject(new Failure(reason, 'No.'));
		await assert.rejects(rows.fitting('train', { count: 9, tokens: 9 }, failing('internal')), /No/);
		assert.equal(rows.size('train', 9), 64);
		await assert.rejects(rows.fitting('train', { count: 9, tokens: 64 }, failing('full')), (error: Failure) => {
			assert.equal(error.reason, 'full');
			assert.match(
				error.message,
				/^No; a gradient for one row of 64 tokens takes about [\d.]+ MB, in addition to the weights\.$/,
			);
			return true;
		});
		assert.equal(rows.size('train', 9), 1);
	});
});

describe('runtime errors', () => {
	/** Messages of onnxruntime-node 1.30.0: the first two from SwiftShader, the third from its source. */
	const cases: readonly [string, Failure['reason'] | null, RegExp][] = [
		[
			'WebGPU validation failed. Buffer size (3600000000) exceeds the max buffer size limit (1073741824).\n - While calling [Device].CreateBuffer([BufferDescriptor]).\n',
			'full',
			/^A tensor needs 3.6 GB, but webgpu allows 1.1 GB\.$/,
		],
		[
			'WebGPU validation failed. [Invalid Buffer (unlabeled)] is invalid due to a previous error.\n - While validating entries[2]',
			'full',
			/^Device webgpu is out of memory\.$/,
		],
		[
			'Non-zero status code returned while running MatMul node. Status Message: Failed to allocate memory for requested buffer of size 1073741824',
			'full',
			/^Device webgpu is out of memory \(1.1 GB more needed\)\.$/,
		],
		['CUDA failure 2: out of memory ; GPU=0', 'full', /out of memory\.$/],
		['CUDA failure 719: unspecified launch failure ; GPU=0', 'unavailable', /^The device webgpu was lost/],
		[
			'Failed to download data from buffer. wgpu::MapAsyncStatus value: 4, message: [Device] is lost.',
			'unavailable',
			/was lost/,
		],
		['vkQueueSubmit failed with VK_ERROR_DEVICE_LOST', 'unavailable', /was lost/],
		['Invalid rank for input: x', null, /^$/],
	];

	test('become readable failures if they concern the device', () => {
		for (const [text, reason, pattern] of cases) {
			const failure = deviceFailure('webgpu', new Error(text));
			assert.equal(failure?.reason ?? null, reason, text);
			assert.match(failure?.message ?? '', pattern);
			assert.equal(deviceFailure('cpu', new Error(text)), null);
		}
	});
});
