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
	#failure: string | null = null;

	/** @param changed called when the rows have been read or reading has failed */
	constructor(host: Host, changed: () => void) {
		super();
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

	/**
	 * Reads the rows of an environment for a policy, unless they have already been read. Changing the limits does not
	 * trigger another read.
	 */
	read(environment: SearchEnvironment | null, policy: PolicySpec | undefined): void {
		const key = environment === null ? '' : JSON.stringify([environmentKey(environment), policy]);
		if (key === this.#key) return;
		this.#key = key;
		this.#asked?.abort();
		this.#offered = null;
		this.#failure = null;
		if (environment === null) return;
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
