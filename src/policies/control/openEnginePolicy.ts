import { basename } from 'node:path';
import * as v from 'valibot';
import { parseTokenizerJson } from '../../core/text/parseTokenizerJson.ts';
import type { Tokenizer } from '../../core/text/tokenizer.ts';
import { readJson } from '../../files/safeFile.ts';
import { checkpointFiles } from '../../protocol/checkpointState.ts';
import { decode } from '../../protocol/decode.ts';
import { connectRun } from '../../runs/runControl.ts';
import { stepOf } from '../../runs/runFiles.ts';
import { listCheckpoints, readRecord } from '../../runs/runReader.ts';
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
			raw: context.rawPrompts === true,
			context: await contextOf(folder),
			tokenizer: await tokenizerOf(folder),
			rows: rows.served,
			connect: async (signal) => {
				const lease = await leaseCheckpoint(folder, signal === undefined ? context : { ...context, signal });
				return { client: lease.served.client, lease };
			},
		},
		context.signal,
	);
}

/** The engine of a run that training now, with the weights that it has. Fails as `connectRun`. */
export async function openRunPolicy(run: string, context: PolicyContext): Promise<OpenPolicy> {
	const [record, template, checkpoints] = await Promise.all([
		readRecord(run),
		readPolicyTemplate(run),
		listCheckpoints(run),
	]);
	const newest = checkpoints.at(-1);
	return EnginePolicy.open(
		{
			name: `${template.run ?? record.name}, training`,
			model: basename(run),
			template,
			raw: context.rawPrompts === true,
			context: newest === undefined ? null : await contextOf(newest.path),
			tokenizer: newest === undefined ? null : await tokenizerOf(newest.path),
			rows: rows.training,
			connect: async () => {
				const client = await connectRun(run, record, context.client);
				return { client, lease: client };
			},
		},
		context.signal,
	);
}

const stateSchema = v.looseObject({ shape: v.looseObject({ context: v.number() }) });

/** The vocabulary of a checkpoint; null: it is that of another engine. */
async function tokenizerOf(checkpoint: string): Promise<Tokenizer | null> {
	try {
		return parseTokenizerJson(JSON.stringify(await readJson(checkpoint, checkpointFiles.tokenizer)));
	} catch {
		return null;
	}
}

/** Tokens of the context that a checkpoint's model has; null: it does not tell. */
async function contextOf(checkpoint: string): Promise<number | null> {
	const state = decode(stateSchema, await readJson(checkpoint, checkpointFiles.state).catch(() => null));
	return state.ok ? state.value.shape.context : null;
}
