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

/**
 * Maximum number of completions per request. An engine that serves a checkpoint does nothing else, but an engine that
 * is training pauses until it has responded.
 */
const rows = { served: 1024, training: 256 } as const;

/**
 * Opens a checkpoint, starting an engine to serve it if none does. Fails with the same errors as
 * `ServedCheckpoint.open`.
 */
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

/** Opens the engine of a run that is training, with its current weights. Fails with the same errors as `connectRun`. */
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

/** Reads a checkpoint's vocabulary. Returns null if it belongs to a different engine. */
async function tokenizerOf(checkpoint: string): Promise<Tokenizer | null> {
	try {
		return parseTokenizerJson(JSON.stringify(await readJson(checkpoint, checkpointFiles.tokenizer)));
	} catch {
		return null;
	}
}

/** Reads the model's context length in tokens from a checkpoint. Returns null if it is not recorded. */
async function contextOf(checkpoint: string): Promise<number | null> {
	const state = decode(stateSchema, await readJson(checkpoint, checkpointFiles.state).catch(() => null));
	return state.ok ? state.value.shape.context : null;
}
