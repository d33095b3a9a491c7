import { readFile } from 'node:fs/promises';
import { runProgram } from '../../processes/runProgram.ts';

export interface RocmFacts {
	/** `7.2.0`; null: unknown. */
	readonly version: string | null;
	/** `gfx942 AMD Instinct MI300X`; empty: ROCm is installed, but lists no GPU. */
	readonly gpus: readonly string[];
}

/** ROCm and the AMD GPUs of this machine, by rocminfo; null: there is no ROCm. Linux alone: PyTorch has no other builds. */
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

/** GPU agents in what rocminfo prints; processors are agents too. */
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
