import { Disposable, toDisposable } from '../../../base/disposable.ts';
import { Failure } from '../../../base/failure.ts';
import type { LongInspection, TranscriptEvent, TranscriptPlace } from '../../../protocol/transcriptMessages.ts';
import type { LoadedLines } from '../../../runs/transcript/messageLines.ts';
import { LongInspections } from './longInspections.ts';
import { openTranscriptText, type TranscriptText } from './transcriptSource.ts';

export interface TranscriptSessionOptions {
	readonly place: TranscriptPlace;
	readonly label: string;
	readonly post: (event: TranscriptEvent) => void;
	readonly open?: typeof openTranscriptText;
}

/**
 * The state and messages of a transcript panel, independent of VS Code: opens the text, serves it in pieces or lines,
 * and detects changes.
 */
export class TranscriptSession extends Disposable {
	readonly #options: TranscriptSessionOptions;
	readonly #open: typeof openTranscriptText;
	readonly #inspections: LongInspections;
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
		this.#inspections = this.register(new LongInspections((outcome) => this.#inspected(outcome)));
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

	/** Returns lines of the text. Fails with `mismatch` if the text has changed or is not read by lines. */
	async lines(version: number, from: number, count: number): Promise<LoadedLines> {
		const lines = this.#text?.byLines;
		if (lines === undefined || version !== this.#version || from >= lines.count) {
			throw new Failure('mismatch', 'The text has changed in the meantime.');
		}
		return lines.load(from, count);
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
			const text = await this.#open(this.#options.place, this.#text);
			if (this.disposed || (this.#text !== null && text.identity === this.#text.identity)) {
				await text.close();
			} else {
				this.#version++;
				this.#replace(text);
				this.#inspections.follow(text.byLines ?? null);
			}
			this.#failure = null;
		} catch (error) {
			this.#replace(null);
			this.#inspections.follow(null);
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
			lines: this.#text?.byLines?.count ?? null,
			grown: this.#text?.byLines?.grown ?? false,
			failure: failure && { message: failure.message, action: failure.action ?? null },
		});
		const { latest } = this.#inspections;
		if (latest !== null) this.#inspected(latest);
	}

	#inspected({ inspection, failure }: { inspection: LongInspection | null; failure: string | null }): void {
		if (!this.#awake || this.disposed) return;
		this.#options.post({ type: 'inspected', version: this.#version, inspection, failure });
	}
}
