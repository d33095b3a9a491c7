import { basename, resolve } from 'node:path';
import { checkAborted } from '../base/async.ts';
import { Failure } from '../base/failure.ts';
import { datasetComment } from '../core/reward/verification/datasetComment.ts';
import { verificationStatistics } from '../core/reward/verification/verificationStatistics.ts';
import { FileStamps } from '../files/fileStamps.ts';
import type { RewardDescription } from '../protocol/rewardHost.ts';
import type { Verification } from '../protocol/verification.ts';
import { rewardColumns } from './rewardColumns.ts';
import { readHead } from './rewardData.ts';
import type { RewardLimits, RewardRunner, RewardSource } from './rewardRunner.ts';
import {
	type PlanRequest,
	planVerification,
	rowsOfReward,
	strayCases,
	type VerificationPlan,
} from './verificationPlan.ts';
import { type OtherReward, type OtherValues, scoreOthers, verifyReward } from './verifyReward.ts';

export type OpenRunner = (source: RewardSource, limits?: Partial<RewardLimits>) => RewardRunner;

export interface VerifyPlanOptions {
	/** Names of the rewards to verify. Default: all rewards in the file. */
	readonly rewards?: readonly string[];
	readonly coverage?: boolean;
	/** Timeout per batch. */
	readonly timeoutMs?: number;
	/** Maximum time to wait for the recipe's other rewards. Results that arrive later are used next time. */
	readonly othersMs?: number;
	readonly signal?: AbortSignal;
	readonly onProgress?: (done: number, total: number) => void;
}

export interface FileResult {
	/** All rewards in the file. */
	readonly rewards: readonly RewardDescription[];
	/** Verifications in file order. */
	readonly verifications: readonly Verification[];
}

/** Rewards that cost money, or that need a sandbox or a model. They are not run for comparisons. */
const costly: ReadonlySet<string> = new Set(['judge', 'process', 'reward-model', 'code-tests']);
const maxPlans = 64;

interface KeptPlan {
	readonly plan: VerificationPlan;
	/** null if a file was written while the plan was made, so that it may be outdated. */
	readonly stamps: FileStamps | null;
	/** Comment that the plan was created from. Nothing else in the reward file affects the plan. */
	readonly comment: string;
}

/** Values of other rewards, and remarks about missing ones. */
interface Others {
	readonly values: OtherValues;
	readonly remarks: readonly string[];
}

const nothing = (...remarks: string[]): Others => ({ values: new Map(), remarks });

/**
 * Verifies reward files repeatedly. Reuses plans whose files have not changed, as well as the values and processes of
 * the recipe's other rewards. Shared by the editor, the Test Explorer and the command line.
 */
export class RewardVerifier {
	readonly #open: OpenRunner;
	readonly #plans = new Map<string, KeptPlan>();
	readonly #others = new WeakMap<VerificationPlan, Promise<Others>>();
	readonly #runners = new Map<string, RewardRunner>();
	#disposed = false;

	constructor(open: OpenRunner) {
		this.#open = open;
	}

	/** Like `planVerification`, but returns the previous plan if nothing that it depends on has changed. */
	async plan(request: PlanRequest): Promise<VerificationPlan> {
		const { text = await readHead(request.file), signal: _, ...rest } = request;
		const key = JSON.stringify(rest);
		const comment = JSON.stringify(datasetComment(text));
		const kept = this.#plans.get(key);
		// A run's files do not reveal whether it is still the latest.
		const fixed = request.what.kind !== 'rollouts' || request.what.run !== null;
		if (fixed && kept !== undefined && kept.comment === comment) {
			if (await kept.stamps?.hold()) return kept.plan;
		}
		const startedAt = Date.now();
		const plan = await planVerification({ ...request, text });
		const stamps = await FileStamps.of(plan.files);
		this.#plans.delete(key);
		this.#plans.set(key, { plan, stamps: stamps.writtenAfter(startedAt) ? null : stamps, comment });
		for (const oldest of this.#plans.keys()) {
			if (this.#plans.size <= maxPlans) break;
			this.#plans.delete(oldest);
		}
		return plan;
	}

	/** Called when a recipe or dataset has been added or removed. The next plan is built from scratch. */
	forget(): void {
		this.#plans.clear();
	}

	/** Opens a runner for the plan's reward file. The caller must dispose of it. */
	open(plan: VerificationPlan, limits?: Partial<RewardLimits>): RewardRunner {
		return this.#open({ file: plan.data.file, context: plan.data.context }, limits);
	}

	/**
	 * Runs the rewards in the plan's file on its rows. Rejects with `cancelled`, with `missing` for a reward that the
	 * file does not have, or if the file cannot be loaded (see `RewardRunner.describe`).
	 */
	async verify(plan: VerificationPlan, runner: RewardRunner, options: VerifyPlanOptions = {}): Promise<FileResult> {
		const { signal } = options;
		const { file } = plan.data;
		const rewards = await runner.describe(signal);
		const names = rewards.map(({ name }) => name);
		const asked = options.rewards ?? names;
		for (const name of asked) {
			if (names.includes(name)) continue;
			throw new Failure(
				'missing',
				`${basename(file)} has no reward "${name}". Available: ${names.join(', ')}.`,
				'Use one of the available rewards.',
			);
		}
		const others = this.#othersOf(plan, options);
		const remarks = [...plan.remarks, ...strayCases(plan, names)];
		const verifications: Verification[] = [];
		const total = asked.reduce((sum, name) => sum + rowsOfReward(plan, name, names).length, 0);
		let done = 0;
		for (const name of names.filter((one) => asked.includes(one))) {
			checkAborted(signal);
			const rows = rowsOfReward(plan, name, names);
			const verification = await verifyReward(runner, {
				file,
				reward: name,
				rows,
				data: plan.described,
				others: others.then(({ values }) => values),
				recordedAs: recordedName(plan, name),
				...(options.coverage === undefined ? {} : { coverage: options.coverage }),
				...(options.timeoutMs === undefined ? {} : { timeoutMs: options.timeoutMs }),
				...(signal === undefined ? {} : { signal }),
				onProgress: (rowsDone) => options.onProgress?.(done + rowsDone, total),
			});
			done += rows.length;
			const allRemarks = [...remarks, ...(await others).remarks];
			verifications.push({ ...verification, remarks: allRemarks });
		}
		return { rewards, verifications: withSiblings(verifications, plan.rows.length) };
	}

	/** Returns whichever values of the recipe's rewards in other files are available in time. Never rejects. */
	#othersOf(plan: VerificationPlan, { signal, othersMs, timeoutMs }: VerifyPlanOptions): Promise<Others> {
		let found = this.#others.get(plan);
		if (found === undefined) {
			found = this.#scoreOthers(plan, timeoutMs).catch((error: unknown) => {
				// Report the problem once, and retry next time.
				this.#others.delete(plan);
				return nothing(`The recipe's other rewards could not be compared: ${Failure.from(error).message}`);
			});
			this.#others.set(plan, found);
		}
		const scored = found;
		return new Promise((resolve) => {
			const late = 'Other rewards in the recipe are still being scored and will be compared next time.';
			const timer = othersMs === undefined ? undefined : setTimeout(() => end(nothing(late)), othersMs);
			const abort = () => end(nothing());
			const end = (others: Others) => {
				clearTimeout(timer);
				signal?.removeEventListener('abort', abort);
				resolve(others);
			};
			signal?.addEventListener('abort', abort);
			if (signal?.aborted) abort();
			scored.then(end);
		});
	}

	async #scoreOthers(plan: VerificationPlan, timeoutMs: number | undefined): Promise<Others> {
		const { data, rollouts } = plan;
		const rows = [...plan.rows, ...plan.cases.map(({ row }) => row)];
		// For recorded rollouts, use the values that the run was trained on.
		if (rollouts !== null) return { values: new Map(rows.map((row) => [row, row.recorded ?? {}])), remarks: [] };
		const own = resolve(data.file);
		const usable = data.others.filter((reward) =>
			'use' in reward ? !costly.has(reward.use) : resolve(reward.file) !== own,
		);
		if (usable.length === 0 || rows.length === 0) return nothing();
		const remarks: string[] = [];
		const described = new Map<string, readonly RewardDescription[]>();
		const runners = new Map<string | null, RewardRunner>();
		const builtIns = usable.filter((reward) => 'use' in reward);
		if (builtIns.length > 0) {
			runners.set(null, this.#keptRunner({ builtIns, context: data.context }));
		}
		for (const file of new Set(usable.flatMap((reward) => ('file' in reward ? [reward.file] : [])))) {
			try {
				const runner = this.#keptRunner({ file, context: data.context });
				described.set(file, await runner.describe());
				runners.set(file, runner);
			} catch (error) {
				const { message } = Failure.from(error);
				remarks.push(`The recipe's reward file ${basename(file)} could not be compared: ${message}`);
			}
		}
		const loaded = usable.filter((reward) => 'use' in reward || described.has(reward.file));
		const others = rewardColumns(loaded, described).map(
			({ name, reward, file }): OtherReward => ({ name, reward, runner: runners.get(file) as RewardRunner }),
		);
		const scored = await scoreOthers(others, rows, timeoutMs === undefined ? {} : { timeoutMs });
		return { values: scored.values, remarks: [...remarks, ...scored.remarks] };
	}

	/** Returns a runner that is kept for the next verification. Whether it detects changed files is up to `OpenRunner`. */
	#keptRunner(source: RewardSource): RewardRunner {
		if (this.#disposed) throw new Failure('cancelled', 'Canceled.');
		const key = JSON.stringify(source);
		const runner = this.#runners.get(key) ?? this.#open(source);
		this.#runners.set(key, runner);
		return runner;
	}

	dispose(): void {
		this.#disposed = true;
		this.#plans.clear();
		for (const runner of this.#runners.values()) runner.dispose();
		this.#runners.clear();
	}
}

/** Returns the name that the plan's run uses for a reward from the file. */
function recordedName({ data, rollouts }: VerificationPlan, reward: string): string {
	const stem = basename(data.file).replace(/(?:\.reward)?\.[^.]+$/, '');
	const builtIns = rollouts?.recipe?.rewards.filter((entry) => 'use' in entry).map(({ name }) => name) ?? [];
	// The name that `rewardColumns` uses if the plain name is taken.
	return builtIns.includes(reward) ? `${stem}.${reward}` : reward;
}

/** Adds the values of the file's other rewards to the first `shared` rows, which all rewards have in common. */
function withSiblings(verifications: readonly Verification[], shared: number): Verification[] {
	if (verifications.length < 2) return [...verifications];
	return verifications.map((verification) => {
		const siblings = verifications.filter((other) => other !== verification);
		const rows = verification.rows.map((row, i) => {
			if (i >= shared) return row;
			const values = siblings.map(({ reward, rows }) => [reward, rows[i]?.value ?? null] as const);
			return { ...row, others: { ...row.others, ...Object.fromEntries(values) } };
		});
		return { ...verification, rows, statistics: verificationStatistics(rows) };
	});
}
