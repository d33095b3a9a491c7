import { unlessAborted } from '../base/async.ts';
import { Disposable, type IDisposable, toDisposable } from '../base/disposable.ts';
import { Failure } from '../base/failure.ts';
import type { OpenPolicy, PolicyContext, PolicyTotals } from '../policies/openedPolicy.ts';
import { openPolicy } from '../policies/openPolicy.ts';
import { policyKeyName } from '../policies/policyKey.ts';
import type { PolicySpec } from '../protocol/policySpec.ts';

/** A policy in use; the holder must dispose of the lease, not of the policy. */
export interface PolicyLease extends IDisposable {
	readonly policy: OpenPolicy;
	/** Marks the policy as unusable, so that the next caller gets a new one. */
	discard(): void;
}

interface Entry {
	readonly policy: Promise<OpenPolicy>;
	readonly cancel: AbortController;
	users: number;
	timer: NodeJS.Timeout | null;
}

/**
 * Open policies, shared by all searches that use the same policy with the same key: a server is probed once, and a
 * checkpoint is loaded once. Unused policies are closed after a while.
 */
export class PolicyPool extends Disposable {
	readonly #open: (spec: PolicySpec, context: PolicyContext) => Promise<OpenPolicy>;
	readonly #idleMs: number;
	readonly #entries = new Map<string, Entry>();
	readonly #opened = new Set<OpenPolicy>();
	/** Totals for closed policies. */
	readonly #closed: PolicyTotals[] = [];

	constructor(idleMs = 120_000, open: typeof openPolicy = openPolicy) {
		super();
		this.#open = open;
		this.#idleMs = idleMs;
		this.register(
			toDisposable(() => {
				for (const key of [...this.#entries.keys()]) this.#close(key);
			}),
		);
	}

	/** Totals for each policy opened so far, whether or not it is still open. */
	get totals(): readonly PolicyTotals[] {
		return [...this.#closed, ...[...this.#opened].map(({ totals }) => totals)];
	}

	/**
	 * Fails with the same errors as `openPolicy`. If the context's signal fires, only this call fails, with
	 * `cancelled`; other callers keep waiting for the same policy.
	 */
	async lease(spec: PolicySpec, context: PolicyContext): Promise<PolicyLease> {
		if (this.disposed) throw new Failure('cancelled', 'The policies have been closed.');
		const key = keyOf(spec, context);
		const entry = this.#entries.get(key) ?? this.#begin(key, spec, context);
		entry.users++;
		if (entry.timer !== null) clearTimeout(entry.timer);
		entry.timer = null;
		const lease = toDisposable(() => this.#leave(key, entry));
		try {
			const policy = await unlessAborted(entry.policy, context.signal);
			const discard = () => {
				if (this.#entries.get(key) === entry) this.#entries.delete(key);
			};
			return { policy, discard, dispose: () => lease.dispose() };
		} catch (error) {
			lease.dispose();
			throw error;
		}
	}

	#begin(key: string, spec: PolicySpec, context: PolicyContext): Entry {
		const cancel = new AbortController();
		const { signal: _, ...rest } = context;
		const policy = this.#open(spec, { ...rest, signal: cancel.signal });
		const entry: Entry = { policy, cancel, users: 0, timer: null };
		this.#entries.set(key, entry);
		policy.then(
			(opened) => this.#opened.add(opened),
			// If opening failed, the next caller tries again.
			() => {
				if (this.#entries.get(key) === entry) this.#entries.delete(key);
			},
		);
		return entry;
	}

	#leave(key: string, entry: Entry): void {
		entry.users--;
		if (entry.users > 0) return;
		const current = this.#entries.get(key) === entry;
		if (!current || this.disposed || this.#idleMs === 0) {
			if (current) this.#entries.delete(key);
			this.#end(entry);
			return;
		}
		entry.timer = setTimeout(() => this.#close(key), this.#idleMs);
		entry.timer.unref();
	}

	#close(key: string): void {
		const entry = this.#entries.get(key);
		if (entry === undefined) return;
		this.#entries.delete(key);
		this.#end(entry);
	}

	#end({ policy, cancel, timer }: Entry): void {
		if (timer !== null) clearTimeout(timer);
		cancel.abort();
		void policy.then(
			(opened) => {
				opened.dispose();
				this.#opened.delete(opened);
				this.#closed.push(opened.totals);
			},
			() => undefined,
		);
	}
}

function keyOf(spec: PolicySpec, { keys, folder, keyVariables = [] }: PolicyContext): string {
	const key = spec.kind === 'openai' ? (keys?.[policyKeyName(spec)] ?? null) : null;
	return JSON.stringify([spec, key, folder, [...keyVariables].sort()]);
}
