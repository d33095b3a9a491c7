import type { NvidiaFacts } from './nvidia.ts';
import type { RocmFacts } from './rocm.ts';

/** A program of the installer uv. */
export interface UvFacts {
	readonly path: string;
	/** `0.9.5` */
	readonly version: string;
}

/** What a machine has that decides how the PyTorch engine is installed on it. */
export interface MachineFacts {
	readonly platform: NodeJS.Platform;
	/** As Node names it: `x64`, `arm64`. */
	readonly arch: string;
	/** null: no NVIDIA driver. */
	readonly nvidia: NvidiaFacts | null;
	/** null: no ROCm. */
	readonly rocm: RocmFacts | null;
	/** null: it is not on PATH, nor where its own installer puts it. */
	readonly uv: UvFacts | null;
	/** Somebody has told pip another index, or folders of packages. */
	readonly pipConfigured: boolean;
	/** The same of uv. */
	readonly uvConfigured: boolean;
}

/** The dotted numbers of a version, for comparing: `580.65.06` is [580, 65, 6]. */
export function versionNumbers(text: string): number[] {
	return (/\d+(?:\.\d+)*/.exec(text)?.[0] ?? '').split('.').filter(Boolean).map(Number);
}

/** Whether a version is at least another one. */
export function atLeast(version: string, least: string): boolean {
	const [a, b] = [versionNumbers(version), versionNumbers(least)];
	for (let i = 0; i < Math.max(a.length, b.length); i++) {
		const difference = (a[i] ?? 0) - (b[i] ?? 0);
		if (difference !== 0) return difference > 0;
	}
	return true;
}
