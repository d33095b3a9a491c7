import { multiply } from '../onnx/elementwise.ts';
import { Graph } from '../onnx/graph.ts';
import { type ProviderName, runtimeNames } from './providers.ts';
import { Session } from './runtime.ts';

const held = new Map<ProviderName, Promise<Session>>();

/**
 * Keeps a provider's device open in this thread. The runtime closes a WebGPU device with its last session, and
 * drops all compiled shaders with it. Rejects if there is no such device.
 */
export async function holdDevice(provider: ProviderName): Promise<void> {
	if (provider === 'cpu') return;
	let session = held.get(provider);
	if (session === undefined) {
		const graph = new Graph();
		graph.output('y', multiply(graph.input('x', [1]), 2));
		session = Session.create(graph.encode(), { provider: runtimeNames[provider], threads: 1 });
		held.set(provider, session);
	}
	try {
		await session;
	} catch (error) {
		held.delete(provider);
		throw error;
	}
}

export async function releaseDevice(provider: ProviderName): Promise<void> {
	const session = held.get(provider);
	held.delete(provider);
	await (await session)?.release();
}
