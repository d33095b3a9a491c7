import { readFile } from 'node:fs/promises';
import { runProgram } from '../../processes/runProgram.ts';

export interface RocmFacts {
	/** ROCm version such as `7.2.0`; null if unknown. */
	readonly version: string | null;
	/** GPU names such as `gfx942 AMD Instinct MI300X`; empty if ROCm lists no GPU. */
	readonly gpus: readonly string[];
}

/**
 * Detects ROCm and AMD GPUs with rocminfo, or returns null if ROCm is not installed. Linux only, because PyTorch has no
 * other ROCm builds.
 */
export async function findRocm(signal?: AbortSignal): Promise<RocmFacts | null> {
	if (process.platform !== 'linux') return null;
	const version = (await readFile('/opt/rocm/.info/version', 'utf8').catch(() => '')).trim().split('-')[0] || null;
	for (const program of ['rocminfo', '/opt/rocm/bin/rocminfo']) {
		try {
			const { code, stdout } = await runProgram(program, [], {
				limitMs: 30_000,
				...(signal === undefined ? {} : { signal }),
			});
			return { version, gpus: code === 0 ? parseRocmInfo(stdout) : [] };
		} catch {
			signal?.throwIfAborted();
		}
	}
	return version === null ? null : { version, gpus: [] };
}

/** Returns the GPU agents in rocminfo output, which also lists CPUs as agents. */
export function parseRocmInfo(text: string): string[] {
	return text
		.split(/^Agent \d+/m)
		.map((agent) => ({
			name: /^\s*Name:\s*(gfx\w+)/m.exec(agent)?.[1],
			marketing: /^\s*Marketing Name:\s*(\S.*?)\s*$/m.exec(agent)?.[1],
		}))
		.filter(({ name }) => name !== undefined)
		.map(({ name, marketing }) => (marketing === undefined ? String(name) : `${name} ${marketing}`));
}
