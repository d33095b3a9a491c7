import { Disposable } from '../../src/base/disposable.ts';
import { Emitter } from '../../src/base/event.ts';
import type { ReportCitation, ReportCommand, ReportEvent, reportRequests } from '../../src/protocol/reportMessages.ts';
import type { Panel } from '../lib/bridge.ts';
import type { SavedState } from './savedState.ts';

export type Host = Panel<ReportCommand, typeof reportRequests>;

/** The report as last received, and the check results of its citations. */
export class ReportModel extends Disposable {
	readonly host: Host;
	readonly #changed = this.register(new Emitter<'text' | 'citations'>());
	readonly onChange = this.#changed.event;
	#path: string | null;
	#name = '';
	#text: string | null = null;
	#missing: string | null = null;
	#citations: readonly ReportCitation[] | null = null;
	#unchecked: string | null = null;

	constructor(host: Host, state: SavedState | undefined) {
		super();
		this.host = host;
		this.#path = state?.path ?? null;
	}

	get name(): string {
		return this.#name;
	}

	/** null until it has been read. */
	get text(): string | null {
		return this.#text;
	}

	/** Why the file cannot be read. */
	get missing(): string | null {
		return this.#missing;
	}

	/** Citations in text order; null while they are being checked. */
	get citations(): readonly ReportCitation[] | null {
		return this.#citations;
	}

	/** Why the citations could not be checked. */
	get unchecked(): string | null {
		return this.#unchecked;
	}

	receive(event: ReportEvent): void {
		switch (event.type) {
			case 'report':
				this.#path = event.path;
				this.#name = event.name;
				this.#text = event.text;
				[this.#missing, this.#citations, this.#unchecked] = [null, null, null];
				this.#changed.fire('text');
				break;
			case 'missing':
				this.#path = event.path;
				this.#missing = event.message;
				this.#changed.fire('text');
				break;
			case 'checked':
				this.#citations = event.citations;
				this.#changed.fire('citations');
				break;
			case 'unchecked':
				this.#unchecked = event.message;
				this.#changed.fire('citations');
				break;
		}
	}

	/** null until the path is known. */
	saved(): SavedState | null {
		return this.#path === null ? null : { path: this.#path };
	}
}

/** Returns whether a citation is wrong. */
export const isProblem = ({ status }: ReportCitation): boolean =>
	status === 'different' || status === 'unresolved' || status === 'malformed';

/** Describes the result of checking a citation. */
export function citationText({ status, wrong, data, problem }: ReportCitation): string {
	const states = data
		.slice(0, 6)
		.map(({ name, value }) => `${name} ${Number(value.toPrecision(6))}`)
		.join(', ');
	switch (status) {
		case 'ok':
			return `Matches the data: ${states}`;
		case 'no-number':
			return states === '' ? 'The address exists' : `The address exists: ${states}`;
		case 'no-data':
			return 'The address exists, but the data has no numbers to compare';
		case 'different':
			return `${wrong.join(', ')} does not match the data: ${states}`;
		case 'unresolved':
		case 'malformed':
			return problem ?? 'Address not found';
	}
}
