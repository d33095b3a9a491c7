import { join } from 'node:path';
import { readJson } from '../files/safeFile.ts';
import { decode } from '../protocol/decode.ts';
import { type GpuRuntimeRecord, gpuRuntimeSchema } from '../protocol/gpuRuntime.ts';
import { labHome } from './runRegistry.ts';

/** Version of the package onnxruntime-node, which providers must match. */
export const onnxruntimeVersion = '1.30.0';

const recordFile = 'runtime.json';

/**
 * The folder where *Set Up GPU* keeps the CUDA provider:
 * - `onnxruntime-VERSION`: a copy of onnxruntime-node with the provider next to its library, the libraries that the
 *   provider needs in `lib`, and `runtime.json`
 * - `downloads`: wheels, complete or partial, of an unfinished setup; `lock`: held during a setup
 */
export class GpuRuntimeFolder {
	readonly path: string;

	constructor(path: string) {
		this.path = path;
	}

	/** Returns the folder `gpu` in the per-user data folder. */
	static at(environment: NodeJS.ProcessEnv = process.env): GpuRuntimeFolder {
		return new GpuRuntimeFolder(join(labHome(environment), 'gpu'));
	}

	/** Copy of the runtime for the current version. */
	get runtime(): string {
		return join(this.path, `onnxruntime-${onnxruntimeVersion}`);
	}

	get libraries(): string {
		return join(this.runtime, 'lib');
	}

	get downloads(): string {
		return join(this.path, 'downloads');
	}

	get lock(): string {
		return join(this.path, 'lock');
	}

	get recordFile(): string {
		return join(this.runtime, recordFile);
	}

	/** Returns the record of the runtime for the current version, or null if there is none. */
	async current(): Promise<GpuRuntimeRecord | null> {
		const decoded = decode(gpuRuntimeSchema, await readJson(this.runtime, recordFile, 1 << 20).catch(() => undefined));
		return decoded.ok && decoded.value.onnxruntime === onnxruntimeVersion ? decoded.value : null;
	}
}
