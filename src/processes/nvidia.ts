import { readFile } from 'node:fs/promises';
import { runProgram } from './runProgram.ts';

export interface NvidiaGpu {
	readonly name: string;
	/** Total memory in bytes; null if the driver does not report it. */
	readonly total: number | null;
	readonly free: number | null;
	/** Compute capability such as `9.0`; null if nvidia-smi is too old to report it. */
	readonly capability: string | null;
}

export interface NvidiaFacts {
	/** `580.65.06` */
	readonly driver: string;
	/** Empty if there is a driver but no visible GPU. */
	readonly gpus: readonly NvidiaGpu[];
	/** Error output of nvidia-smi; null if it succeeded. */
	readonly error: string | null;
}

const fields = ['driver_version', 'name', 'memory.total', 'memory.free', 'compute_cap'];

/**
 * Detects the NVIDIA driver and its GPUs with nvidia-smi, which is part of the driver. Returns null if there is no
 * driver.
 */
export async function findNvidia(signal?: AbortSignal): Promise<NvidiaFacts | null> {
	const options = { limitMs: 30_000, ...(signal === undefined ? {} : { signal }) };
	const loaded = await loadedDriver();
	try {
		// Old drivers reject a query that includes the compute capability.
		for (const query of [fields, fields.slice(0, -1)]) {
			const args = [`--query-gpu=${query.join(',')}`, '--format=csv,noheader,nounits'];
			const { code, stdout } = await runProgram('nvidia-smi', args, options);
			const facts = code === 0 ? parseNvidiaSmi(stdout) : null;
			if (facts !== null) return facts;
		}
		const { stdout, stderr } = await runProgram('nvidia-smi', [], options);
		const said = `${stderr}\n${stdout}`.trim().split('\n')[0]?.trim() || 'nvidia-smi failed';
		return { driver: loaded ?? '', gpus: [], error: said.slice(0, 300) };
	} catch {
		signal?.throwIfAborted();
		return loaded === null ? null : { driver: loaded, gpus: [], error: 'nvidia-smi not found' };
	}
}

/**
 * Parses the CSV output of `--query-gpu=driver_version,name,memory.total,memory.free[,compute_cap]`. Returns null for
 * any other text.
 */
export function parseNvidiaSmi(text: string): NvidiaFacts | null {
	const rows = text
		.split('\n')
		.map((line) => line.split(',').map((field) => field.trim()))
		.filter((row) => row.length >= 4 && /^\d+(\.\d+)+$/.test(row[0] ?? ''));
	const driver = rows[0]?.[0];
	if (driver === undefined) return null;
	const gpus = rows.map(([, name = '', total, free, capability]) => ({
		name,
		total: bytes(total),
		free: bytes(free),
		capability: /^\d+\.\d+$/.test(capability ?? '') ? (capability as string) : null,
	}));
	return { driver, gpus, error: null };
}

const bytes = (mebibytes: string | undefined): number | null =>
	/^\d+$/.test(mebibytes ?? '') ? Number(mebibytes) * 2 ** 20 : null;

/** Returns the version of the loaded kernel driver, or null if none is loaded or this system does not expose it. */
async function loadedDriver(): Promise<string | null> {
	if (process.platform !== 'linux') return null;
	const text = await readFile('/sys/module/nvidia/version', 'utf8').catch(() => '');
	return /^\d+(\.\d+)+/.exec(text)?.[0] ?? null;
}
