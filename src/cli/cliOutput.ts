import { Failure } from '../base/failure.ts';
import { hiddenCharacters } from '../core/text/hiddenCharacters.ts';

/** A verb's output: text for users or, with `--json`, one JSON object per line and nothing else on stdout. */
export class CliOutput {
	readonly json: boolean;
	readonly #out: NodeJS.WriteStream;
	readonly #err: NodeJS.WriteStream;

	constructor(json: boolean, out: NodeJS.WriteStream = process.stdout, err: NodeJS.WriteStream = process.stderr) {
		this.json = json;
		this.#out = out;
		this.#err = err;
	}

	/** Whether a live display can be drawn. */
	get isTerminal(): boolean {
		return !this.json && this.#out.isTTY === true && process.env.TERM !== 'dumb';
	}

	get colors(): boolean {
		return this.isTerminal && !process.env.NO_COLOR;
	}

	get columns(): number {
		return this.#out.columns || 80;
	}

	/** Writes one or more lines of text; does nothing with `--json`. Terminal control characters are always replaced. */
	line(text: string): void {
		this.document(printableLines(text));
	}

	/** Writes text verbatim, as if to a file; does nothing with `--json`. */
	document(text: string): void {
		if (!this.json) this.#out.write(`${text}\n`);
	}

	/** Writes raw text to the live display. */
	draw(text: string): void {
		this.#out.write(text);
	}

	/** Writes a message that is not part of the result to stderr, even with `--json`. */
	note(text: string): void {
		this.#err.write(`${printableLines(text)}\n`);
	}

	/** Writes a JSON object; does nothing without `--json`. */
	object(value: unknown): void {
		if (this.json) this.#out.write(`${jsonLine(value)}\n`);
	}

	/** Writes the `--summary` line, with or without `--json`. */
	summary(value: unknown): void {
		this.#out.write(`${jsonLine(value)}\n`);
	}

	/** Writes the message and action to stderr and, with `--json`, also as the last object on stdout. */
	failure(error: unknown): Failure {
		const failure = Failure.from(error);
		this.object({ kind: 'error', error: failure.toJSON() });
		this.#err.write(`reasoning-lab: ${printable(failure.toString())}\n`);
		return failure;
	}
}

/**
 * Returns text as one line without control, bidirectional, or zero-width characters, so that untrusted text cannot
 * control the terminal.
 */
export function printable(text: string): string {
	const line = text.replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, ' ');
	let out = '';
	let at = 0;
	for (const { start, end } of hiddenCharacters(line)) {
		out += `${line.slice(at, start)} `;
		at = end;
	}
	return out + line.slice(at);
}

/** Like `printable`, but keeps line breaks and tabs. */
function printableLines(text: string): string {
	return text
		.split('\n')
		.map((line) => line.split('\t').map(printable).join('\t'))
		.join('\n');
}

/** Returns JSON that cannot control the terminal. JSON itself escapes only control characters below U+0020. */
function jsonLine(value: unknown): string {
	const escaped = (text: string) =>
		Array.from({ length: text.length }, (_, i) => `\\u${text.charCodeAt(i).toString(16).padStart(4, '0')}`).join('');
	return JSON.stringify(value).replace(/[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}]/gu, escaped);
}
