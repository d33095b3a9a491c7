import { basename } from 'node:path';
import { connectRun } from '../../runs/runControl.ts';
import { stepOf } from '../../runs/runFiles.ts';
import { readRecord } from '../../runs/runReader.ts';
import type { OpenPolicy, PolicyContext } from '../openedPolicy.ts';
import { EnginePolicy } from './enginePolicy.ts';
import { readPolicyTemplate, runOfCheckpoint } from './policyTemplate.ts';
import { leaseCheckpoint } from './servedCheckpoints.ts';

/** Completions of one request: a served checkpoint does nothing else, an engine that trains waits until it is answered. */
const rows = { served: 1024, training: 256 } as const;

/** A checkpoint, served by an engine that is started for it where none serves it. Fails as `ServedCheckpoint.open`. */
export async function openCheckpointPolicy(folder: string, context: PolicyContext): Promise<OpenPolicy> {
	const run = runOfCheckpoint(folder);
	const template = run === null ? { run: null, template: null } : await readPolicyTemplate(run);
	const step = stepOf(basename(folder));
	const place = step === null ? basename(folder) : `step ${step}`;
	return EnginePolicy.open(
		{
			name: template.run === null ? place : `${template.run}, ${place}`,
			model: run === null ? basename(folder) : `${basename(run)}/${basename(folder)}`,
			template,
			rows: rows.served,
			connect: async (signal) => {
				const lease = await leaseCheckpoint(folder, signal === undefined ? context : { ...context, signal });
				return { client: lease.served.client, lease };
			},
		},
		context.signal,
	);
}

/** The engine of a run that trains now, with the weights that it has. Fails as `connectRun`. */
export async function openRunPolicy(run: string, context: PolicyContext): Promise<OpenPolicy> {
	const [record, template] = await Promise.all([readRecord(run), readPolicyTemplate(run)]);
	return EnginePolicy.open(
		{
			name: `${template.run ?? record.name}, training`,
			model: basename(run),
			template,
			rows: rows.training,
			connect: async () => {
				const client = await connectRun(run, record, context.client);
				return { client, lease: client };
			},
		},
		context.signal,
	);
}
