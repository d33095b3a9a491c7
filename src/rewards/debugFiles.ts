import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as v from 'valibot';
import { readNamed } from '../files/safeFile.ts';
import { decodeOrThrow, type Schema } from '../protocol/decode.ts';

/** Output of a host program in debugger mode: its reply, or why the user's file could not be loaded. */
export type DebugResult<T> = { readonly reply: T } | { readonly failure: { readonly message: string } };

/** Files for one request to a host program in debugger mode: `PROGRAM MODE REQUEST REPLY`. */
export class DebugFiles<T> {
	readonly #folder: string;
	readonly #reply: Schema<T>;
	/** Result name, for error messages. */
	readonly #what: string;
	/** Arguments for the host program. */
	readonly args: readonly string[];

	private constructor(folder: string, mode: string, reply: Schema<T>, what: string) {
		this.#folder = folder;
		this.#reply = reply;
		this.#what = what;
		this.args = [mode, join(folder, 'request.json'), join(folder, 'reply.json')];
	}

	/** @param name prefix of the temporary folder */
	static async write<T>(
		name: string,
		mode: string,
		request: object,
		reply: Schema<T>,
		what: string,
	): Promise<DebugFiles<T>> {
		const folder = await mkdtemp(join(tmpdir(), name));
		await writeFile(join(folder, 'request.json'), JSON.stringify(request), { mode: 0o600 });
		return new DebugFiles(folder, mode, reply, what);
	}

	/** Returns the outcome, or null if the program exited before writing one. */
	async outcome(): Promise<DebugResult<T> | null> {
		const text = (await readNamed(this.args[2] as string).catch(() => null))?.toString('utf8') ?? null;
		if (text === null) return null;
		const schema = v.union([
			v.object({ reply: this.#reply }),
			v.object({ failure: v.looseObject({ message: v.string() }) }),
		]);
		return decodeOrThrow(schema, JSON.parse(text), this.#what);
	}

	async remove(): Promise<void> {
		await rm(this.#folder, { recursive: true, force: true });
	}
}
