import { Disposable } from '../../src/base/disposable.ts';
import { Failure } from '../../src/base/failure.ts';
import { environmentKey } from '../../src/core/episode/sameEnvironment.ts';
import type { OfferedRows } from '../../src/protocol/newSearchMessages.ts';
import type { PolicySpec } from '../../src/protocol/policySpec.ts';
import type { SearchEnvironment } from '../../src/protocol/searchSpec.ts';
import type { Host } from './host.ts';

/** Rows of the selected environment. */
export class EnvironmentRows extends Disposable {
	readonly #host: Host;
	readonly #changed: () => void;
	#key = '';
	#asked: AbortController | null = null;
	#offered: OfferedRows | null = null;
	/** Reads the rows for the package or server in a restored form; null if no read is deferred. */
	#held: (() => void) | null = null;
	#restored: boolean;
	#failure: string | null = null;

	/**
	 * @param changed called when the rows have been read or reading has failed
	 * @param restored whether the form was restored after a reload. The user may not want to use its package or server
	 * again, so their rows are read only on request
	 */
	constructor(host: Host, changed: () => void, restored: boolean) {
		super();
		this.#restored = restored;
		this.#host = host;
		this.#changed = changed;
		this.register({ dispose: () => this.#asked?.abort() });
	}

	/** null until the rows have been read. */
	get offered(): OfferedRows | null {
		return this.#offered;
	}

	/** Why the rows could not be read. */
	get failure(): string | null {
		return this.#failure;
	}

	/** Whether reading the rows is deferred until the user requests it. */
	get held(): boolean {
		return this.#held !== null;
	}

	/** Performs the deferred read. */
	readHeld(): void {
		const read = this.#held;
		this.#held = null;
		read?.();
		this.#changed();
	}

	/** Called when the user changes the form. From then on, reads are no longer deferred. */
	used(): void {
		this.#restored = false;
	}

	/**
	 * Reads an environment's rows for a policy, unless they have already been read. Changing the limits does not trigger
	 * another read.
	 */
	read(environment: SearchEnvironment | null, policy: PolicySpec | undefined): void {
		const key = environment === null ? '' : JSON.stringify([environmentKey(environment), policy]);
		if (key === this.#key) return;
		this.#key = key;
		this.#asked?.abort();
		this.#offered = null;
		this.#failure = null;
		this.#held = null;
		if (environment === null) return;
		if (this.#restored && environment.file === undefined) this.#held = () => this.#request(environment, policy);
		else this.#request(environment, policy);
	}

	#request(environment: SearchEnvironment, policy: PolicySpec | undefined): void {
		const asked = new AbortController();
		this.#asked = asked;
		const params = policy === undefined ? { environment } : { environment, policy };
		void this.#host
			.request('rows', params, asked.signal)
			.then(
				(offered) => {
					if (!asked.signal.aborted) this.#offered = offered;
				},
				(error: unknown) => {
					if (!asked.signal.aborted) this.#failure = Failure.from(error).toString();
				},
			)
			.finally(() => {
				if (!asked.signal.aborted) this.#changed();
			});
	}
}
