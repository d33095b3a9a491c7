import type { AnyRunRecord, EngineName } from '../protocol/runRecord.ts';

/** What engines are called. Another trainer's run is called by that trainer. */
export const engineTitles: Readonly<Record<Exclude<EngineName, 'foreign'>, string>> = {
	embedded: 'Embedded',
	pytorch: 'PyTorch',
	ray: 'Ray',
};

/** The packages whose versions numbers depend on most, in the order in which they are told. What else is installed is not. */
const told = ['trl', 'torch', 'transformers', 'cuda', 'rocm'];

/** Who trains a run, as its record tells. Texts are the run folder's own: whoever shows them cleans them. */
export interface EngineFacts {
	readonly title: string;
	/** Names and versions. */
	readonly versions: readonly (readonly [name: string, version: string])[];
	/** Of the ray engine. */
	readonly job: EngineJob | null;
}

export interface EngineJob {
	readonly id: string;
	/** Of the cluster's dashboard. */
	readonly address: string;
	/** How many jobs the run has had: more than one after the cluster lost it. */
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

/** What an engine that is at work waits for before it can continue. */
export interface EngineWait {
	readonly kind: 'device' | 'loading' | 'job' | 'cluster' | 'restart';
	/** As a state: "waiting for the device". */
	readonly words: string;
}

/**
 * What a run waits for that is at work; null: it computes, or waits for a person. While it waits the engine says so in the
 * device's place.
 */
export function engineWaitOf(record: Pick<AnyRunRecord, 'engine' | 'status' | 'device'>): EngineWait | null {
	const { engine, status, device } = record;
	if (/^(ray: )?waiting for /.test(device)) return { kind: 'device', words: 'waiting for the device' };
	if (engine === 'ray') {
		if (device.startsWith('ray (job pending')) return { kind: 'job', words: 'job pending on the cluster' };
		if (device.startsWith('ray (job ')) return { kind: 'loading', words: 'starting on the cluster' };
		if (device.startsWith('ray (cluster not reached')) return { kind: 'cluster', words: 'cluster not reached' };
		if (device.startsWith('ray (starts again')) return { kind: 'restart', words: 'starting again after a loss' };
		return status === 'starting' ? { kind: 'job', words: 'being submitted' } : null;
	}
	if (engine === 'pytorch' && status === 'starting') return { kind: 'loading', words: 'loading' };
	return null;
}
