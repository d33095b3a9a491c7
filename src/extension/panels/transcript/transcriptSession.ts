import { Disposable, type IDisposable, toDisposable } from '../../../base/disposable.ts';
import { Failure } from '../../../base/failure.ts';
import type { LongInspection, TranscriptEvent, TranscriptPlace } from '../../../protocol/transcriptMessages.ts';
import type { LoadedLines } from '../../../runs/transcript/messageLines.ts';
import { LongInspections } from './longInspections.ts';
import { openTranscriptText } from './transcriptSource.ts';
import type { TranscriptText } from './transcriptText.ts';

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
	/** Index of the conversation to show if the file's conversations are read one at a time. */
	#sample = 0;
	#growth: IDisposable | undefined;
	/** Text last announced to the page. */
	#announced: TranscriptText | null = null;
	#version = 0;
	#failure: Failure | null = null;
	#looking: Promise<void> | null = null;
	#awake = false;
	/** Aborts reading a long log when the panel is closed. */
	readonly #closed = new AbortController();

	constructor(options: TranscriptSessionOptions) {
		super();
		this.#options = options;
		this.#open = options.open ?? openTranscriptText;
		this.register(toDisposable(() => this.#closed.abort()));
		this.register(toDisposable(() => this.#replace(null)));
		this.#inspections = this.register(new LongInspections((outcome) => this.#inspected(outcome)));
	}

	/** Called when the webview has started; sends it the complete state. */
	async begin(): Promise<void> {
		this.#awake = true;
		await this.#look();
		this.#snapshot();
	}

	/** Titles of the file's conversations if they are read one at a time; otherwise empty. */
	get samples(): readonly string[] {
		return this.#text?.samples?.titles ?? [];
	}

	/** Shows another conversation in the file. */
	async choose(sample: number): Promise<void> {
		if (sample >= this.samples.length) return;
		this.#sample = sample;
		await this.refresh();
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

	/** Returns lines of the text. Fails with `mismatch` if the text has changed or is not read line by line. */
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
			const text = await this.#open(this.#options.place, this.#text, this.#sample, this.#closed.signal);
			if (this.disposed || (this.#text !== null && text.identity === this.#text.identity)) {
				await text.close();
			} else {
				this.#version++;
				this.#replace(text);
				this.#growth = text.byLines?.onGrowth?.(() => {
					this.#version++;
					// Otherwise, the page would append the lines to different text.
					if (text === this.#announced) this.#snapshot(true);
				});
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
		this.#growth?.dispose();
		this.#growth = undefined;
		const before = this.#text;
		this.#text = text;
		void before?.close().catch(() => undefined);
	}

	/** @param grown whether the text has only grown since the last snapshot */
	#snapshot(grown = this.#text?.byLines?.grown ?? false): void {
		if (!this.#awake || this.disposed) return;
		const { place, label, post } = this.#options;
		this.#announced = this.#text;
		const failure = this.#failure;
		const { titles, index = 0 } = this.#text?.samples ?? {};
		post({
			type: 'snapshot',
			place,
			label,
			version: this.#text === null ? 0 : this.#version,
			size: this.#text?.size ?? 0,
			lines: this.#text?.byLines?.count ?? null,
			grown,
			sample: titles === undefined ? null : { title: titles[index] ?? '', index, count: titles.length },
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
