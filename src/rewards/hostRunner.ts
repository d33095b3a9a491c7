import { basename, dirname } from 'node:path';
import { checkAborted, Sequencer, unlessAborted } from '../base/async.ts';
import { Failure } from '../base/failure.ts';
import { formatCounted } from '../base/format.ts';
import { FileStamps } from '../files/fileStamps.ts';
import type { Schema } from '../protocol/decode.ts';
import {
	type LineCoverage,
	type LoadRequest,
	loadResultSchema,
	type RewardDescription,
	rewardHostMethods,
	type ScoreReply,
	type ScoreRequest,
	scoreReplySchema,
} from '../protocol/rewardHost.ts';
import type { ScoreError, ScoreRow } from '../protocol/scorer.ts';
import { HostEnd, type HostProcess } from './hostProcess.ts';
import type { HostLanguage } from './hostPrograms.ts';
import { isolateRows, type RowOutcome } from './isolatedRows.ts';
import { LoadFailure } from './loadFailure.ts';
import { missingColumns } from './missingColumns.ts';
import type { RewardLimits, RewardRunner, RewardSource, RunnerScore, ScoreOptions } from './rewardRunner.ts';

/** Provides host processes to a runner. */
export interface HostSupply {
	/** Returns an empty host. Fails with `missing` if the program does not exist. */
	take(language: HostLanguage, limits: RewardLimits): Promise<HostProcess>;
	/** Environment variables passed only to built-in rewards. */
	readonly secrets: Readonly<Record<string, string>>;
	/** Whether to check for changed files before each use. */
	readonly reloadOnChange: boolean;
	/** Whether to load files so that coverage can be measured at any time. */
	readonly coverage: boolean;
	released(runner: HostRunner): void;
}

interface LoadedHost {
	readonly process: HostProcess;
	readonly rewards: readonly RewardDescription[];
	readonly files: readonly string[];
	readonly stamps: FileStamps;
	readonly coverage: boolean;
	/** Whether a file changed while it was being loaded, so the loaded version is unknown. */
	readonly torn: boolean;
	/** Rows that built-in rewards last scored; null if none. */
	rows: readonly ScoreRow[] | null;
	/** Number of active requests. */
	busy: number;
	/** Whether another host has replaced this one. A retired host ends after its current request. */
	retired: boolean;
}

const maxLogLines = 2000;

/** Implements {@link RewardRunner} for a single source, in one process at a time. */
export class HostRunner implements RewardRunner {
	readonly source: RewardSource;
	readonly language: HostLanguage;
	readonly #limits: RewardLimits;
	readonly #supply: HostSupply;
	readonly #turns = new Sequencer();
	readonly #gone = new AbortController();
	#current: Promise<LoadedHost> | null = null;
	#stale = false;
	#coverage: boolean;
	#files: readonly string[] = [];
	#loadLogs: readonly string[] = [];

	constructor(source: RewardSource, limits: RewardLimits, supply: HostSupply) {
		this.source = source;
		this.language = languageOf(source);
		this.#limits = limits;
		this.#supply = supply;
		this.#coverage = supply.coverage && 'file' in source;
	}

	get files(): readonly string[] {
		return this.#files;
	}

	async describe(signal?: AbortSignal): Promise<readonly RewardDescription[]> {
		return (await this.#loaded(signal)).rewards;
	}

	score(reward: string, rows: readonly ScoreRow[], options: ScoreOptions = {}): Promise<RunnerScore> {
		return unlessAborted(
			this.#turns.queue(async () => {
				checkAborted(options.signal);
				return await this.#score(reward, rows, options);
			}),
			options.signal,
		);
	}

	reload(): void {
		this.#stale = true;
	}

	dispose(): void {
		if (this.#gone.signal.aborted) return;
		this.#gone.abort();
		void this.#current?.then(
			({ process }) => process.kill(new HostEnd('exited', 'The runner was disposed')),
			() => undefined,
		);
		this.#supply.released(this);
	}

	async #score(name: string, rows: readonly ScoreRow[], options: ScoreOptions): Promise<RunnerScore> {
		// Built-in rewards have no user code to measure.
		if (options.coverage && 'file' in this.source) this.#coverage = true;
		const host = await this.#loaded(options.signal);
		const reward = host.rewards.find((one) => one.name === name);
		if (reward === undefined) {
			throw new Failure(
				'missing',
				`${sourceName(this.source)} has no reward "${name}". Available: ${host.rewards.map((one) => one.name).join(', ')}.`,
				'Fix the reward name.',
			);
		}
		if (rows.length === 0) return { values: [], errors: [], logs: this.#logsOf([]), durationMs: 0 };
		const lacking = missingColumns(reward, rows);
		if (lacking !== null) return failed(rows.length, { index: -1, kind: 'invalid', message: lacking });
		const timeoutMs = options.timeoutMs ?? this.#limits.batchMs;
		const start = performance.now();
		try {
			const reply = await this.#ask(host, name, rows, timeoutMs, options);
			const fault = reply.errors.find(({ index }) => index === -1);
			// An invalid return value applies to the whole batch, but any other error can be caused by a single row.
			const retry = fault !== undefined && fault.kind !== 'invalid' && !reward.batchOnly && rows.length > 1;
			if (!retry) return { ...reply, logs: this.#logsOf(reply.logs), errors: ofSingleRow(reply.errors, rows.length) };
			// Memory that a failed batch has allocated may never be released.
			if (fault.kind === 'memory') void host.process.kill(new HostEnd('memory', fault.message));
			return await this.#oneByOne(name, rows, options, { ...fault, logs: reply.logs }, start);
		} catch (error) {
			if (!(error instanceof HostEnd)) throw error;
			const logs = host.process.log.take();
			const fault = { kind: error.kind, message: error.message, ...error.place, logs };
			if (!reward.batchOnly && rows.length > 1) return await this.#oneByOne(name, rows, options, fault, start);
			const { logs: _, ...rest } = fault;
			return {
				...failed(rows.length, { index: rows.length === 1 ? 0 : -1, ...rest }),
				logs: this.#logsOf(logs),
				durationMs: performance.now() - start,
			};
		}
	}

	async #oneByOne(
		name: string,
		rows: readonly ScoreRow[],
		options: ScoreOptions,
		fault: Omit<ScoreError, 'index'> & { readonly logs: readonly string[] },
		start: number,
	): Promise<RunnerScore> {
		const logs = [...fault.logs];
		const lines = new Set<number>();
		const reached = new Set<number>();
		let measured = false;
		const tryRow = async (index: number): Promise<RowOutcome> => {
			const host = await this.#loaded(options.signal);
			try {
				const reply = await this.#ask(host, name, [rows[index] as ScoreRow], this.#limits.rowMs, options);
				if (logs.length < maxLogLines) logs.push(...reply.logs);
				if (reply.coverage) {
					measured = true;
					for (const line of reply.coverage.lines) lines.add(line);
					for (const line of reply.coverage.reached) reached.add(line);
				}
				return { value: reply.values[0] ?? null, errors: reply.errors, killed: false };
			} catch (error) {
				if (!(error instanceof HostEnd)) throw error;
				if (logs.length < maxLogLines) logs.push(...host.process.log.take());
				const { kind, message, place } = error;
				return { value: null, errors: [{ kind, message, ...place }], killed: true };
			}
		};
		const deadline = performance.now() + (options.timeoutMs ?? this.#limits.batchMs) + 5 * this.#limits.rowMs;
		const { values, errors } = await isolateRows(rows.length, fault, deadline, tryRow);
		const coverage: LineCoverage | undefined = measured
			? { lines: [...lines].sort(ascending), reached: [...reached].sort(ascending) }
			: undefined;
		return {
			values,
			errors,
			logs: this.#logsOf([...logs, `The batch failed (${fault.message}), so its rows were scored one by one.`]),
			durationMs: performance.now() - start,
			isolated: true,
			...(coverage === undefined ? {} : { coverage }),
		};
	}

	async #ask(
		host: LoadedHost,
		reward: string,
		rows: readonly ScoreRow[],
		timeoutMs: number,
		options: ScoreOptions,
	): Promise<ScoreReply> {
		const isKnown = host.rows === rows;
		// Until the host answers, it is unknown whether it has received the rows.
		host.rows = null;
		const request: ScoreRequest = {
			reward,
			// Built-in rewards do not modify rows, so a batch's rows are sent only once.
			rows: isKnown ? null : (rows as unknown as ScoreRequest['rows']),
			timeoutMs,
			coverage: options.coverage ?? false,
			...(options.step === undefined ? {} : { step: options.step }),
		};
		host.busy++;
		let reply: ScoreReply;
		try {
			reply = await host.process.request(
				rewardHostMethods.score,
				request,
				scoreReplySchema as unknown as Schema<ScoreReply>,
				{ timeoutMs, signal: options.signal, file: fileOf(this.source) },
			);
			if ('builtIns' in this.source) host.rows = rows;
		} catch (error) {
			if (this.#gone.signal.aborted) throw new Failure('cancelled', 'The rewards have been closed.');
			throw error;
		} finally {
			host.busy--;
			this.#endRetired(host);
		}
		if (reply.values.length !== rows.length) {
			throw new Failure(
				'internal',
				`The reward host returned ${reply.values.length} values for ${formatCounted(rows.length, 'row')}.`,
			);
		}
		return { ...reply, logs: [...host.process.log.take(), ...reply.logs] };
	}

	#endRetired({ process, busy, retired }: LoadedHost): void {
		if (retired && busy === 0) void process.kill(new HostEnd('exited', 'The reward was reloaded'));
	}

	#logsOf(lines: readonly string[]): string[] {
		const all = [...this.#loadLogs, ...lines];
		this.#loadLogs = [];
		return all.length <= maxLogLines
			? all
			: [...all.slice(0, maxLogLines), `(${all.length - maxLogLines} lines omitted)`];
	}

	/**
	 * Returns the current host with its rewards loaded. Replaces a host that is gone, outdated or unable to make the
	 * requested measurements.
	 */
	async #loaded(signal: AbortSignal | undefined): Promise<LoadedHost> {
		checkAborted(signal);
		const before = this.#current;
		if (before !== null) {
			const host = await unlessAborted(before, signal).catch((error: unknown) => {
				if (this.#current !== before || signal?.aborted) throw error;
				return null;
			});
			if (this.#current !== before) return await this.#loaded(signal);
			if (host !== null) {
				if (await this.#usable(host)) return host;
				if (this.#current !== before) return await this.#loaded(signal);
				host.retired = true;
				this.#endRetired(host);
			}
		}
		this.#stale = false;
		const next = this.#load();
		this.#current = next;
		next.catch(() => {
			if (this.#current === next) this.#current = null;
		});
		return await unlessAborted(next, signal);
	}

	async #usable(host: LoadedHost): Promise<boolean> {
		if (!host.process.alive || this.#stale || host.torn) return false;
		if (this.#coverage && !host.coverage) return false;
		return !this.#supply.reloadOnChange || (await host.stamps.hold());
	}

	async #load(): Promise<LoadedHost> {
		if (this.#gone.signal.aborted) throw new Failure('cancelled', 'The rewards have been closed.');
		const { source } = this;
		const file = fileOf(source);
		const known = [...new Set([...('file' in source ? [source.file] : []), ...this.#files])];
		const before = await FileStamps.of(known);
		const process = await this.#supply.take(this.language, this.#limits);
		const coverage = this.#coverage;
		const request: LoadRequest = {
			file: 'file' in source ? source.file : null,
			builtIns: 'file' in source ? [] : [...source.builtIns],
			context: { ...source.context, folder: source.context.folder || ('file' in source ? dirname(source.file) : '') },
			coverage,
			memoryMb: this.#limits.memoryMb,
			...('file' in source ? {} : { environment: this.#supply.secrets }),
		};
		try {
			const result = await process.request(
				rewardHostMethods.load,
				request,
				loadResultSchema as unknown as Schema<LoadRequestResult>,
				{ timeoutMs: this.#limits.loadMs, signal: this.#gone.signal, file },
			);
			const stamps = await FileStamps.of(result.files);
			this.#files = result.files;
			this.#loadLogs = [...process.log.take(), ...result.logs];
			const { rewards, files } = result;
			return {
				process,
				rewards,
				files,
				stamps,
				coverage,
				torn: stamps.differsFrom(before),
				rows: null,
				busy: 0,
				retired: false,
			};
		} catch (error) {
			const words = process.log.peek();
			void process.kill(new HostEnd('exited', 'The reward could not be loaded'));
			throw error instanceof HostEnd ? this.#loadFailureOf(error, words) : error;
		}
	}

	#loadFailureOf(end: HostEnd, words: string): Failure {
		const name = sourceName(this.source);
		if (end.kind === 'load') {
			const [needed, setting] =
				this.language === 'python'
					? ['Python 3.10 or newer', 'reasoningLab.rewards.python']
					: ['Node 22.18 or newer', 'reasoningLab.node.path'];
			return new Failure(
				'unavailable',
				`${name} needs ${needed}: ${end.message.replace(/[.]?$/, '.')}`,
				`Install it, or set ${setting} to its path.`,
			);
		}
		if (end.kind === 'timeout') {
			return new Failure(
				'timeout',
				`Loading ${name} took longer than ${this.#limits.loadMs / 1000} s${end.place.line === undefined ? '' : ` (line ${end.place.line})`}.`,
				'Do less work at load time, or increase the time limit.',
			);
		}
		const said = words.trim().split('\n').slice(-3).join(' ');
		const message = `${end.message}${said === '' ? '' : `: ${said}`}`;
		const file = fileOf(this.source);
		if (file === null) return new Failure('internal', `Cannot load ${name}: ${message}.`);
		return new LoadFailure({ reason: 'invalid', message, ...end.place }, file);
	}
}

type LoadRequestResult = {
	rewards: RewardDescription[];
	files: string[];
	logs: string[];
	durationMs: number;
};

const ascending = (a: number, b: number) => a - b;

function languageOf(source: RewardSource): HostLanguage {
	return 'file' in source && source.file.endsWith('.py') ? 'python' : 'node';
}

function fileOf(source: RewardSource): string | null {
	return 'file' in source ? source.file : null;
}

function sourceName(source: RewardSource): string {
	return 'file' in source ? basename(source.file) : 'The built-in rewards';
}

function failed(count: number, error: ScoreError): RunnerScore {
	return { values: new Array<null>(count).fill(null), errors: [error], logs: [], durationMs: 0 };
}

/** For a batch of one row, converts a batch error to a row error. */
function ofSingleRow(errors: readonly ScoreError[], count: number): readonly ScoreError[] {
	return count === 1 ? errors.map((error) => (error.index === -1 ? { ...error, index: 0 } : error)) : errors;
}
