import { Disposable, toDisposable } from '../../../base/disposable.ts';
import { Failure } from '../../../base/failure.ts';
import type { TranscriptEvent, TranscriptPlace } from '../../../protocol/transcriptMessages.ts';
import { openTranscriptText, type TranscriptText } from './transcriptSource.ts';

export interface TranscriptSessionOptions {
	readonly place: TranscriptPlace;
	readonly label: string;
	readonly post: (event: TranscriptEvent) => void;
	readonly open?: (place: TranscriptPlace) => Promise<TranscriptText>;
}

/**
 * The state and messages of a transcript panel, independent of VS Code: opens the text, serves it in pieces, and
 * detects changes.
 */
export class TranscriptSession extends Disposable {
	readonly #options: TranscriptSessionOptions;
	readonly #open: (place: TranscriptPlace) => Promise<TranscriptText>;
	#text: TranscriptText | null = null;
	#version = 0;
	#failure: Failure | null = null;
	#looking: Promise<void> | null = null;
	#awake = false;

	constructor(options: TranscriptSessionOptions) {
		super();
		this.#options = options;
		this.#open = options.open ?? openTranscriptText;
		this.register(toDisposable(() => this.#replace(null)));
	}

	/** Called when the webview has started; sends it the complete state. */
	async begin(): Promise<void> {
		this.#awake = true;
		await this.#look();
		this.#snapshot();
	}

	/** Checks the source for changes and reports them. */
	async refresh(): Promise<void> {
		if (!this.#awake) return;
		const [version, failure] = [this.#version, this.#failure?.message];
		await this.#look();
		if (version !== this.#version || failure !== this.#failure?.message) this.#snapshot();
	}

	/**
	 * Returns a piece of the text. Fails with `mismatch` if the text has changed and with `cancelled` if the panel is
	 * closed.
	 */
	async piece(version: number, from: number): Promise<{ text: string; next: number | null }> {
		const text = this.#text;
		if (text === null || version !== this.#version) {
			throw new Failure('mismatch', 'The text has changed in the meantime.');
		}
		return text.piece(from);
	}

	/** Runs one check at a time. Callers that arrive during a check also wait for the next one. */
	async #look(): Promise<void> {
		await this.#looking;
		this.#looking = this.#lookOnce().finally(() => {
			this.#looking = null;
		});
		await this.#looking;
	}

	async #lookOnce(): Promise<void> {
		try {
			const text = await this.#open(this.#options.place);
			if (this.disposed || (this.#text !== null && text.identity === this.#text.identity)) {
				await text.close();
			} else {
				this.#version++;
				this.#replace(text);
			}
			this.#failure = null;
		} catch (error) {
			this.#replace(null);
			this.#failure = Failure.from(error, `Cannot read ${this.#options.label}`);
		}
	}

	#replace(text: TranscriptText | null): void {
		const before = this.#text;
		this.#text = text;
		void before?.close().catch(() => undefined);
	}

	#snapshot(): void {
		if (!this.#awake || this.disposed) return;
		const { place, label, post } = this.#options;
		const failure = this.#failure;
		post({
			type: 'snapshot',
			place,
			label,
			version: this.#text === null ? 0 : this.#version,
			size: this.#text?.size ?? 0,
			failure: failure && { message: failure.message, action: failure.action ?? null },
		});
	}
}
