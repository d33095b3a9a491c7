import { dirname } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { formatCount } from '../../../base/format.ts';
import { Random } from '../../../base/random.ts';
import type {
	CallReply,
	CallRequest,
	EnvironmentLoadRequest,
	EnvironmentLoadResult,
	InstanceRequest,
	PlayReply,
	PlayRequest,
	ResetReply,
	ResetRequest,
	RewardReply,
} from '../../../protocol/environmentHost.ts';
import { type Capture, ExitCalled } from '../capture.ts';
import { LoadFault } from '../importFile.ts';
import type { LocalImports } from '../localImports.ts';
import { checkValue, nameOf } from '../rewardValue.ts';
import { describeThrown } from '../userFrames.ts';
import { type EnvironmentFile, type Instance, loadEnvironmentFile } from './environmentFile.ts';
import { SharedBuiltIns } from './sharedBuiltIns.ts';
import { summarizeState } from './stateSummary.ts';
import { callAll, isPromise } from './toolCalls.ts';
import { earnedSince, turnRewardCount } from './turnRewards.ts';

/**
 * Maximum length of an observation, in characters. A trainer would drop longer ones, because they exceed any context.
 */
const maxObservation = 1 << 20;
/** Length that an overlong result is truncated to. */
const cutLength = 2000;

type HostError = NonNullable<ResetReply['error']>;
type Outcome = Partial<ResetReply & CallReply & RewardReply>;

/**
 * Loads this process's environment once, then runs episodes with instances of it. The counterpart of
 * python/_reward_host/environments.py, with the same replies.
 */
export class EnvironmentServer {
	readonly #capture: Capture;
	readonly #imports: LocalImports;
	/** Folder that contains this program. */
	readonly #own: string;
	readonly #instances = new Map<number, Instance>();
	#file = '';
	#loaded: EnvironmentFile | null = null;
	#builtIns: SharedBuiltIns | null = null;
	/** Instance created to inspect the class, kept until its first use. As in TRL, it is the first one used. */
	#probe: Instance | null = null;

	constructor(capture: Capture, imports: LocalImports, own: string) {
		this.#capture = capture;
		this.#imports = imports;
		this.#own = own;
	}

	/** @throws LoadFault */
	async load({ file, seed }: EnvironmentLoadRequest): Promise<EnvironmentLoadResult> {
		if (this.#file !== '') throw new LoadFault({ reason: 'internal', message: 'This host has already loaded a file' });
		const start = performance.now();
		this.#file = file;
		try {
			process.chdir(dirname(file));
		} catch {
			throw new LoadFault({ reason: 'missing', message: `Cannot use folder ${dirname(file)}` });
		}
		seedRandom(seed);
		this.#imports.install();
		this.#loaded = await loadEnvironmentFile(file, this.#imports, this.#own);
		this.#probe = this.#loaded.probe;
		this.#builtIns = new SharedBuiltIns();
		return {
			environment: this.#loaded.description,
			files: [file, ...this.#imports.files.filter((path) => path !== file)],
			logs: this.#capture.next(),
			durationMs: performance.now() - start,
		};
	}

	/** Starts an episode in an instance, which is created on first use and then reused. */
	async reset(request: ResetRequest): Promise<ResetReply> {
		return await this.#settled(await this.#reset(request));
	}

	/** Runs one turn's tool calls, in order. */
	async call(request: CallRequest): Promise<CallReply> {
		return await this.#settled(await this.#call(request));
	}

	async reward(request: InstanceRequest): Promise<RewardReply> {
		return await this.#settled(await this.#reward(request));
	}

	/** Plays a whole episode whose calls are known in advance. Ends early if user code fails. */
	async play({ instance, state, row, calls, ownsReward }: PlayRequest): Promise<PlayReply> {
		const reset = await this.#reset({ instance, state, row });
		const turns: CallReply[] = [];
		let last: Pick<ResetReply, 'error'> = reset;
		for (const one of calls) {
			if (last.error !== undefined) break;
			last = await this.#call({ instance, state, calls: one });
			turns.push(last as CallReply);
		}
		const reward = ownsReward && last.error === undefined ? await this.#reward({ instance, state }) : null;
		const end = (reward ?? turns.at(-1) ?? reset) as { error?: HostError };
		Object.assign(end, await this.#settled(end));
		return { reset, turns, reward };
	}

	/** Removes an instance. */
	end({ instance }: InstanceRequest): object {
		this.#instances.delete(instance);
		return {};
	}

	#reset({ instance, state, row, seed }: ResetRequest): Promise<ResetReply> {
		return this.#reply(instance, state, async (): Promise<Outcome> => {
			const started = this.#instances.get(instance) ?? this.#probe ?? new this.#environment.kind();
			this.#probe = null;
			this.#instances.set(instance, started);
			if (seed !== undefined) seedRandom(seed);
			const returned = started.reset(row);
			const observation = (isPromise(returned) ? await returned : returned) ?? null;
			if (observation !== null && typeof observation !== 'string') {
				const what = typeof observation === 'number' ? `the number ${observation}` : nameOf(observation);
				return { error: invalid(`reset returned ${what} instead of a string or null`) };
			}
			const fault = tooLong('reset', observation);
			return fault === null ? { observation } : { error: fault };
		});
	}

	#call({ instance, state, calls }: CallRequest): Promise<CallReply> {
		return this.#reply(instance, state, async () => {
			const found = this.#instance(instance);
			const before = turnRewardCount(found);
			const results = [];
			let fault: HostError | null = null;
			for (const result of await callAll(this.#environment, found, calls, { file: this.#file, own: this.#own })) {
				fault ??= tooLong(result.name, result.content);
				results.push(fault === null ? result : { ...result, content: result.content.slice(0, cutLength) });
			}
			const earned = earnedSince(found, before);
			if ('fault' in earned) fault ??= invalid(earned.fault);
			return {
				results,
				...('value' in earned && earned.value !== null ? { reward: earned.value } : {}),
				...(fault === null ? {} : { error: fault }),
			};
		});
	}

	#reward({ instance, state }: InstanceRequest): Promise<RewardReply> {
		return this.#reply(instance, state, async () => {
			const { getReward } = this.#instance(instance) as { getReward?: unknown };
			const returned: unknown = (getReward as () => unknown).call(this.#instance(instance));
			const checked = checkValue(isPromise(returned) ? await returned : returned, 'getReward returned');
			return 'value' in checked ? { value: checked.value } : { value: null, error: invalid(checked.fault) };
		});
	}

	get #environment(): EnvironmentFile {
		if (this.#loaded === null) throw new LoadFault({ reason: 'internal', message: 'No file has been loaded' });
		return this.#loaded;
	}

	#instance(number: number): Instance {
		const found = this.#instances.get(number);
		if (found === undefined) throw new Error(`Instance ${number} has not been reset`);
		return found;
	}

	/** Runs user code. Whatever it throws becomes an error in the reply. */
	async #reply<T extends Outcome>(number: number, state: boolean | undefined, work: () => Promise<T>) {
		const start = performance.now();
		let outcome: Outcome;
		try {
			outcome = await work();
		} catch (error) {
			outcome = { error: this.#thrown(error) };
		}
		const durationMs = performance.now() - start;
		const changed = this.#builtIns?.restore() ?? null;
		if (changed !== null && outcome.error === undefined) {
			outcome = { ...outcome, error: invalid(`${changed} was changed, but all instances share it`) };
		}
		const instance = this.#instances.get(number);
		const logs = this.#capture.next();
		return {
			...outcome,
			done: doneOf(instance),
			durationMs,
			...(logs.length === 0 ? {} : { logs }),
			...(state && instance !== undefined ? { state: summarizeState(instance) } : {}),
		};
	}

	/** Adds an error that user code threw outside of calls, for example in a timer. */
	async #settled<T extends { readonly error?: HostError }>(reply: T): Promise<T> {
		// Unhandled rejections are reported at the end of the current turn.
		await nextTurn();
		const [uncaught] = this.#capture.takeUncaught();
		return uncaught === undefined || reply.error !== undefined ? reply : { ...reply, error: this.#thrown(uncaught) };
	}

	#thrown(error: unknown): HostError {
		const { message, ...place } = describeThrown(error, this.#file, this.#own);
		if (!(error instanceof ExitCalled)) return { kind: 'threw', message, ...place };
		return { kind: 'exited', message: error.message, ...place };
	}
}

function doneOf(instance: Instance | undefined): boolean | null {
	try {
		const done = instance?.done;
		return typeof done === 'boolean' ? done : null;
	} catch {
		return null; // A getter that throws.
	}
}

function invalid(message: string): HostError {
	return { kind: 'invalid', message };
}

function tooLong(name: string, text: string | null): HostError | null {
	if (text === null || text.length <= maxObservation) return null;
	const limit = formatCount(maxObservation);
	return { kind: 'size', message: `${name} returned ${formatCount(text.length)} characters; the limit is ${limit}` };
}

function seedRandom(seed: number): void {
	const random = Random.of(seed, 'Math.random');
	Math.random = () => random.next();
}
