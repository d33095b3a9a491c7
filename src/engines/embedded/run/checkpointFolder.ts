import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseBoundedJson } from '../../../base/boundedJson.ts';
import { Failure } from '../../../base/failure.ts';
import { openRegular } from '../../../files/safeFile.ts';
import {
	type CheckpointState,
	checkpointFiles,
	checkpointFormat,
	checkpointStateSchema,
} from '../../../protocol/checkpointState.ts';
import { type HeadName, headNames } from '../../../protocol/control.ts';
import { decode } from '../../../protocol/decode.ts';
import { readManifest } from '../../../runs/checkpointFiles.ts';
import type { LearnerState, ParameterSpec } from '../learner.ts';
import type { BatchOrder } from './ahead/batchOrder.ts';
import { decodeSafetensors, encodeSafetensors, type NamedTensor } from './safetensors.ts';

export interface HeadContents {
	readonly parameters: readonly ParameterSpec[];
	readonly weights: ReadonlyMap<HeadName, Float32Array>;
	/** The head being trained, or null if there is none. */
	readonly training: { readonly name: HeadName; readonly state: LearnerState } | null;
}

export interface CheckpointContent {
	readonly state: Omit<CheckpointState, 'files' | 'format' | 'head' | 'ahead'>;
	readonly learner: LearnerState;
	readonly reference: Float32Array | null;
	/** Generation batches that a resumed run samples again. */
	readonly ahead: readonly BatchOrder[];
	readonly heads: HeadContents;
	/** Contents of tokenizer.json. */
	readonly tokenizer: string;
}

/** A checkpoint with verified files. Its tensors are still keyed by name, because their order depends on the model. */
export interface StoredCheckpoint {
	readonly folder: string;
	readonly state: CheckpointState;
	readonly model: ReadonlyMap<string, NamedTensor>;
	readonly optimizer: ReadonlyMap<string, NamedTensor>;
	readonly reference: ReadonlyMap<string, NamedTensor> | null;
	readonly ahead: ReadonlyMap<string, NamedTensor> | null;
	readonly heads: ReadonlyMap<HeadName, ReadonlyMap<string, NamedTensor>>;
	/** Optimizer state of the head being trained. */
	readonly headOptimizer: ReadonlyMap<string, NamedTensor> | null;
	readonly tokenizer: string;
}

const firstMoment = 'exp_avg.';
const secondMoment = 'exp_avg_sq.';

/** Splits a flat parameter vector into named tensor views. */
function split(flat: Float32Array, parameters: readonly ParameterSpec[], prefix = ''): NamedTensor[] {
	let offset = 0;
	return parameters.map(({ name, shape }) => {
		const size = shape.reduce((a, b) => a * b, 1);
		offset += size;
		return { name: prefix + name, shape, data: flat.subarray(offset - size, offset) };
	});
}

/** Returns the tensors of each version of the weights used to sample a batch. */
function versionsOf(ahead: readonly BatchOrder[], parameters: readonly ParameterSpec[]): NamedTensor[] {
	const versions = new Map(ahead.map(({ version, weights }) => [version, weights]));
	return [...versions].flatMap(([version, weights]) => split(weights, parameters, `${version}.`));
}

/** Writes checkpoint files to an empty folder. The caller syncs them to disk and renames the folder. */
export async function writeCheckpointFiles(
	folder: string,
	parameters: readonly ParameterSpec[],
	content: CheckpointContent,
): Promise<void> {
	const { learner, reference, ahead, tokenizer, heads } = content;
	const moments = ({ firstMoments, secondMoments }: LearnerState, specs: readonly ParameterSpec[]) =>
		encodeSafetensors([...split(firstMoments, specs, firstMoment), ...split(secondMoments, specs, secondMoment)]);
	const contents: Record<string, Buffer> = {
		// Hugging Face loaders expect "pt".
		[checkpointFiles.model]: encodeSafetensors(split(learner.parameters, parameters), { format: 'pt' }),
		[checkpointFiles.optimizer]: moments(learner, parameters),
		...(reference ? { [checkpointFiles.reference]: encodeSafetensors(split(reference, parameters)) } : {}),
		...(ahead.length > 0 ? { [checkpointFiles.ahead]: encodeSafetensors(versionsOf(ahead, parameters)) } : {}),
		...Object.fromEntries(
			[...heads.weights].map(([name, flat]) => [
				checkpointFiles[name],
				encodeSafetensors(split(flat, heads.parameters)),
			]),
		),
		...(heads.training ? { [checkpointFiles.headOptimizer]: moments(heads.training.state, heads.parameters) } : {}),
		[checkpointFiles.tokenizer]: Buffer.from(tokenizer),
	};
	const files: CheckpointState['files'] = {};
	try {
		for (const [name, bytes] of Object.entries(contents)) {
			await writeFile(join(folder, name), bytes);
			files[name] = { bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
		}
		const head = heads.training && { head: { name: heads.training.name, updates: heads.training.state.updates } };
		const orders = ahead.map(({ version, firstStep, temperature }) => ({ version, firstStep, temperature }));
		const state = {
			...{ format: checkpointFormat, ...content.state, ...head },
			...(orders.length > 0 ? { ahead: orders } : {}),
			files,
		};
		await writeFile(join(folder, checkpointFiles.state), `${JSON.stringify(state, null, '\t')}\n`);
	} catch (error) {
		throw Failure.from(error, `Cannot write the checkpoint for step ${content.state.step}`);
	}
}

function damaged(folder: string, why: string): Failure {
	return new Failure('corrupt', `The checkpoint ${folder} is damaged: ${why}.`, 'Use another checkpoint.');
}

const maxStateBytes = 16 * 1024 * 1024;
/** Maximum size of a tensor file, which is read into memory as a whole. */
const maxTensorBytes = 2 ** 31 - 1;

async function readWhole(folder: string, name: string, maxBytes: number): Promise<Buffer> {
	const handle = await openRegular(folder, name);
	try {
		const { size } = await handle.stat();
		if (size > maxBytes) throw damaged(folder, `${name} is too large for a checkpoint (${size} bytes)`);
		return await handle.readFile();
	} finally {
		await handle.close();
	}
}

/**
 * Reads state.json from a checkpoint folder. Throws `missing`, `corrupt` or `version`, or `unsupported` for checkpoints
 * of other engines.
 */
export async function readCheckpointState(folder: string): Promise<CheckpointState> {
	const text = await readWhole(folder, checkpointFiles.state, maxStateBytes).catch((error: unknown) => {
		if ((error as Failure).reason !== 'missing') throw error;
		throw new Failure(
			'missing',
			`${folder} is not a checkpoint of the embedded engine: it has no ${checkpointFiles.state}.`,
			'Select a folder such as <run>/checkpoints/step_000100.',
		);
	});
	let value: unknown;
	try {
		value = parseBoundedJson(text.toString('utf8'));
	} catch {
		throw damaged(folder, `${checkpointFiles.state} is not JSON`);
	}
	const { format, engine } = (value ?? {}) as { readonly format?: unknown; readonly engine?: unknown };
	if (engine === 'pytorch') {
		throw new Failure(
			'unsupported',
			`${folder} is a PyTorch engine checkpoint, but this feature requires an embedded engine checkpoint.`,
			'The folder is a Hugging Face model. Use a tool that supports this format.',
		);
	}
	if (typeof format === 'number' && format > checkpointFormat) {
		throw new Failure('version', `The checkpoint ${folder} uses the newer format ${format}.`, 'Update Reasoning Lab.');
	}
	const result = decode(checkpointStateSchema, value);
	if (!result.ok) {
		const fault = result.faults[0];
		throw damaged(folder, `${checkpointFiles.state} is not valid at ${fault?.path}: ${fault?.message}`);
	}
	return result.value;
}

/**
 * Reads a checkpoint and verifies the size and hash of each file against state.json. Throws `missing`, `corrupt` or
 * `version`.
 */
export async function readCheckpoint(folder: string): Promise<StoredCheckpoint> {
	const state = await readCheckpointState(folder);
	if ((await readManifest(folder)) === null) throw damaged(folder, 'files are missing or truncated');
	const read = async (name: string): Promise<Buffer> => {
		const expected = state.files[name];
		if (!expected) throw damaged(folder, `${checkpointFiles.state} does not list ${name}`);
		const bytes = await readWhole(folder, name, maxTensorBytes);
		if (bytes.length !== expected.bytes) {
			throw damaged(folder, `${name} is ${bytes.length} bytes instead of ${expected.bytes}`);
		}
		if (createHash('sha256').update(bytes).digest('hex') !== expected.sha256) {
			throw damaged(folder, `the content of ${name} does not match its hash`);
		}
		return bytes;
	};
	const tensors = async (name: string) => decodeSafetensors(await read(name), join(folder, name));
	const has = (name: string) => name in state.files;
	const heads = new Map<HeadName, ReadonlyMap<string, NamedTensor>>();
	for (const name of headNames) {
		if (has(checkpointFiles[name])) heads.set(name, await tensors(checkpointFiles[name]));
	}
	return {
		folder,
		state,
		model: await tensors(checkpointFiles.model),
		optimizer: await tensors(checkpointFiles.optimizer),
		reference: has(checkpointFiles.reference) ? await tensors(checkpointFiles.reference) : null,
		ahead: has(checkpointFiles.ahead) ? await tensors(checkpointFiles.ahead) : null,
		heads,
		headOptimizer: has(checkpointFiles.headOptimizer) ? await tensors(checkpointFiles.headOptimizer) : null,
		tokenizer: (await read(checkpointFiles.tokenizer)).toString('utf8'),
	};
}

function flatten(
	checkpoint: StoredCheckpoint,
	tensors: ReadonlyMap<string, NamedTensor>,
	parameters: readonly ParameterSpec[],
	prefix = '',
): Float32Array {
	const found = parameters.map(({ name, shape }) => {
		const tensor = tensors.get(prefix + name);
		if (!tensor || tensor.shape.join() !== shape.join()) {
			throw new Failure(
				'mismatch',
				`The checkpoint ${checkpoint.folder} belongs to a different model: it has no ${prefix}${name} with shape [${shape.join(', ')}].`,
				'Use a checkpoint from a run with the same model.',
			);
		}
		return tensor.data;
	});
	// Allocate memory only now, because a damaged or malicious checkpoint can declare more parameters than fit in memory.
	const flat = new Float32Array(found.reduce((n, data) => n + data.length, 0));
	let offset = 0;
	for (const data of found) {
		flat.set(data, offset);
		offset += data.length;
	}
	return flat;
}

/**
 * Returns the weights in a model's parameter order. Throws `mismatch` if the checkpoint belongs to a different model.
 */
export function storedParameters(checkpoint: StoredCheckpoint, parameters: readonly ParameterSpec[]): Float32Array {
	return flatten(checkpoint, checkpoint.model, parameters);
}

export function storedLearnerState(checkpoint: StoredCheckpoint, parameters: readonly ParameterSpec[]): LearnerState {
	return {
		parameters: storedParameters(checkpoint, parameters),
		firstMoments: flatten(checkpoint, checkpoint.optimizer, parameters, firstMoment),
		secondMoments: flatten(checkpoint, checkpoint.optimizer, parameters, secondMoment),
		updates: checkpoint.state.updates,
	};
}

export function storedReference(
	checkpoint: StoredCheckpoint,
	parameters: readonly ParameterSpec[],
): Float32Array | null {
	return checkpoint.reference === null ? null : flatten(checkpoint, checkpoint.reference, parameters);
}

/** Returns the generation batches that were in progress, in order. */
export function storedOrders(checkpoint: StoredCheckpoint, parameters: readonly ParameterSpec[]): BatchOrder[] {
	const { ahead, state } = checkpoint;
	if (state.ahead === undefined || state.ahead.length === 0) return [];
	if (ahead === null) throw damaged(checkpoint.folder, 'the weights of batches in progress are missing');
	const weights = new Map<number, Float32Array>();
	return state.ahead.map((order) => {
		const own = weights.get(order.version) ?? flatten(checkpoint, ahead, parameters, `${order.version}.`);
		weights.set(order.version, own);
		return { ...order, weights: own };
	});
}

/** Returns the weights of all heads in a checkpoint. */
export function storedHeads(
	checkpoint: StoredCheckpoint,
	parameters: readonly ParameterSpec[],
): Map<HeadName, Float32Array> {
	return new Map([...checkpoint.heads].map(([name, tensors]) => [name, flatten(checkpoint, tensors, parameters)]));
}

/** Returns the head that was being trained, along with its optimizer moments, or null if there was none. */
export function storedHeadTraining(
	checkpoint: StoredCheckpoint,
	parameters: readonly ParameterSpec[],
): { readonly name: HeadName; readonly state: LearnerState } | null {
	const { head } = checkpoint.state;
	if (head === undefined) return null;
	const { headOptimizer } = checkpoint;
	const weights = checkpoint.heads.get(head.name);
	if (headOptimizer === null || weights === undefined) {
		throw damaged(checkpoint.folder, `the ${head.name} head or its moments are missing`);
	}
	return {
		name: head.name,
		state: {
			parameters: flatten(checkpoint, weights, parameters),
			firstMoments: flatten(checkpoint, headOptimizer, parameters, firstMoment),
			secondMoments: flatten(checkpoint, headOptimizer, parameters, secondMoment),
			updates: head.updates,
		},
	};
}
