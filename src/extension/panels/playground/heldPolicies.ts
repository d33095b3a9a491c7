import { Disposable } from '../../../base/disposable.ts';
import type { OpenPolicy } from '../../../policies/openedPolicy.ts';
import type { PolicySpec } from '../../../protocol/policySpec.ts';

export interface HeldPoliciesOptions {
	/** Opens a policy without adding a template or a system message. */
	open(spec: PolicySpec, signal: AbortSignal): Promise<OpenPolicy>;
	/** Idle time before a policy is closed, in milliseconds; default five minutes. */
	readonly idleMs?: number;
}

/** A reference to an open policy; `dispose` releases it. */
export interface HeldPolicy {
	readonly policy: OpenPolicy;
	dispose(): void;
}

interface Entry {
	readonly open: Promise<OpenPolicy>;
	readonly opening: AbortController;
	users: number;
	timer: NodeJS.Timeout | null;
}

const idleMs = 300_000;

/**
 * Cache of a playground's open policies. Each is kept for the next question and closed after it has been idle for a
 * while.
 */
export class HeldPolicies extends Disposable {
	readonly #options: HeldPoliciesOptions;
	readonly #entries = new Map<string, Entry>();

	constructor(options: HeldPoliciesOptions) {
		super();
		this.#options = options;
		this.register({
			dispose: () => {
				for (const key of [...this.#entries.keys()]) this.#end(key);
			},
		});
	}

	/** Number of policies that are open or opening. */
	get count(): number {
		return this.#entries.size;
	}

	/**
	 * Acquires a policy. Fails with the same errors as `open`. Aborting does not affect other callers that want the same
	 * policy.
	 */
	async take(spec: PolicySpec, signal: AbortSignal): Promise<HeldPolicy> {
		signal.throwIfAborted();
		const key = JSON.stringify(spec);
		const entry = this.#entries.get(key) ?? this.#begin(key, spec);
		if (entry.timer !== null) clearTimeout(entry.timer);
		entry.timer = null;
		entry.users++;
		let left = false;
		const leave = () => {
			if (left) return;
			left = true;
			this.#leave(key, entry);
		};
		const abort = () => {
			leave();
			// No caller is waiting anymore, so stop opening the policy.
			if (entry.users === 0 && !entry.opening.signal.aborted) entry.opening.abort();
		};
		signal.addEventListener('abort', abort, { once: true });
		try {
			return { policy: await entry.open, dispose: leave };
		} catch (error) {
			leave();
			throw error;
		} finally {
			signal.removeEventListener('abort', abort);
		}
	}

	/** Closes unused policies, except the given ones. */
	keepOnly(specs: readonly PolicySpec[]): void {
		const wanted = new Set(specs.map((spec) => JSON.stringify(spec)));
		for (const [key, { users }] of [...this.#entries]) if (users === 0 && !wanted.has(key)) this.#end(key);
	}

	#begin(key: string, spec: PolicySpec): Entry {
		const opening = new AbortController();
		const entry: Entry = { open: this.#options.open(spec, opening.signal), opening, users: 0, timer: null };
		this.#entries.set(key, entry);
		entry.open.catch(() => {
			if (this.#entries.get(key) === entry) this.#entries.delete(key);
		});
		return entry;
	}

	#leave(key: string, entry: Entry): void {
		entry.users--;
		if (entry.users > 0 || this.#entries.get(key) !== entry) return;
		entry.timer = setTimeout(() => this.#end(key), this.#options.idleMs ?? idleMs);
		entry.timer.unref();
	}

	#end(key: string): void {
		const entry = this.#entries.get(key);
		if (entry === undefined) return;
		this.#entries.delete(key);
		if (entry.timer !== null) clearTimeout(entry.timer);
		entry.opening.abort();
		entry.open.then(
			(policy) => policy.dispose(),
			() => undefined,
		);
	}
}
