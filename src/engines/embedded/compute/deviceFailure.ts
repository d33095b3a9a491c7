import { Failure } from '../../../base/failure.ts';
import { formatBytes } from '../../../base/format.ts';

/**
 * Providers that cannot allocate anything after running out of memory: onnxruntime 1.30 never frees its invalid
 * buffers.
 */
const stuckProviders: readonly string[] = ['webgpu'];

const shortageOf = (provider: string) => `Device ${provider} is out of memory`;

/** Returns whether a failure with the reason `full` persists even with fewer rows, until the device is reopened. */
export function isStuck(provider: string, { message }: Failure): boolean {
	return stuckProviders.includes(provider) && message.startsWith(shortageOf(provider));
}

/**
 * Recognizes runtime errors caused by the device rather than the program. Returns null for other errors. Failures with
 * the reason `full` may go away with fewer rows per micro-batch, some only in a new attempt (`isStuck`).
 */
export function deviceFailure(provider: string, cause: unknown): Failure | null {
	if (provider === 'cpu') return null;
	const text = cause instanceof Error ? cause.message : String(cause);
	const action = 'Reduce "context" or the model size in the recipe, or set "device" to "cpu".';
	const large = /Buffer size \((\d+)\) exceeds the max buffer size limit \((\d+)\)/.exec(text);
	if (large !== null) {
		const [needed, limit] = large.slice(1).map((bytes) => formatBytes(Number(bytes))) as [string, string];
		return new Failure('full', `A tensor needs ${needed}, but ${provider} allows ${limit}.`, action, { cause });
	}
	const wanted = /Failed to allocate memory for requested buffer of size (\d+)/.exec(text)?.[1];
	if (
		wanted !== undefined ||
		/\[Invalid Buffer|out of memory|OUT_OF_(?:DEVICE|HOST)_MEMORY|CUDA failure 2:/i.test(text)
	) {
		const size = wanted === undefined ? '' : ` (${formatBytes(Number(wanted))} more needed)`;
		return new Failure('full', `${shortageOf(provider)}${size}.`, action, { cause });
	}
	if (/\bdevice\]? (?:is|was) lost|DEVICE_LOST|DXGI_ERROR_DEVICE|CUDA failure (?:46|100|700|719|999):/i.test(text)) {
		return new Failure(
			'unavailable',
			`The device ${provider} was lost: it was removed, or its driver was reset.`,
			'Resume the run to continue from its last checkpoint. To use another device, start a new run from that checkpoint with a different "device".',
			{ cause },
		);
	}
	return null;
}
