import type { AnyRunRecord, EngineName } from '../protocol/runRecord.ts';

/** Display names of engines. Other trainers' runs are labeled with the trainer's name. */
export const engineTitles: Readonly<Record<Exclude<EngineName, 'foreign'>, string>> = {
	embedded: 'Embedded',
	pytorch: 'PyTorch',
	ray: 'Ray',
};

/** Packages that affect numerical results most, in display order. Others are not shown. */
const told = ['trl', 'torch', 'transformers', 'cuda', 'rocm'];

/**
 * Who trained a run, according to its record. The strings come from the run folder and must be sanitized before
 * display.
 */
export interface EngineFacts {
	readonly title: string;
	/** Package names and versions. */
	readonly versions: readonly (readonly [name: string, version: string])[];
	/** Job of the ray engine. */
	readonly job: EngineJob | null;
}

export interface EngineJob {
	readonly id: string;
	/** Address of the cluster's dashboard. */
	readonly address: string;
	/** Number of jobs submitted for the run; more than one if the cluster lost a job. */
	readonly submissions: number;
}

export function engineFactsOf(record: AnyRunRecord): EngineFacts {
	const title = record.engine === 'foreign' ? (record.foreign?.title ?? '') : engineTitles[record.engine];
	const versions = [...told, ...(record.engine === 'ray' ? ['ray'] : [])].flatMap((name) => {
		const version = Object.hasOwn(record.versions, name) ? record.versions[name] : undefined;
		return version === undefined ? [] : [[name, version] as const];
	});
	return { title, versions, job: jobOf(record) };
}

function jobOf({ engine, ray }: AnyRunRecord): EngineJob | null {
	if (engine !== 'ray' || typeof ray !== 'object' || ray === null) return null;
	const { job, address, submissions } = ray as Readonly<Record<string, unknown>>;
	if (typeof job !== 'string' || typeof address !== 'string') return null;
	return { id: job, address, submissions: typeof submissions === 'number' ? submissions : 1 };
}

/** What a running engine is waiting for. */
export interface EngineWait {
	readonly kind: 'device' | 'loading' | 'job' | 'cluster' | 'restart';
	/** Description of the state: "waiting for the device". */
	readonly words: string;
}

/**
 * Returns what an active run is waiting for, or null if it is computing or waiting for the user. While it waits, the
 * engine reports the reason in the `device` field.
 */
export function engineWaitOf(record: Pick<AnyRunRecord, 'engine' | 'status' | 'device'>): EngineWait | null {
	const { engine, status, device } = record;
	if (/^(ray: )?waiting for /.test(device)) return { kind: 'device', words: 'waiting for the device' };
	if (engine === 'ray') {
		if (device.startsWith('ray (job pending')) return { kind: 'job', words: 'job pending on the cluster' };
		if (device.startsWith('ray (job ')) return { kind: 'loading', words: 'starting on the cluster' };
		if (device.startsWith('ray (cluster not reached')) return { kind: 'cluster', words: 'cluster unreachable' };
		if (device.startsWith('ray (starts again')) return { kind: 'restart', words: 'restarting after a loss' };
		return status === 'starting' ? { kind: 'job', words: 'submitting the job' } : null;
	}
	if (engine === 'pytorch' && status === 'starting') return { kind: 'loading', words: 'loading' };
	return null;
}
