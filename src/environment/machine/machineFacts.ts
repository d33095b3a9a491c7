import type { NvidiaFacts } from '../../processes/nvidia.ts';
import type { RocmFacts } from './rocm.ts';

/** A uv executable. */
export interface UvFacts {
	readonly path: string;
	/** `0.9.5` */
	readonly version: string;
}

/** Facts about a machine that determine how to install the PyTorch engine. */
export interface MachineFacts {
	readonly platform: NodeJS.Platform;
	/** Architecture, as named by Node: `x64`, `arm64`. */
	readonly arch: string;
	/** null if there is no NVIDIA driver. */
	readonly nvidia: NvidiaFacts | null;
	/** null if ROCm is not installed. */
	readonly rocm: RocmFacts | null;
	/** null if uv is neither on PATH nor in its default install location. */
	readonly uv: UvFacts | null;
	/** Whether pip is configured with another index or with package folders. */
	readonly pipConfigured: boolean;
	/** Whether uv is configured with another index or with package folders. */
	readonly uvConfigured: boolean;
}

/** Parses the dotted numbers of a version for comparison: `580.65.06` becomes [580, 65, 6]. */
export function versionNumbers(text: string): number[] {
	return (/\d+(?:\.\d+)*/.exec(text)?.[0] ?? '').split('.').filter(Boolean).map(Number);
}

/** Returns whether a version is greater than or equal to a minimum. */
export function atLeast(version: string, min: string): boolean {
	const [a, b] = [versionNumbers(version), versionNumbers(min)];
	for (let i = 0; i < Math.max(a.length, b.length); i++) {
		const difference = (a[i] ?? 0) - (b[i] ?? 0);
		if (difference !== 0) return difference > 0;
	}
	return true;
}
