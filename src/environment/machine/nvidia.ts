import { readFile } from 'node:fs/promises';
import { runProgram } from '../../processes/runProgram.ts';

export interface NvidiaGpu {
	readonly name: string;
	/** Bytes; null: the driver does not say. */
	readonly total: number | null;
	readonly free: number | null;
	/** Compute capability, `9.0`; null: an old nvidia-smi does not say. */
	readonly capability: string | null;
}

export interface NvidiaFacts {
	/** `580.65.06` */
	readonly driver: string;
	/** Empty: there is a driver, but it shows no GPU. */
	readonly gpus: readonly NvidiaGpu[];
	/** What nvidia-smi said when it did not work; null: it worked. */
	readonly error: string | null;
}

const fields = ['driver_version', 'name', 'memory.total', 'memory.free', 'compute_cap'];

/** The NVIDIA driver of this machine and its GPUs: by nvidia-smi, which comes with the driver; null: there is none. */
export async function findNvidia(signal?: AbortSignal): Promise<NvidiaFacts | null> {
	const options = { limitMs: 30_000, ...(signal === undefined ? {} : { signal }) };
	const loaded = await loadedDriver();
	try {
		// Without a query for the capability the rest is still told by old drivers.
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

/** Of `--query-gpu=driver_version,name,memory.total,memory.free[,compute_cap]` as CSV; null: it is nothing of the kind. */
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

/** The kernel's part of the driver; null: it is not loaded, or not this system's way to say so. */
async function loadedDriver(): Promise<string | null> {
	if (process.platform !== 'linux') return null;
	const text = await readFile('/sys/module/nvidia/version', 'utf8').catch(() => '');
	return /^\d+(\.\d+)+/.exec(text)?.[0] ?? null;
}
