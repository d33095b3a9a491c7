import type { AnyRunRecord, EngineName, EngineWaitKind } from '../protocol/runRecord.ts';

/** Display names of engines. Other trainers' runs are labeled with the trainer's name. */
export const engineTitles: Readonly<Record<Exclude<EngineName, 'foreign'>, string>> = {
	embedded: 'Embedded',
	pytorch: 'PyTorch',
	ray: 'Ray',
};

/** Packages that most affect numerical results, in display order. Others are not shown. */
const shownNames = ['trl', 'torch', 'transformers', 'cuda', 'rocm'];

/**
 * Engine or trainer that trained a run, according to the run's record. The strings come from the run folder and must be
 * sanitized before display.
 */
export interface EngineFacts {
	readonly title: string;
	/** Package names and versions. */
	readonly versions: readonly (readonly [name: string, version: string])[];
	/** The ray engine's job. */
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
	const versions = [...shownNames, ...(record.engine === 'ray' ? ['ray'] : [])].flatMap((name) => {
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
	readonly kind: EngineWaitKind;
	/** Description of the state: "waiting for the device". */
	readonly words: string;
}

const waitWords: Readonly<Record<EngineWaitKind, string>> = {
	device: 'waiting for the device',
	loading: 'starting on the cluster',
	job: 'job pending on the cluster',
	cluster: 'cluster unreachable',
	restart: 'restarting after the job was lost',
};

/** Returns what an active run is waiting for, or null if it is computing or waiting for the user. */
export function engineWaitOf({
	engine,
	status,
	wait,
}: Pick<AnyRunRecord, 'engine' | 'status' | 'wait'>): EngineWait | null {
	if (wait !== undefined) return { kind: wait, words: waitWords[wait] };
	if (status !== 'starting') return null;
	if (engine === 'ray') return { kind: 'job', words: 'submitting the job' };
	return engine === 'pytorch' ? { kind: 'loading', words: 'loading' } : null;
}
