/**
 * Fills the memory of a GPU, so that other programs run out of it: node gpuBallast.ts PROVIDER FREE, with the number of
 * bytes to leave free. Sends the number of free bytes to its parent when it is done, and keeps the memory until it is
 * killed.
 */
import { prepareEnvironment, Session, Tensors } from '../../src/engines/embedded/compute/runtime.ts';
import { Graph } from '../../src/engines/embedded/onnx/graph.ts';
import { findNvidia } from '../../src/processes/nvidia.ts';

const [provider = 'cuda', wanted = ''] = process.argv.slice(2);
const goal = Number(wanted);

async function freeBytes(): Promise<number> {
	const free = (await findNvidia())?.gpus[0]?.free;
	if (free == null) throw new Error('nvidia-smi does not report the memory of a GPU');
	return free;
}

/** Computes a tensor of `size` numbers, which stays on the device with WebGPU, and returns its first number. */
function program(): Uint8Array {
	const graph = new Graph();
	const size = graph.input('size', [1], 'int64');
	const large = graph.node('Expand', [graph.input('x', [1]), size], ['numbers']);
	if (provider === 'webgpu') graph.output('large', large);
	graph.output('first', graph.node('Gather', [large, graph.integers([0])], [1], { attributes: { axis: 0 } }));
	return graph.encode();
}

prepareEnvironment();
const tensors = await Tensors.load();
/** Sessions hold memory with CUDA, tensors with WebGPU. */
const kept: unknown[] = [];
let chunk = 2 ** (provider === 'webgpu' ? 30 : 32);
while (chunk >= 2 ** 26) {
	if ((await freeBytes()) - chunk < goal) {
		chunk /= 2;
		continue;
	}
	try {
		const session = await Session.create(program(), {
			...{ provider, threads: 1 },
			...(provider === 'webgpu' ? { resident: ['large'] } : {}),
		});
		const size = tensors.int64(BigInt64Array.of(BigInt(chunk / 4)), [1]);
		kept.push(session, await session.run({ size, x: tensors.float(new Float32Array(1), [1]) }));
	} catch {
		chunk /= 2;
	}
}
process.send?.(await freeBytes());
// The connection to the parent keeps this process alive.
process.on('message', () => kept.length);
