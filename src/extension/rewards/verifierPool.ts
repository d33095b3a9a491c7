import * as vscode from 'vscode';
import { Disposable } from '../../base/disposable.ts';
import { Failure } from '../../base/failure.ts';
import { RewardHosts } from '../../rewards/rewardHosts.ts';
import { findRewardPrograms } from '../../rewards/rewardPrograms.ts';
import type { RewardLimits } from '../../rewards/rewardRunner.ts';
import { RewardVerifier } from '../../rewards/rewardVerifier.ts';
import { settings } from '../settings.ts';
import type { RewardEnvironment } from './rewardEnvironment.ts';
import { rewardSettings } from './rewardSettings.ts';

interface Entry extends vscode.Disposable {
	readonly verifier: RewardVerifier;
	readonly hosts: RewardHosts;
}

/**
 * Verification processes, pooled by the programs and environment they are started with: Node, Python, sandbox, and API
 * keys. Most windows need only one set.
 */
export class VerifierPool extends Disposable {
	readonly #environment: RewardEnvironment;
	/** Path to dist, which contains the host programs. */
	readonly #dist: string;
	readonly #entries = new Map<string, Promise<Entry>>();

	constructor(environment: RewardEnvironment, dist: string) {
		super();
		this.#environment = environment;
		this.#dist = dist;
		this.register({ dispose: () => this.clear() });
	}

	/** Fails with `denied` in an untrusted workspace. All code that runs user code goes through this method. */
	async of(file: string): Promise<RewardVerifier> {
		return (await this.#entry(file)).verifier;
	}

	/** @param python interpreter to use instead of the selected one */
	async hosts(file: string, python?: string): Promise<RewardHosts> {
		return (await this.#entry(file, python)).hosts;
	}

	/** Discards cached data locations after a recipe has been added or removed. */
	forgetData(): void {
		for (const entry of this.#entries.values()) {
			entry.then(
				({ verifier }) => verifier.forget(),
				() => undefined,
			);
		}
	}

	/** Terminates all processes; the next use starts new ones. */
	clear(): void {
		const entries = [...this.#entries.values()];
		this.#entries.clear();
		for (const entry of entries) {
			entry.then(
				(one) => one.dispose(),
				() => undefined,
			);
		}
	}

	async #entry(file: string, python?: string): Promise<Entry> {
		if (!vscode.workspace.isTrusted) {
			throw new Failure(
				'denied',
				'Rewards are disabled because this workspace is not trusted.',
				'Trust the workspace, then try again.',
			);
		}
		const uri = vscode.Uri.file(file);
		const own = python === undefined ? {} : { REASONING_LAB_PYTHON: python };
		const environment = { ...(await this.#environment.of(uri)), ...own };
		const coverage = rewardSettings.coverageMarks();
		const limits = rewardSettings.limits(uri);
		const key = JSON.stringify([settings.nodePath(), environment, coverage, limits]);
		let entry = this.#entries.get(key);
		if (entry === undefined) {
			entry = this.#open(environment, coverage, limits);
			this.#entries.set(key, entry);
			entry.catch(() => this.#entries.delete(key));
		}
		const opened = await entry;
		if (this.disposed) {
			opened.dispose();
			throw new Failure('cancelled', 'The editor is closing.');
		}
		return opened;
	}

	async #open(
		environment: Readonly<Record<string, string>>,
		coverage: boolean,
		limits: Partial<RewardLimits>,
	): Promise<Entry> {
		const python = environment.REASONING_LAB_PYTHON ?? null;
		const programs = await findRewardPrograms({ node: settings.nodePath(), python });
		const hosts = new RewardHosts(programs, {
			folder: this.#dist,
			limits,
			spares: true,
			reloadOnChange: true,
			coverage,
			environment: { ...process.env, ...environment },
		});
		const verifier = new RewardVerifier((source, special) => hosts.open(source, special));
		return {
			verifier,
			hosts,
			dispose: () => {
				verifier.dispose();
				hosts.dispose();
			},
		};
	}
}
