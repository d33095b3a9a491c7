import { Failure } from '../base/failure.ts';

/** Where a verb writes: people's text or, with `--json`, one JSON object a line and nothing else on stdout. */
export class CliOutput {
	readonly json: boolean;
	readonly #out: NodeJS.WriteStream;
	readonly #err: NodeJS.WriteStream;

	constructor(json: boolean, out: NodeJS.WriteStream = process.stdout, err: NodeJS.WriteStream = process.stderr) {
		this.json = json;
		this.#out = out;
		this.#err = err;
	}

	/** Whether a live display may be drawn. */
	get isTerminal(): boolean {
		return !this.json && this.#out.isTTY === true && process.env.TERM !== 'dumb';
	}

	get colours(): boolean {
		return this.isTerminal && !process.env.NO_COLOR;
	}

	get columns(): number {
		return this.#out.columns || 80;
	}

	/** A line for people; with `--json` nothing. */
	line(text: string): void {
		if (!this.json) this.#out.write(`${text}\n`);
	}

	/** Raw text for the live display. */
	draw(text: string): void {
		this.#out.write(text);
	}

	/** A line for people that is no result: on stderr, with `--json` too. */
	note(text: string): void {
		this.#err.write(`${text}\n`);
	}

	/** An object for machines; without `--json` nothing. */
	object(value: unknown): void {
		if (this.json) this.#out.write(`${JSON.stringify(value)}\n`);
	}

	/** The one line that `--summary` asks for, with and without `--json`. */
	summary(value: unknown): void {
		this.#out.write(`${JSON.stringify(value)}\n`);
	}

	/** One sentence and the action on stderr; with `--json` also as the last object on stdout. */
	failure(error: unknown): Failure {
		const failure = Failure.from(error);
		this.object({ kind: 'error', error: failure.toJSON() });
		this.#err.write(`reasoning-lab: ${printable(failure.toString())}\n`);
		return failure;
	}
}

/** Joiners (U+200C, U+200D) stay where emoji and scripts other than Latin need them: after no ASCII character. */
const acting = /[\p{Cc}\p{Zl}\p{Zp}]|(?![\u200c\u200d])\p{Cf}|(?<![^\p{Cc}\p{Cf}\x20-\x7f])[\u200c\u200d]/gu;

/** Text without control characters, what turns its direction and what has no width: a foreign run's must not drive the terminal. */
export function printable(text: string): string {
	return text.replace(acting, ' ');
}
