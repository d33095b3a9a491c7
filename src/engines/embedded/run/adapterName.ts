import { fileURLToPath } from 'node:url';
import { findNvidia } from '../../../processes/nvidia.ts';
import { runScript } from '../../../processes/runScript.ts';
import type { ProviderName } from '../compute/providers.ts';
import { openedDevice } from './vulkanLog.ts';

/** Time limit for opening a device in another process, in milliseconds. It usually takes less than a second. */
const limitMs = 30_000;

/** Entry point of the engine, either as TypeScript or bundled. */
const engineProgram = (): string =>
	fileURLToPath(new URL(import.meta.url.endsWith('.ts') ? '../main.ts' : './engine.js', import.meta.url));

/** Returns the name of the adapter (GPU, or software driver) that a provider uses, or null if it is unknown. */
export async function adapterName(provider: ProviderName, signal?: AbortSignal): Promise<string | null> {
	try {
		if (provider === 'webgpu') return await vulkanName(signal);
		if (provider === 'cuda') return await nvidiaName(signal);
	} catch {
		// The engine works without the name.
	}
	return null;
}

/**
 * The runtime does not report which adapter it opened, but on Linux, the Vulkan loader can write it to stderr. It reads
 * its settings when a process starts to use it, and stderr of the engine is the log of the run, so the device is opened
 * once more in another process with the same environment, where the runtime chooses the same adapter.
 */
async function vulkanName(signal: AbortSignal | undefined): Promise<string | null> {
	if (process.platform !== 'linux') return null;
	const { code, stderr } = await runScript(engineProgram(), ['--open-webgpu'], {
		environment: { VK_LOADER_DEBUG: 'driver' },
		limitMs,
		...(signal === undefined ? {} : { signal }),
	});
	return code === 0 ? openedDevice(stderr) : null;
}

/** Returns null if there are several GPUs, because CUDA and nvidia-smi number them differently. */
async function nvidiaName(signal: AbortSignal | undefined): Promise<string | null> {
	const { gpus = [] } = (await findNvidia(signal)) ?? {};
	return gpus.length === 1 ? (gpus[0]?.name ?? null) : null;
}
