import { stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import type { Tokenizer } from '@huggingface/tokenizers';
import type * as Ort from 'onnxruntime-node';
import { Failure } from '../base/failure.ts';
import type { RewardEntry } from '../protocol/recipeKeys/builtInRewards.ts';
import type { StepScorer } from './builtIn/stepServer.ts';
import { checkOnnxFile } from './onnxFile.ts';
import { readTokenizer } from './tokenizerFile.ts';

/** Only this file loads onnxruntime-node in a reward host, and only for the `process` reward. */

/**
 * Imports the runtime relative to this file. If that fails, imports it from the folder where the programs were
 * installed, because a host can run from a copy elsewhere.
 */
async function importRuntime(): Promise<typeof Ort> {
	let module: typeof Ort & { default?: typeof Ort };
	try {
		module = await import('onnxruntime-node');
	} catch (error) {
		const programs = process.env.REASONING_LAB_PROGRAMS;
		if (programs === undefined || (error as { code?: unknown }).code !== 'ERR_MODULE_NOT_FOUND') throw error;
		module = createRequire(join(programs, 'rewardHost.js'))('onnxruntime-node') as typeof Ort;
	}
	return module.default ?? module;
}

/**
 * Loads the runtime with telemetry disabled, as the engine does. Telemetry must be disabled before the library is
 * loaded.
 */
async function loadRuntime(): Promise<typeof Ort> {
	process.env.ORT_DISABLE_TELEMETRY = '1';
	try {
		const ort = await importRuntime();
		ort.env.logLevel = 'fatal';
		return ort;
	} catch (cause) {
		throw new Failure(
			'unavailable',
			`Cannot load onnxruntime-node for ${process.platform} ${process.arch}.`,
			'Reinstall the package, or set a "url" for the "process" reward.',
			{ cause },
		);
	}
}

/** Inputs that are the same for every sequence. The model must not require any others. */
const plainInputs: Readonly<Record<string, (i: number) => number>> = {
	attention_mask: () => 1,
	token_type_ids: () => 0,
	position_ids: (i) => i,
};

/**
 * A process reward model in an ONNX file. Its input is the problem, a line break, and the steps, each followed by the
 * separator. The score of a step is the model's output at the last token of its separator: [1, tokens], [1, tokens, 1]
 * or [1, tokens, classes], where the last class is the positive one.
 */
export class OnnxModel implements StepScorer {
	readonly #entry: RewardEntry<'process'>;
	readonly #ort: typeof Ort;
	readonly #session: Ort.InferenceSession;
	readonly #tokenizer: Tokenizer;
	readonly #what: string;

	private constructor(
		entry: RewardEntry<'process'>,
		ort: typeof Ort,
		session: Ort.InferenceSession,
		tokenizer: Tokenizer,
		what: string,
	) {
		this.#entry = entry;
		this.#ort = ort;
		this.#session = session;
		this.#tokenizer = tokenizer;
		this.#what = what;
	}

	/** @throws `missing`, `invalid`, `unavailable` */
	static async load(entry: RewardEntry<'process'>): Promise<OnnxModel> {
		const file = await modelFile(entry.model as string);
		const { Tokenizer } = await import('@huggingface/tokenizers');
		const tokenizer = await readTokenizer(
			entry.tokenizer ?? join(dirname(file), 'tokenizer.json'),
			(value) => new Tokenizer(value, {}),
		);
		await checkOnnxFile(file);
		const ort = await loadRuntime();
		let session: Ort.InferenceSession;
		try {
			session = await ort.InferenceSession.create(file, { logSeverityLevel: 3, interOpNumThreads: 1 });
		} catch (cause) {
			throw new Failure('invalid', `Cannot load ${file}: ${(cause as Error).message}.`, 'Export the model again.', {
				cause,
			});
		}
		const strange = session.inputNames.filter((name) => name !== 'input_ids' && !Object.hasOwn(plainInputs, name));
		if (!session.inputNames.includes('input_ids') || strange.length > 0) {
			throw new Failure(
				'invalid',
				`${file} requires inputs other than "input_ids": its inputs are ${session.inputNames.join(', ')}.`,
				'Export the model as a token classifier without a cache.',
			);
		}
		return new OnnxModel(entry, ort, session, tokenizer, basename(file));
	}

	async score(question: string, steps: readonly string[]): Promise<readonly number[]> {
		const { separator, maxTokens } = this.#entry;
		const ids = this.#encode(`${question}\n`, true);
		const places: number[] = [];
		for (const step of steps) {
			ids.push(...this.#encode(`${step}${separator}`, false));
			places.push(ids.length - 1);
			if (ids.length <= maxTokens) continue;
			throw new Failure(
				'invalid',
				`The thinking section exceeds ${maxTokens} tokens, the limit for model ${this.#what}.`,
				'Increase "maxTokens" if the model supports it.',
			);
		}
		const { data, classes } = await this.#run(ids);
		return places.map((place) => this.#scoreAt(data, place, classes));
	}

	#encode(text: string, first: boolean): number[] {
		const ids = this.#tokenizer.encode(text, { add_special_tokens: first }).ids as (number | undefined)[];
		if (ids.length > 0 && ids.every((id) => Number.isInteger(id))) return ids as number[];
		throw new Failure('invalid', `The tokenizer for ${this.#what} does not support every character in the text.`);
	}

	async #run(ids: readonly number[]): Promise<{ data: Float32Array; classes: number }> {
		const { Tensor } = this.#ort;
		const tensor = (value: (i: number) => number) =>
			new Tensor(
				'int64',
				BigInt64Array.from(ids, (_, i) => BigInt(value(i))),
				[1, ids.length],
			);
		const feeds: Record<string, Ort.Tensor> = {};
		for (const name of this.#session.inputNames) {
			feeds[name] = tensor(name === 'input_ids' ? (i) => ids[i] as number : (plainInputs[name] as () => number));
		}
		const results = await this.#session.run(feeds);
		const output = results[this.#session.outputNames[0] as string];
		const [rows, tokens, classes = 1] = output?.dims ?? [];
		if (output?.type !== 'float32' || rows !== 1 || tokens !== ids.length) {
			throw new Failure(
				'invalid',
				`${this.#what} returns ${output?.type} [${output?.dims.join(', ')}] instead of float32 [1, ${ids.length}, classes].`,
				'Export the model as a token classifier.',
			);
		}
		return { data: output.data as Float32Array, classes };
	}

	#scoreAt(data: Float32Array, place: number, classes: number): number {
		const logits = [...data.subarray(place * classes, (place + 1) * classes)];
		const last = logits.at(-1) as number;
		switch (this.#entry.activation) {
			case 'none':
				return last;
			case 'sigmoid':
				return 1 / (1 + Math.exp(-last));
			case 'softmax': {
				const max = Math.max(...logits);
				const sum = logits.reduce((total, logit) => total + Math.exp(logit - max), 0);
				return Math.exp(last - max) / sum;
			}
		}
	}

	dispose(): void {
		void this.#session.release();
	}
}

/** Returns the ONNX file at a path: the path itself, or model.onnx in a folder. */
async function modelFile(path: string): Promise<string> {
	const found = await stat(path).catch((error: unknown) => {
		throw Failure.from(error, `Cannot read the model ${path}`);
	});
	return found.isDirectory() ? join(path, 'model.onnx') : path;
}
