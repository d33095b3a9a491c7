import { Failure } from '../base/failure.ts';
import { hiddenCharacters } from '../core/text/hiddenCharacters.ts';

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

	/** A line for people, or several; with `--json` nothing. What a terminal would act on is replaced, whoever wrote it. */
	line(text: string): void {
		this.document(printableLines(text));
	}

	/** A text word for word, as a file would hold it; with `--json` nothing. */
	document(text: string): void {
		if (!this.json) this.#out.write(`${text}\n`);
	}

	/** Raw text for the live display. */
	draw(text: string): void {
		this.#out.write(text);
	}

	/** A line for people that is no result: on stderr, with `--json` too. */
	note(text: string): void {
		this.#err.write(`${printableLines(text)}\n`);
	}

	/** An object for machines; without `--json` nothing. */
	object(value: unknown): void {
		if (this.json) this.#out.write(`${jsonLine(value)}\n`);
	}

	/** The one line that `--summary` asks for, with and without `--json`. */
	summary(value: unknown): void {
		this.#out.write(`${jsonLine(value)}\n`);
	}

	/** One sentence and the action on stderr; with `--json` also as the last object on stdout. */
	failure(error: unknown): Failure {
		const failure = Failure.from(error);
		this.object({ kind: 'error', error: failure.toJSON() });
		this.#err.write(`reasoning-lab: ${printable(failure.toString())}\n`);
		return failure;
	}
}

/** Text in one line without control characters, what turns its direction and what has no width: a foreign run's must not drive the terminal. */
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

/** The same in lines, and tabs stay. */
function printableLines(text: string): string {
	return text
		.split('\n')
		.map((line) => line.split('\t').map(printable).join('\t'))
		.join('\n');
}

/** JSON in which nothing acts on a terminal: JSON itself escapes the first 32 characters alone. */
function jsonLine(value: unknown): string {
	const escaped = (text: string) =>
		Array.from({ length: text.length }, (_, i) => `\\u${text.charCodeAt(i).toString(16).padStart(4, '0')}`).join('');
	return JSON.stringify(value).replace(/[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}]/gu, escaped);
}
