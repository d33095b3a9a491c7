import { dirname } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Failure } from '../../base/failure.ts';
import {
	type LoadFailureData,
	type LoadRequest,
	type LoadResult,
	loadFailureSchema,
	type ScoreReply,
	type ScoreRequest,
} from '../../protocol/rewardHost.ts';
import type { ScoreError, ScoreRow } from '../../protocol/scorer.ts';
import type { BuiltIn } from '../builtInReward.ts';
import { type BuiltInEntry, createBuiltIn, type RewardSample } from '../builtIns.ts';
import type { Capture } from './capture.ts';
import { LoadFault } from './importFile.ts';
import { CoverageMeter } from './lineCoverage.ts';
import type { LoadedReward } from './loadedReward.ts';
import { loadRewardFile } from './loadRewardFile.ts';
import type { LocalImports } from './localImports.ts';
import { sampleOf } from './sample.ts';
import { RowScorer } from './scoreRows.ts';
import { describeThrown } from './userFrames.ts';

/** Loads this process's rewards once, then scores batches with them. */
export class RewardServer {
	readonly #capture: Capture;
	readonly #imports: LocalImports;
	/** Folder that contains this program. */
	readonly #own: string;
	#rewards = new Map<string, LoadedReward>();
	#request: LoadRequest | null = null;
	#meter: CoverageMeter | null = null;
	/** Samples from the last request, kept if the rewards do not modify them. */
	#samples: readonly RewardSample[] | null = null;

	constructor(capture: Capture, imports: LocalImports, own: string) {
		this.#capture = capture;
		this.#imports = imports;
		this.#own = own;
	}

	/** @throws LoadFault */
	async load(request: LoadRequest): Promise<LoadResult> {
		if (this.#request !== null)
			throw new LoadFault({ reason: 'internal', message: 'This host has already loaded a file' });
		this.#request = request;
		const start = performance.now();
		Object.assign(process.env, request.environment);
		const { file } = request;
		const folder = request.context.folder === '' ? dirname(file ?? '.') : request.context.folder;
		try {
			process.chdir(folder);
		} catch {
			throw new LoadFault({ reason: 'missing', message: `Cannot use folder ${folder}` });
		}
		let rewards: LoadedReward[];
		if (file === null) rewards = await this.#builtIns(request);
		else {
			if (request.coverage) {
				this.#meter = new CoverageMeter();
				this.#meter.start();
			}
			this.#imports.install();
			rewards = await loadRewardFile(file, this.#imports, this.#own);
		}
		this.#rewards = new Map(rewards.map((reward) => [reward.description.name, reward]));
		const local = this.#imports.files.filter((path) => path !== file);
		return {
			rewards: rewards.map(({ description }) => description),
			files: file === null ? [] : [file, ...local],
			logs: this.#capture.next(),
			durationMs: performance.now() - start,
		};
	}

	async #builtIns(request: LoadRequest): Promise<LoadedReward[]> {
		const rewards: LoadedReward[] = [];
		for (const entry of request.builtIns) {
			const builtIn = await createBuiltIn(entry as BuiltInEntry, request.context).catch((error: unknown) => {
				throw new LoadFault(loadFailureOf(error));
			});
			const { name } = entry;
			rewards.push({
				description: { name, parameters: [], required: [], batchOnly: false, location: null },
				...formOf(builtIn),
				concurrency: builtIn.concurrency ?? 8,
			});
		}
		return rewards;
	}

	/** Scores a batch. Rejects only if `signal` is aborted or the reward does not exist. */
	async score(request: ScoreRequest, signal: AbortSignal): Promise<ScoreReply> {
		const reward = this.#rewards.get(request.reward);
		if (reward === undefined || this.#request === null) {
			throw new LoadFault({ reason: 'missing', message: `Reward "${request.reward}" does not exist` });
		}
		const { file, context } = this.#request;
		this.#capture.takeUncaught();
		const rows = request.rows as Partial<ScoreRow>[] | null;
		const samples = rows?.map((row) => sampleOf(row, context.tags)) ?? this.#samples;
		if (samples === null) throw new LoadFault({ reason: 'internal', message: 'No rows were sent previously' });
		if (file === null) this.#samples = samples;
		if (request.coverage) this.#meter?.reset();
		const start = performance.now();
		const scorer = new RowScorer(reward, file, this.#own, signal);
		const { values, errors } = await scorer.score(samples);
		const durationMs = performance.now() - start;
		// Unhandled rejections are reported at the end of the current turn.
		await nextTurn();
		const coverage = request.coverage && file !== null ? this.#meter?.take(file) : undefined;
		return {
			values,
			errors: [...errors, ...this.#uncaught(file)],
			logs: this.#capture.next(),
			durationMs,
			...(coverage === undefined ? {} : { coverage }),
		};
	}

	/** Returns errors thrown outside calls, for example in a timer. They cannot be attributed to a row. */
	#uncaught(file: string | null): ScoreError[] {
		return this.#capture.takeUncaught().map((error) => ({
			index: -1,
			kind: 'threw',
			...describeThrown(error, file, this.#own),
		}));
	}
}

function formOf(builtIn: BuiltIn): Pick<LoadedReward, 'form' | 'call'> {
	const { scoreAll } = builtIn;
	return scoreAll === undefined
		? { form: 'row', call: (sample, signal) => builtIn.score(sample as RewardSample, signal) }
		: { form: 'batch', call: (samples, signal) => scoreAll.call(builtIn, samples as readonly RewardSample[], signal) };
}

/** Explains why a built-in reward could not be created. */
function loadFailureOf(error: unknown): LoadFailureData {
	const { reason, message, action } = Failure.from(error);
	const { reason: reasons } = loadFailureSchema.entries;
	const known = reasons.options.find((one) => one === reason) ?? 'internal';
	return { reason: known, message, ...(action === undefined ? {} : { action }) };
}
